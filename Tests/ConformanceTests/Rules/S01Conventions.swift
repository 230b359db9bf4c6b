// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of section 1: conventions.
enum S01 {
    static let rules: [Rule] =
        hosts + versioning + headers + origins + answers + identifiers + times + lists + S01Lists.rules + duplicates
        + availability + errors

    // MARK: 1.1

    private static let hosts: [Rule] = [
        Rule(
            "1.1",
            "every URL in a conversation, its messages, their parts and its participants is absolute and begins with the public base URL"
        ) {
            f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            try await users[0].send("hello", to: conversation)
            let object = try await users[1].load(conversation)
            let message = object["last_message"]
            let urls = [
                object["url"], object["messages_url"], message["url"], message["receipts_url"],
                message["conversation"]["url"],
                message["sender"]["url"], object["participants"][0]["url"], object["participants"][1]["url"],
            ]
            for url in urls + [message["parts"][0]["url"]].filter({ !$0.isNull }) {
                f.check(url.string?.hasPrefix(f.system.publicURL + "/") == true, "\(url)")
            }
            f.check(f.system.publicURL.hasPrefix("https://"), f.system.publicURL)
        },
        Rule("1.1", "URLs in objects are never made from the Host header") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let answer = try await ana.call("GET", Layer.path(conversation), headers: ["Host": "evil.example"])
            f.succeeded(answer, 200)
            f.equal(answer.json["url"].string, f.system.publicURL + Layer.path(conversation))
        },
        Rule("1.1", "every gateway shows the same URLs") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            for gateway in 0..<f.system.urls.count {
                let answer = try await f.system.client(gateway, f.version)
                    .call("GET", Layer.path(conversation), token: ana.session)
                f.equal(answer.json["url"].string, f.system.publicURL + Layer.path(conversation))
            }
        },
    ]

    // MARK: 1.2

    private static let versioning: [Rule] =
        [
            Rule("1.2", "the version is accepted") { f in
                let ana = try await f.user("ana")
                f.succeeded(try await ana.call("GET", "/conversations"), 200)
            },
            Rule("1.2", "an Accept header without a version is 406") { f in
                let ana = try await f.user("ana")
                for value in [
                    "*/*", "application/json", "application/vnd.layer+json", "application/vnd.layer+json; version=",
                    "text/html",
                ] {
                    f.refused(
                        try await ana.call("GET", "/conversations", headers: ["Accept": value]), "invalid_header",
                        header: "Accept")
                }
            },
            Rule("1.2", "an unknown version is 406") { f in
                let ana = try await f.user("ana")
                for version in ["4.0", "3.1", "0", "three"] {
                    let value = "application/vnd.layer+json; version=\(version)"
                    f.refused(
                        try await ana.call("GET", "/conversations", headers: ["Accept": value]), "invalid_header",
                        header: "Accept")
                }
            },
            Rule("1.2", "version 1.0 is 406", .doc) { f in
                let ana = try await f.user("ana")
                let value = "application/vnd.layer+json; version=1.0"
                f.refused(
                    try await ana.call("GET", "/conversations", headers: ["Accept": value]), "invalid_header",
                    header: "Accept")
            },
            Rule("1.2", "GET / and HEAD /ping need no version") { f in
                for (method, path) in [("GET", "/"), ("HEAD", "/ping")] {
                    let answer = try await f.client.call(
                        method, path, headers: ["Accept": ""], deadline: Fixture.deadline)
                    f.equal(answer.status, 200, "\(method) \(path)")
                }
            },
            Rule("1.2", "the versions of the two transports are independent") { f in
                let ana = try await f.user("ana")
                let other: ProtocolVersion = f.version == .v2 ? .v3 : .v2
                let socket = try await ana.socket(version: other)
                let conversation = try await ana.converse([])
                try await socket.change("create", "Conversation", conversation)
            },
        ]
        + (Endpoint.signedIn + Endpoint.versioned)
        .map { endpoint in
            Rule("1.2", "\(endpoint.name) without a version is 406", endpoint.kind) { f in
                let ana = try await f.user("ana")
                let answer = try await ana.call(endpoint.method, endpoint.path, endpoint.body, headers: ["Accept": ""])
                f.refused(answer, "invalid_header", header: "Accept")
            }
        }

    // MARK: 1.3

    private static let headers: [Rule] = [
        Rule("1.3", "a PATCH with another content type is 406") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            for type in ["application/json", "text/plain", ""] {
                let answer = try await ana.call(
                    "PATCH", Layer.path(conversation), [set("metadata.a", "1")], headers: ["Content-Type": type])
                f.refused(answer, "invalid_header", header: "Content-Type")
            }
            f.equal(try await ana.load(conversation)["metadata"], [:])
        },
        Rule("1.3", "the content type of a PATCH may have parameters") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let type = "application/vnd.layer-patch+json; charset=utf-8"
            let answer = try await ana.call(
                "PATCH", Layer.path(conversation), [set("metadata.a", "1")], headers: ["Content-Type": type])
            f.succeeded(answer, 204)
        },
        Rule("1.3", "the session token may stand in double or in single quotes") { f in
            let ana = try await f.user("ana")
            for quote in ["\"", "'"] {
                let header = ["Authorization": "Layer session-token=\(quote)\(ana.session)\(quote)"]
                f.succeeded(
                    try await f.client.call("GET", "/conversations", headers: header, deadline: Fixture.deadline), 200)
            }
        },
        Rule("1.3", "POST with X-HTTP-Method-Override: PATCH is a PATCH") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let headers = ["X-HTTP-Method-Override": "PATCH", "Content-Type": "application/vnd.layer-patch+json"]
            f.succeeded(
                try await ana.call("POST", Layer.path(conversation), [set("metadata.a", "1")], headers: headers), 204)
            f.equal(try await ana.load(conversation)["metadata"], ["a": "1"])
        },
        Rule("1.3", "an overridden PATCH with another content type is 406") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let headers = ["X-HTTP-Method-Override": "PATCH", "Content-Type": "application/json"]
            let answer = try await ana.call(
                "POST", Layer.path(conversation), [set("metadata.a", "1")], headers: headers)
            f.refused(answer, "invalid_header", header: "Content-Type")
        },
        Rule("1.3", "a JSON content type without a body is no reason to refuse a GET, POST or DELETE") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let json = ["Content-Type": "application/json"]
            f.succeeded(try await ana.call("GET", "/conversations", headers: json), 200)
            f.succeeded(try await ana.call("POST", Layer.path(conversation) + "/mark_all_read", headers: json), 204)
            f.succeeded(try await ana.call("POST", "/nonces", headers: json), 201)
            f.succeeded(try await ana.call("DELETE", Layer.path(conversation) + "?mode=my_devices", headers: json), 204)
        },
        Rule("1.3", "If-None-Match is ignored", .doc) { f in
            let ana = try await f.user("ana")
            let header = ["If-None-Match": Layer.uuid()]
            let first = try await ana.call("POST", "/conversations", User.conversation([]), headers: header)
            let second = try await ana.call("POST", "/conversations", User.conversation([]), headers: header)
            f.succeeded(first, 201)
            f.succeeded(second, 201)
            f.check(first.json["id"] != second.json["id"], "the second create was taken for the first")
        },
        Rule("1.3", "layer-xdk-version and client-id are accepted on every request") { f in
            let ana = try await f.user("ana")
            let headers = ["layer-xdk-version": "4.0.6", "client-id": Layer.uuid()]
            f.succeeded(try await ana.call("GET", "/conversations", headers: headers), 200)
            f.succeeded(try await ana.call("POST", "/nonces", headers: headers), 201)
        },
    ]

    // MARK: 1.4

    private static let origin = "https://app.example:8080"

    private static func hasOrigin(_ f: Fixture, _ answer: RESTResponse, line: UInt = #line) {
        f.equal(answer.header("Access-Control-Allow-Origin"), origin, "Access-Control-Allow-Origin", line: line)
        f.equal(
            answer.header("Access-Control-Allow-Credentials"), "true", "Access-Control-Allow-Credentials", line: line)
        f.check(
            answer.header("Vary")?.lowercased().contains("origin") == true, "Vary \(answer.header("Vary") ?? "none")",
            line: line)
    }

    private static func words(_ header: String?) -> Set<String> {
        Set((header ?? "").lowercased().split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
    }

    private static func preflight(_ f: Fixture, _ path: String) async throws -> RESTResponse {
        let headers = [
            "Accept": "", "Origin": origin, "Access-Control-Request-Method": "PATCH",
            "Access-Control-Request-Headers": "authorization,content-type",
        ]
        return try await f.client.call("OPTIONS", path, headers: headers, deadline: Fixture.deadline)
    }

    private static let origins: [Rule] = [
        Rule("1.4", "answers name the concrete origin, allow credentials and vary by origin") { f in
            let ana = try await f.user("ana")
            hasOrigin(f, try await ana.call("GET", "/conversations", headers: ["Origin": origin]))
            hasOrigin(f, try await f.client.call("POST", "/nonces", headers: ["Origin": origin]))
        },
        Rule("1.4", "answers expose Layer-Count and Link") { f in
            let ana = try await f.user("ana")
            let answer = try await ana.call("GET", "/conversations", headers: ["Origin": origin])
            f.check(
                words(answer.header("Access-Control-Expose-Headers")).isSuperset(of: ["layer-count", "link"]),
                "\(answer.headers)")
        },
        Rule("1.4", "errors have CORS headers too: 401, 404, 406, 422, 400 and an unknown path") { f in
            let ana = try await f.user("ana")
            let from = ["Origin": origin]
            let answers = [
                (401, try await f.client.call("GET", "/conversations", headers: from)),
                (404, try await ana.call("GET", "/conversations/\(Layer.uuid())", headers: from)),
                (406, try await ana.call("GET", "/conversations", headers: ["Origin": origin, "Accept": "*/*"])),
                (422, try await ana.call("POST", "/conversations", [:], headers: from)),
                (400, try await ana.call("POST", "/conversations", "text", headers: from)),
                (404, try await ana.call("GET", "/nowhere", headers: from)),
            ]
            for (status, answer) in answers {
                f.equal(answer.status, status)
                hasOrigin(f, answer)
            }
        },
        Rule("1.4", "preflights need neither version nor session, on every path") { f in
            for path in [
                "/", "/nonces", "/conversations", "/conversations/\(Layer.uuid())", "/content", "/push_tokens/x",
                "/nowhere",
            ] {
                let answer = try await preflight(f, path)
                f.check(answer.isSuccess, "\(path): \(answer.status)")
                hasOrigin(f, answer)
            }
        },
        Rule("1.4", "preflights allow every header stock clients send") { f in
            let allowed = words(try await preflight(f, "/conversations").header("Access-Control-Allow-Headers"))
            let needed: Set<String> = [
                "authorization", "content-type", "accept", "client-id", "layer-xdk-version", "upload-content-type",
                "upload-content-length",
                "upload-origin", "x-http-method-override", "if-none-match",
            ]
            f.equal(needed.subtracting(allowed), [])
        },
        Rule("1.4", "preflights allow GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS") { f in
            let allowed = words(try await preflight(f, "/conversations").header("Access-Control-Allow-Methods"))
            f.equal(Set(["get", "head", "post", "put", "patch", "delete", "options"]).subtracting(allowed), [])
        },
        Rule("1.4", "preflights may be remembered for a day") { f in
            f.equal(try await preflight(f, "/conversations").header("Access-Control-Max-Age"), "86400")
        },
        Rule("1.4", "WebSocket handshakes are accepted from any origin") { f in
            let ana = try await f.user("ana")
            var options = ProtocolSocket.Options()
            options.headers = ["Origin": origin]
            try await ana.silentSocket(options: options).does("Counter.read")
        },
    ]
}
