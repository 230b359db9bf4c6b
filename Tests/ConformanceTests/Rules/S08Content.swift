// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of section 8: rich content.
enum S08 {
    /// Returns the answer to `POST /content`.
    private static func announce(_ user: User, _ bytes: Int, type: String = "image/png") async throws -> RESTResponse {
        try await user.call(
            "POST", "/content", headers: ["Upload-Content-Type": type, "Upload-Content-Length": "\(bytes)"])
    }

    /// Sends a request to one of the server's absolute URLs as stock clients do: without Accept and session.
    private static func plain(
        _ f: Fixture, _ method: String, _ url: JSONValue, data: Data? = nil, headers: [String: String] = [:],
        gateway: Int = 0
    ) async throws -> RESTResponse {
        guard let url = url.string, url.hasPrefix(f.system.publicURL) else {
            throw HarnessError("\(url) is not of this server")
        }
        let path = String(url.dropFirst(f.system.publicURL.count))
        return try await f.system.client(gateway, f.version)
            .call(
                method, path, data: data, headers: ["Accept": "", "Content-Type": ""].merging(headers) { $1 },
                deadline: Fixture.deadline)
    }

    private static func put(_ f: Fixture, _ url: JSONValue, _ data: Data, gateway: Int = 0) async throws -> RESTResponse
    {
        let headers = ["Upload-Content-Type": "image/png", "Upload-Content-Length": "\(data.count)"]
        return try await plain(f, "PUT", url, data: data, headers: headers, gateway: gateway)
    }

    private static func uploaded(_ f: Fixture, _ user: User, _ data: Data) async throws -> JSONValue {
        let content = try await announce(user, data.count).json
        let answer = try await put(f, content["upload_url"], data)
        guard answer.isSuccess else { throw HarnessError("PUT: \(answer.status) \(answer.json)") }
        return content
    }

    private static func message(_ content: JSONValue, size: Int) -> JSONValue {
        ["parts": [["mime_type": "image/png", "content": ["id": content["id"], "size": .integer(Int64(size))]]]]
    }

    private static let sample = Data((0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 31) })

    private static func path(_ content: JSONValue) -> String { Layer.path(content["id"].string ?? "") }

    /// Expects a content object that can be downloaded.
    private static func isComplete(_ f: Fixture, _ content: JSONValue, _ id: JSONValue, line: UInt = #line) {
        f.equal(content["id"], id, line: line)
        f.equal(content["size"].int, sample.count, line: line)
        f.check(
            content["download_url"].string?.hasPrefix(f.system.publicURL + "/") == true,
            "download_url \(content["download_url"])", line: line)
        f.equal(content["refresh_url"].string, f.system.publicURL + Layer.path(id.string ?? ""), line: line)
        let left = Layer.date(content["expiration"].string)?.timeIntervalSinceNow ?? 0
        f.check(left > 600, "expires in \(left) s", line: line)
    }

    static let rules: [Rule] = announcing + uploading + sending + downloading + access

    private static let announcing: [Rule] = [
        Rule("8", "POST /content is 201 with id, size, upload_url and refresh_url, and nothing to download yet") { f in
            let ana = try await f.user("ana")
            let answer = try await announce(ana, 5000)
            f.succeeded(answer, 201)
            let content = answer.json
            f.check(
                content["id"].string?.wholeMatch(of: /layer:\/\/\/content\/[0-9a-f-]{36}/) != nil, "\(content["id"])")
            f.equal(content["size"], 5000)
            f.check(
                content["upload_url"].string?.hasPrefix(f.system.publicURL + "/") == true, "\(content["upload_url"])")
            f.check(content["download_url"].isNull, "\(content["download_url"])")
            f.check(content["expiration"].isNull, "\(content["expiration"])")
            f.equal(content["refresh_url"].string, f.system.publicURL + path(content))
        },
        Rule("8", "a missing Upload-Content header is 422 missing_property with its name") { f in
            let ana = try await f.user("ana")
            let headers = ["Upload-Content-Type": "image/png", "Upload-Content-Length": "5"]
            for name in headers.keys {
                f.refused(
                    try await ana.call("POST", "/content", headers: headers.filter { $0.key != name }),
                    "missing_property", property: name)
            }
        },
        Rule("8", "more than 2 GB is 422 invalid_property Upload-Content-Length") { f in
            let ana = try await f.user("ana")
            f.refused(try await announce(ana, 2_147_483_649), "invalid_property", property: "Upload-Content-Length")
            f.succeeded(try await announce(ana, 2_147_483_648), 201)
        },
        Rule("8", "a length that is no number is 422 invalid_property Upload-Content-Length") { f in
            let ana = try await f.user("ana")
            for length in ["x", "-1", "1.5"] {
                let answer = try await ana.call(
                    "POST", "/content", headers: ["Upload-Content-Type": "a/b", "Upload-Content-Length": length])
                f.refused(answer, "invalid_property", property: "Upload-Content-Length")
            }
        },
        Rule("8", "Upload-Origin is accepted") { f in
            let ana = try await f.user("ana")
            let headers = [
                "Upload-Content-Type": "a/b", "Upload-Content-Length": "5", "Upload-Origin": "https://app.example",
            ]
            f.succeeded(try await ana.call("POST", "/content", headers: headers), 201)
        },
    ]

    private static let uploading: [Rule] = [
        Rule("8", "the upload is a plain PUT without session or Accept") { f in
            let ana = try await f.user("ana")
            let content = try await announce(ana, sample.count).json
            let answer = try await put(f, content["upload_url"], sample)
            f.check(answer.isSuccess, "\(answer.status) \(answer.json)")
        },
        Rule("8", "the upload may also be a POST, from any origin") { f in
            let ana = try await f.user("ana")
            let content = try await announce(ana, sample.count).json
            let headers = ["Origin": "https://app.example"]
            let flight = try await plain(f, "OPTIONS", content["upload_url"], headers: headers)
            f.check(
                flight.header("Access-Control-Allow-Methods")?.contains("POST") == true, "preflight \(flight.status)")
            f.refused(
                try await plain(f, "POST", content["upload_url"], data: sample + [1], headers: headers),
                "invalid_request")
            let answer = try await plain(f, "POST", content["upload_url"], data: sample, headers: headers)
            f.succeeded(answer, 200)
            f.equal(answer.header("Access-Control-Allow-Origin"), "https://app.example")
            isComplete(f, try await ana.get(path(content)), content["id"])
        },
        Rule("8", "any gateway takes the upload") { f in
            let ana = try await f.user("ana")
            let content = try await announce(ana, sample.count).json
            let answer = try await put(f, content["upload_url"], sample, gateway: 1)
            f.check(answer.isSuccess, "\(answer.status) \(answer.json)")
            isComplete(f, try await ana.get(path(content)), content["id"])
        },
        Rule("8", "the upload may come from another origin") { f in
            let ana = try await f.user("ana")
            let content = try await announce(ana, 3).json
            let headers = ["Origin": "https://app.example", "Upload-Content-Length": "3", "Upload-Content-Type": "a/b"]
            let flight = try await plain(
                f, "OPTIONS", content["upload_url"], headers: ["Origin": "https://app.example"])
            f.check(flight.isSuccess, "preflight \(flight.status)")
            f.equal(flight.header("Access-Control-Allow-Origin"), "https://app.example")
            let answer = try await plain(f, "PUT", content["upload_url"], data: Data("abc".utf8), headers: headers)
            f.check(answer.isSuccess, "\(answer.status)")
            f.equal(answer.header("Access-Control-Allow-Origin"), "https://app.example")
        },
        Rule("8", "a body of another length than was announced is 400, and nothing is stored") { f in
            let ana = try await f.user("ana")
            let content = try await announce(ana, sample.count).json
            for data in [sample.dropLast(), sample + [1]] {
                f.refused(try await put(f, content["upload_url"], Data(data)), "invalid_request")
            }
            f.check(try await ana.get(path(content))["download_url"].isNull, "it can be downloaded")
            f.check(try await put(f, content["upload_url"], sample).isSuccess, "the upload cannot be tried again")
        },
        Rule("8", "an upload of what is there already succeeds, and changes nothing") { f in
            let ana = try await f.user("ana")
            let content = try await uploaded(f, ana, sample)
            f.succeeded(try await put(f, content["upload_url"], Data(sample.reversed())), 200)
            let url = try await ana.get(path(content))["download_url"]
            f.equal(try await plain(f, "GET", url).body, sample)
        },
        Rule("8", "an upload URL that was never given out is 404") { f in
            let url = JSONValue.string(f.system.publicURL + "/content/uploads/" + Layer.uuid())
            f.refused(try await put(f, url, sample), "not_found")
        },
        Rule("8", "empty content is content") { f in
            let ana = try await f.user("ana")
            let content = try await uploaded(f, ana, Data())
            let answer = try await plain(f, "GET", try await ana.get(path(content))["download_url"])
            f.equal(answer.status, 200)
            f.equal(answer.body.count, 0)
        },
        Rule("8", "a megabyte goes up on one gateway and comes down on the other unchanged") { f in
            let ana = try await f.user("ana")
            let data = Data((0..<1 << 20).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 7) })
            let content = try await uploaded(f, ana, data)
            let url = try await ana.get(path(content))["download_url"]
            f.check(try await plain(f, "GET", url, gateway: 1).body == data, "other bytes")
        },
    ]

    private static let sending: [Rule] = [
        Rule("8", "a message that refers to content shows it complete to all, in the answer, the packet and the list") {
            f in
            let scene = try await Scene(f)
            let content = try await uploaded(f, scene.ana, sample)
            let id =
                try await
                scene.acting.does("Message.create", scene.conversation, message(content, size: sample.count))["id"]
                .string ?? ""
            let packet = try await scene.other.change("create", "Message", id)
            let shown = [
                packet.data, try await scene.ben.load(id), try await scene.ana.load(id),
                try await scene.ben.get(Layer.path(scene.conversation) + "/messages")[0],
                try await scene.ben.load(scene.conversation)["last_message"],
            ]
            for object in shown {
                isComplete(f, object["parts"][0]["content"], content["id"])
                f.check(object["parts"][0]["body"].isNull, "a body")
                f.equal(object["parts"][0]["mime_type"], "image/png")
            }
        },
        Rule("8", "content that is unknown, or not uploaded, is 422 parts.0.content") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let pending = try await announce(ana, 5).json
            for content: JSONValue in [["id": .string("layer:///content/\(Layer.uuid())")], pending] {
                let answer = try await ana.call(
                    "POST", Layer.path(conversation) + "/messages", message(content, size: 5))
                f.refused(answer, "invalid_property", property: "parts.0.content")
                let overSocket = try await ana.socket().ask("Message.create", conversation, message(content, size: 5))
                f.refused(overSocket, "invalid_property", property: "parts.0.content")
            }
        },
        Rule("8", "content of another app is 422 parts.0.content") { f in
            guard let other = f.system.otherApp else { return f.skip("there is no second app") }
            let (ana, stranger) = (try await f.user("ana"), try await f.user("ana", app: other))
            let content = try await uploaded(f, stranger, sample)
            let answer = try await ana.call(
                "POST", Layer.path(try await ana.converse([])) + "/messages", message(content, size: sample.count))
            f.refused(answer, "invalid_property", property: "parts.0.content")
        },
        Rule("8", "content without an id, or that is no object, is 422") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            for content: JSONValue in ["x", [:], ["id": 5], ["id": "nothing"]] {
                let body: JSONValue = ["parts": [["mime_type": "a/b", "content": content]]]
                let answer = try await ana.call("POST", Layer.path(conversation) + "/messages", body)
                f.equal(answer.status, 422, "\(content)")
                f.check(answer.json["data"]["property"].string?.hasPrefix("parts.0.content") == true, "\(answer.json)")
            }
        },
        Rule("8", "a part with both body and content is 422", .doc) { f in
            let ana = try await f.user("ana")
            let content = try await uploaded(f, ana, sample)
            var body = message(content, size: sample.count)
            body = ["parts": [["mime_type": "a/b", "body": "x", "content": body["parts"][0]["content"]]]]
            let answer = try await ana.call("POST", Layer.path(try await ana.converse([])) + "/messages", body)
            f.equal(answer.status, 422)
        },
    ]

    private static let downloading: [Rule] = [
        Rule("8", "the download is a plain GET, with CORS") { f in
            let ana = try await f.user("ana")
            let content = try await uploaded(f, ana, sample)
            let url = try await ana.get(path(content))["download_url"]
            let answer = try await plain(f, "GET", url, headers: ["Origin": "https://app.example"])
            f.equal(answer.status, 200)
            f.check(answer.body == sample, "other bytes")
            f.equal(answer.header("Content-Length"), "\(sample.count)")
            f.equal(answer.header("Access-Control-Allow-Origin"), "https://app.example")
        },
        Rule("8", "HEAD tells the length", .doc) { f in
            let ana = try await f.user("ana")
            let content = try await uploaded(f, ana, sample)
            let answer = try await plain(f, "HEAD", try await ana.get(path(content))["download_url"])
            f.equal(answer.status, 200)
            f.equal(answer.header("Content-Length"), "\(sample.count)")
        },
        Rule("8", "parts of it may be asked for", .doc) { f in
            let ana = try await f.user("ana")
            let content = try await uploaded(f, ana, sample)
            let url = try await ana.get(path(content))["download_url"]
            for (range, expected) in [
                ("bytes=10-19", 10..<20), ("bytes=4990-", 4990..<5000), ("bytes=-5", 4995..<5000),
            ] {
                let answer = try await plain(f, "GET", url, headers: ["Range": range])
                f.equal(answer.status, 206, range)
                f.check(answer.body == sample.subdata(in: expected), "\(range): other bytes")
                f.equal(answer.header("Content-Range"), "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/5000")
            }
            f.equal(try await plain(f, "GET", url, headers: ["Range": "bytes=5000-"]).status, 416)
        },
        Rule("8", "a download URL that was never given out is 404") { f in
            let url = JSONValue.string(f.system.publicURL + "/content/downloads/" + Layer.uuid())
            f.equal(try await plain(f, "GET", url).status, 404)
        },
    ]

    private static let access: [Rule] = [
        Rule("8", "GET /content/:uuid is 200 for the uploader, with a fresh download_url") { f in
            let ana = try await f.user("ana")
            let content = try await uploaded(f, ana, sample)
            let answer = try await ana.call("GET", path(content))
            f.succeeded(answer, 200)
            isComplete(f, answer.json, content["id"])
        },
        Rule(
            "8",
            "GET /content/:uuid is 404 for all other users, until a message in a conversation of theirs refers to it"
        ) { f in
            let users = try await f.users("ana", "ben", "cleo")
            let conversation = try await users[0].converse(users[1])
            let content = try await uploaded(f, users[0], sample)
            f.refused(try await users[1].call("GET", path(content)), "not_found")
            try await users[0]
                .does("POST", Layer.path(conversation) + "/messages", message(content, size: sample.count))
            let answer = try await users[1].call("GET", path(content))
            f.succeeded(answer, 200)
            isComplete(f, answer.json, content["id"])
            f.check(try await plain(f, "GET", answer.json["download_url"]).body == sample, "other bytes")
            f.refused(try await users[2].call("GET", path(content)), "not_found")
        },
        Rule("8", "content that does not exist is 404") { f in
            let ana = try await f.user("ana")
            f.refused(try await ana.call("GET", "/content/\(Layer.uuid())"), "not_found")
        },
        Rule("8", "users of another app do not see it") { f in
            guard let other = f.system.otherApp else { return f.skip("there is no second app") }
            let (ana, stranger) = (try await f.user("ana"), try await f.user("ana", app: other))
            let content = try await uploaded(f, ana, sample)
            f.refused(try await stranger.call("GET", path(content)), "not_found")
        },
    ]
}
