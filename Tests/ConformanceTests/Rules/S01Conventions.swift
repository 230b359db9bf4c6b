// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// 1 Conventions.
enum S01 {
    static let rules: [Rule] =
        hosts + versioning + headers + origins + answers + identifiers + times + lists + S01Lists.rules + duplicates + availability + errors

    // MARK: 1.1

    private static let hosts: [Rule] = [
        Rule("1.1", "every URL in a conversation, its messages, their parts and its participants is absolute and begins with the public base URL") {
            f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            try await users[0].send("hello", to: conversation)
            let object = try await users[1].load(conversation)
            let message = object["last_message"]
            let urls = [
                object["url"], object["messages_url"], message["url"], message["receipts_url"], message["conversation"]["url"],
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
                let answer = try await f.system.client(gateway, f.version).call("GET", Layer.path(conversation), token: ana.session)
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
                for value in ["*/*", "application/json", "application/vnd.layer+json", "application/vnd.layer+json; version=", "text/html"] {
                    f.refused(try await ana.call("GET", "/conversations", headers: ["Accept": value]), "invalid_header", header: "Accept")
                }
            },
            Rule("1.2", "an unknown version is 406") { f in
                let ana = try await f.user("ana")
                for version in ["4.0", "3.1", "0", "three"] {
                    let value = "application/vnd.layer+json; version=\(version)"
                    f.refused(try await ana.call("GET", "/conversations", headers: ["Accept": value]), "invalid_header", header: "Accept")
                }
            },
            Rule("1.2", "version 1.0 is 406", .doc) { f in
                let ana = try await f.user("ana")
                let value = "application/vnd.layer+json; version=1.0"
                f.refused(try await ana.call("GET", "/conversations", headers: ["Accept": value]), "invalid_header", header: "Accept")
            },
            Rule("1.2", "GET / and HEAD /ping need no version") { f in
                for (method, path) in [("GET", "/"), ("HEAD", "/ping")] {
                    let answer = try await f.client.call(method, path, headers: ["Accept": ""], deadline: Fixture.deadline)
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
            let answer = try await ana.call("PATCH", Layer.path(conversation), [set("metadata.a", "1")], headers: ["Content-Type": type])
            f.succeeded(answer, 204)
        },
        Rule("1.3", "the session token may stand in double or in single quotes") { f in
            let ana = try await f.user("ana")
            for quote in ["\"", "'"] {
                let header = ["Authorization": "Layer session-token=\(quote)\(ana.session)\(quote)"]
                f.succeeded(try await f.client.call("GET", "/conversations", headers: header, deadline: Fixture.deadline), 200)
            }
        },
        Rule("1.3", "POST with X-HTTP-Method-Override: PATCH is a PATCH") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let headers = ["X-HTTP-Method-Override": "PATCH", "Content-Type": "application/vnd.layer-patch+json"]
            f.succeeded(try await ana.call("POST", Layer.path(conversation), [set("metadata.a", "1")], headers: headers), 204)
            f.equal(try await ana.load(conversation)["metadata"], ["a": "1"])
        },
        Rule("1.3", "an overridden PATCH with another content type is 406") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let headers = ["X-HTTP-Method-Override": "PATCH", "Content-Type": "application/json"]
            let answer = try await ana.call("POST", Layer.path(conversation), [set("metadata.a", "1")], headers: headers)
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

    private static func hasOrigin(_ f: Fixture, _ answer: RESTAnswer, line: UInt = #line) {
        f.equal(answer.header("Access-Control-Allow-Origin"), origin, "Access-Control-Allow-Origin", line: line)
        f.equal(answer.header("Access-Control-Allow-Credentials"), "true", "Access-Control-Allow-Credentials", line: line)
        f.check(answer.header("Vary")?.lowercased().contains("origin") == true, "Vary \(answer.header("Vary") ?? "none")", line: line)
    }

    private static func words(_ header: String?) -> Set<String> {
        Set((header ?? "").lowercased().split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
    }

    private static func preflight(_ f: Fixture, _ path: String) async throws -> RESTAnswer {
        let headers = [
            "Accept": "", "Origin": origin, "Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "authorization,content-type",
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
            f.check(words(answer.header("Access-Control-Expose-Headers")).isSuperset(of: ["layer-count", "link"]), "\(answer.headers)")
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
            for path in ["/", "/nonces", "/conversations", "/conversations/\(Layer.uuid())", "/content", "/push_tokens/x", "/nowhere"] {
                let answer = try await preflight(f, path)
                f.check(answer.isSuccess, "\(path): \(answer.status)")
                hasOrigin(f, answer)
            }
        },
        Rule("1.4", "preflights allow every header stock clients send") { f in
            let allowed = words(try await preflight(f, "/conversations").header("Access-Control-Allow-Headers"))
            let needed: Set<String> = [
                "authorization", "content-type", "accept", "client-id", "layer-xdk-version", "upload-content-type", "upload-content-length",
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

    // MARK: 1.5

    private static let answers: [Rule] = [
        Rule("1.5", "every JSON answer has a Content-Type that begins with application/json") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let message = try await ana.sendID("x", to: conversation)
            for path in ["/", "/conversations", Layer.path(conversation), Layer.path(message), "/identities", "/identities/\(ana.userID)"] {
                f.succeeded(try await ana.call("GET", path), 200)
            }
            f.succeeded(try await ana.call("POST", "/nonces"), 201)
            f.succeeded(try await ana.call("POST", "/conversations", User.conversation([])), 201)
        },
        Rule("1.5", "204 has no body") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let answer = try await ana.call("PATCH", Layer.path(conversation), [set("metadata.a", "1")])
            f.equal(answer.status, 204)
            f.check(answer.body.isEmpty, "\(answer.body.count) bytes")
        },
        Rule("1.5", "unknown members of a request are ignored") { f in
            let ana = try await f.user("ana")
            var body = User.conversation([])
            body["colour"] = ["a": [1, nil, true]]
            f.succeeded(try await ana.call("POST", "/conversations", body), 201)
        },
    ]

    // MARK: 1.6

    private static let identifiers: [Rule] = [
        Rule("1.6", "an object's url is the base and its id without layer://") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            let message = try await users[0].send("x", to: conversation)
            let object = try await users[0].load(conversation)
            for thing in [object, message, message["conversation"], message["sender"], object["participants"][0], message["parts"][0]] {
                guard let id = thing["id"].string else { return f.fail("no id in \(thing)") }
                if thing["url"].isNull, thing == message["parts"][0], f.version == .v2 { continue }
                f.equal(thing["url"].string, f.system.publicURL + Layer.path(id))
            }
        },
        Rule("1.6", "paths take a bare UUID or the whole id") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let message = try await ana.sendID("x", to: conversation)
            for id in [conversation, message] {
                let kind = id == conversation ? "conversations" : "messages"
                let whole = id.replacingOccurrences(of: ":", with: "%3A").replacingOccurrences(of: "/", with: "%2F")
                f.equal(try await ana.get("/\(kind)/\(Layer.last(id))")["id"].string, id)
                f.equal(try await ana.get("/\(kind)/\(whole)")["id"].string, id)
            }
        },
        Rule("1.6", "from_id takes a bare UUID, the whole id as it is, and the whole id escaped") { f in
            let ana = try await f.user("ana")
            let first = try await ana.converse([])
            let second = try await ana.converse([])
            let escaped = second.replacingOccurrences(of: ":", with: "%3A").replacingOccurrences(of: "/", with: "%2F")
            for from in [Layer.last(second), second, escaped] {
                f.equal(try await ana.get("/conversations?from_id=\(from)").ids, [first])
            }
        },
        Rule("1.6", "UUIDs are compared without regard to case") { f in
            let ana = try await f.user("ana")
            let id = "layer:///conversations/" + Layer.uuid().uppercased()
            let created = try await ana.does("POST", "/conversations", User.conversation([], id: id)).json
            f.equal(created["id"].string?.lowercased(), id.lowercased())
            f.equal(try await ana.get("/conversations/\(Layer.last(id).lowercased())")["id"], created["id"])
            f.equal(try await ana.get("/conversations/\(Layer.last(id))")["id"], created["id"])
        },
        Rule("1.6", "identity ids are encoded as clients do it: like encodeURIComponent, with ! ~ ' ( ) escaped and * raw") { f in
            let pairs = [
                ("a b", "a%20b"), ("x/y", "x%2Fy"), ("é", "%C3%A9"), ("!~'()", "%21%7E%27%28%29"), ("*", "*"), ("a@b.c", "a%40b.c"), ("-_.", "-_."),
                ("%", "%25"), ("+&=?#", "%2B%26%3D%3F%23"), ("日本", "%E6%97%A5%E6%9C%AC"),
            ]
            let ana = try await f.user("ana")
            for (text, encoded) in pairs {
                let identity = try await ana.get("/identities/\(encoded)\(f.mark)")
                f.equal(identity["id"].string, "layer:///identities/\(encoded)\(f.mark)")
                f.equal(identity["user_id"].string, text + f.mark)
                f.equal(identity["url"].string, "\(f.system.publicURL)/identities/\(encoded)\(f.mark)")
            }
        },
        Rule("1.6", "identity ids that come encoded otherwise are shown encoded as they should be") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse(["layer:///identities/x~y%c3%a9!.\(f.mark)"])
            let others = (try await ana.load(conversation)["participants"]).ids.filter { $0 != ana.id }
            f.equal(others, ["layer:///identities/x%7Ey%C3%A9%21.\(f.mark)"])
        },
        Rule("1.6", "the id of a user with special characters is the same as participant, sender, key of recipient_status and in patches") { f in
            let userID = "o'neil (x) é.\(f.mark)"
            let id = "layer:///identities/o%27neil%20%28x%29%20%C3%A9.\(f.mark)"
            let neil = try await f.user(id: userID, name: "Neil")
            let ana = try await f.user("ana", gateway: 1)
            let socket = try await ana.socket()
            let conversation = try await ana.converse([id])
            let message = try await ana.sendID("hello", to: conversation)
            f.check(try await ana.load(conversation)["participants"].ids.contains(id), "participants")
            f.equal(try await ana.load(message)["recipient_status"][id], "sent")
            try await neil.receipt("read", message)
            let update = try await socket.change("update", "Message", message)
            f.equal(ReceivedPacket.segments(update.data[0]["property"].string ?? ""), ["recipient_status", id])
            try await neil.send("answer", to: conversation)
            f.equal(try await socket.message("answer").data["sender"]["id"].string, id)
        },
        Rule("1.6", "the app may be named in every spelling") { f in
            let uuid = Layer.last(f.app.id)
            for id in ["layer:///apps/production/\(uuid)", "layer:///apps/staging/\(uuid)", "layer://apps/production/\(uuid)", uuid] {
                let nonce = try await f.client.nonce()
                let token = try f.app.tokens.token(header: f.app.header, claims: f.app.claims(f.stranger("ana"), nonce: nonce, name: nil))
                let answer = try await f.client.call("POST", "/sessions", body: ["app_id": .string(id), "identity_token": .string(token)])
                f.succeeded(answer, 201)
            }
        },
    ]

    // MARK: 1.7

    private static let times: [Rule] = [
        Rule("1.7", "timestamps are UTC with milliseconds and Z") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let conversation = try await ana.converse([])
            let message = try await ana.send("x", to: conversation)
            f.check(Layer.isTimestamp(try await ana.load(conversation)["created_at"].string), "created_at")
            f.check(Layer.isTimestamp(message["sent_at"].string), "sent_at \(message["sent_at"])")
            let packet = try await socket.message("x")
            f.check(Layer.isTimestamp(packet.timestamp), "packet \(packet.timestamp ?? "none")")
        },
        Rule("1.7", "times of any offset are accepted") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            for time in ["2019-01-01T00:00:00Z", "2019-01-01T02:00:00.123+02:00", "2019-01-01T00:00:00.5-0330"] {
                f.check(try await socket.ask("Presence.sync", nil, ["since": .string(time)]).isSuccess, time)
            }
            f.check(try await socket.ask("Event.replay", nil, ["from_timestamp": "2019-01-01T02:00:00+02:00"]).isSuccess, "replay")
        },
    ]

    // MARK: 1.8

    /// The ids of a list, page by page.
    private static func walk(_ user: User, _ path: String, pageSize: Int, count: Int) async throws -> [String] {
        var ids: [String] = []
        let sign = path.contains("?") ? "&" : "?"
        while true {
            let from = ids.last.map { "&from_id=\($0)" } ?? ""
            let page = try await user.does("GET", "\(path)\(sign)page_size=\(pageSize)\(from)")
            user.fixture.equal(page.header("Layer-Count"), "\(count)", "Layer-Count")
            user.fixture.check(page.json.ids.count <= pageSize, "a page has \(page.json.ids.count) items")
            if page.json.ids.isEmpty { return ids }
            ids += page.json.ids
            if ids.count > count { return ids }
        }
    }

    private static let lists: [Rule] = [
        Rule("1.8", "lists of conversations come page by page, with the whole number in Layer-Count on every page") { f in
            let ana = try await f.user("ana")
            var ids: [String] = []
            for _ in 0..<5 { ids.append(try await ana.converse([])) }
            f.equal(try await walk(ana, "/conversations", pageSize: 2, count: 5), ids.reversed())
        },
        Rule("1.8", "lists of messages come page by page, with the whole number in Layer-Count on every page") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            var ids: [String] = []
            for number in 0..<5 { ids.append(try await ana.sendID("\(number)", to: conversation)) }
            f.equal(try await walk(ana, Layer.path(conversation) + "/messages", pageSize: 2, count: 5), ids.reversed())
        },
        Rule("1.8", "an empty list is an empty array with Layer-Count 0") { f in
            let ana = try await f.user("ana")
            let answer = try await ana.call("GET", "/conversations")
            f.succeeded(answer, 200)
            f.equal(answer.json, [])
            f.equal(answer.header("Layer-Count"), "0")
        },
        Rule("1.8", "a page_size above the maximum is cut down to it") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            f.equal(try await ana.get("/conversations?page_size=100000").ids, [conversation])
            f.equal(try await ana.get(Layer.path(conversation) + "/messages?page_size=100000"), [])
        },
        Rule("1.8", "a page has 100 items at most, and by default") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            for number in 0..<101 { try await ana.send("\(number)", to: conversation) }
            for query in ["", "?page_size=100", "?page_size=500"] {
                let page = try await ana.does("GET", Layer.path(conversation) + "/messages\(query)")
                f.equal(page.json.ids.count, 100, query)
                f.equal(page.header("Layer-Count"), "101")
            }
        },
        Rule("1.8", "a page of identities or of those followed has 500 at most, and by default", .doc) { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let others = (0..<501).map { "p\($0).\(f.mark)" }
            f.succeeded(try await ana.call("POST", "/following/users", .array(others.map { .string($0) })), 202)
            for other in others { try await socket.change("create", "Identity", Layer.identity(other)) }
            for path in ["/following", "/identities", "/identities?page_size=1000"] {
                let page = try await ana.does("GET", path)
                f.equal(page.json.array?.count, 500, path)
                f.equal(page.header("Layer-Count"), "501", path)
            }
        },
        Rule("1.8", "a page_size that is no positive number is 422") { f in
            let ana = try await f.user("ana")
            for size in ["abc", "-1", "0", "1.5"] {
                f.refused(try await ana.call("GET", "/conversations?page_size=\(size)"), "invalid_property", property: "page_size")
            }
        },
        Rule("1.8", "a from_id that names nothing is 422") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let unknown = ["/conversations?from_id=\(Layer.newConversation())", Layer.path(conversation) + "/messages?from_id=\(Layer.newMessage())"]
            for path in unknown + ["/conversations?from_id=nothing"] {
                f.refused(try await ana.call("GET", path), "invalid_property", property: "from_id")
            }
        },
        Rule("1.8", "a conversation deleted between two pages still works as a cursor") { f in
            let ana = try await f.user("ana")
            let first = try await ana.converse([])
            let second = try await ana.converse([])
            let third = try await ana.converse([])
            try await ana.does("DELETE", Layer.path(second) + "?mode=all_participants")
            f.equal(try await ana.get("/conversations?from_id=\(second)").ids, [first])
            try await ana.does("DELETE", Layer.path(third) + "?mode=my_devices")
            f.equal(try await ana.get("/conversations?from_id=\(third)").ids, [first])
        },
        Rule("1.8", "a message deleted between two pages still works as a cursor") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let first = try await ana.sendID("1", to: conversation)
            for mode in ["all_participants", "my_devices"] {
                let message = try await ana.sendID("2", to: conversation)
                try await ana.does("DELETE", Layer.path(message) + "?mode=\(mode)")
                f.equal(try await ana.get(Layer.path(conversation) + "/messages?from_id=\(message)").ids, [first], mode)
            }
        },
        Rule("1.8", "a sort_by that is none is 422") { f in
            let ana = try await f.user("ana")
            f.refused(try await ana.call("GET", "/conversations?sort_by=name"), "invalid_property", property: "sort_by")
        },
    ]

    // MARK: 1.9

    private static let duplicates: [Rule] = [
        Rule("1.9", "a conversation gets the id its creator chose, given as a whole id or a bare UUID") { f in
            let ana = try await f.user("ana")
            for whole in [true, false] {
                let id = Layer.newConversation()
                let answer = try await ana.call("POST", "/conversations", User.conversation([], id: whole ? id : Layer.last(id)))
                f.succeeded(answer, 201)
                f.equal(answer.json["id"].string, id)
            }
        },
        Rule("1.9", "a message gets the id its sender chose, given as a whole id or a bare UUID") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            for whole in [true, false] {
                let id = Layer.newMessage()
                let body = User.message("x", id: whole ? id : Layer.last(id))
                let answer = try await ana.call("POST", Layer.path(conversation) + "/messages", body)
                f.succeeded(answer, 201)
                f.equal(answer.json["id"].string, id)
            }
        },
        Rule("1.9", "creating a conversation again under its id is 409 id_in_use with the conversation") { f in
            let users = try await f.users("ana", "ben")
            let id = Layer.newConversation()
            let body = User.conversation([users[1].id], metadata: ["a": "1"], id: id)
            f.succeeded(try await users[0].call("POST", "/conversations", body), 201)
            let again = try await users[0].call("POST", "/conversations", body)
            f.refused(again, "id_in_use")
            f.equal(again.json["data"], try await users[0].load(id))
        },
        Rule("1.9", "creating a conversation under the id of one the caller may not see is 409 id_in_use without an object") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([])
            let answer = try await users[1].call("POST", "/conversations", User.conversation([], id: id))
            f.refused(answer, "id_in_use")
            f.equal(answer.json["data"], [:])
        },
        Rule("1.9", "sending a message under the id of one the sender may not see is 409 id_in_use without an object") { f in
            let users = try await f.users("ana", "ben")
            let message = try await users[0].sendID("secret", to: try await users[0].converse([]))
            let own = try await users[1].converse([])
            let answer = try await users[1].call("POST", Layer.path(own) + "/messages", User.message("x", id: message))
            f.refused(answer, "id_in_use")
            f.equal(answer.json["data"], [:])
        },
        Rule("1.9", "over the socket a conversation's id in use is an unsuccessful response with the conversation") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let id = Layer.newConversation()
            let first = try await socket.does("Conversation.create", nil, User.conversation([], id: id))
            let again = try await socket.ask("Conversation.create", nil, User.conversation([], id: id))
            f.refused(again, "id_in_use")
            f.equal(again.data["data"]["id"], first["id"])
            f.equal(again.data["data"], try await ana.load(id))
        },
        Rule("1.9", "over the socket a message's id in use is an unsuccessful response with the message") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let conversation = try await ana.converse([])
            let id = Layer.newMessage()
            try await socket.does("Message.create", conversation, User.message("x", id: id))
            let again = try await socket.ask("Message.create", conversation, User.message("x", id: id))
            f.refused(again, "id_in_use")
            f.equal(again.data["data"], try await ana.load(id))
        },
        Rule("1.9", "a repeated create emits nothing") { f in
            let scene = try await Scene(f)
            let message = try await scene.sent("once")
            let seen = try await scene.seen {
                _ = try await scene.ana.call("POST", Layer.path(scene.conversation) + "/messages", User.message("once", id: message))
                _ = try await scene.ana.call("POST", "/conversations", User.conversation([scene.ben.id], id: scene.conversation))
            }
            for packets in seen { f.equal(packets.map(\.summary), []) }
        },
        Rule("1.9", "a retry succeeds even if the sender has left the conversation meanwhile") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            let id = Layer.newMessage()
            let path = Layer.path(conversation) + "/messages"
            f.succeeded(try await users[0].call("POST", path, User.message("x", id: id)), 201)
            try await users[0].patch(conversation, remove(users[0]))
            let again = try await users[0].call("POST", path, User.message("x", id: id))
            f.refused(again, "id_in_use")
            f.equal(again.json["data"]["id"].string, id)
        },
    ]

    // MARK: 1.10

    private static let availability: [Rule] = [
        Rule("1.10", "a burst of receipts is not refused") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            var messages: [String] = []
            for number in 0..<50 { messages.append(try await users[0].sendID("\(number)", to: conversation)) }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for message in messages {
                    group.addTask { try await users[1].call("POST", Layer.path(message) + "/receipts", ["type": "delivery"]).status }
                }
                for try await status in group { f.equal(status, 204) }
            }
        },
        Rule("1.10", "HEAD /ping is never refused, however often it comes") { f in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<200 { group.addTask { try await f.client.call("HEAD", "/ping", deadline: Fixture.deadline).status } }
                for try await status in group { f.equal(status, 200) }
            }
        },
        Rule("1.10", "a session that asks for more than the limit is 429 rate_limit_exceeded and told when to come back; others are not", .doc) { f in
            guard let strict = try await f.system.furtherGateways?.client(.strict, f.version) else { return f.skip("no gateway with low limits") }
            let (ana, ben) = (try await f.user("ana"), try await f.user("ben"))
            var answers: [RESTAnswer] = []
            for _ in 0..<6 { answers.append(try await strict.call("GET", "/conversations", token: ana.session, deadline: Fixture.deadline)) }
            f.equal(answers.first?.status, 200)
            let refusal = try f.need(answers.first { $0.status == 429 }, "refusal")
            f.refused(refusal, "rate_limit_exceeded")
            f.check((refusal.header("Retry-After").flatMap { Int($0) } ?? 0) > 0, "Retry-After \(refusal.header("Retry-After") ?? "none")")
            f.succeeded(try await strict.call("GET", "/conversations", token: ben.session, deadline: Fixture.deadline), 200)
            for _ in 0..<20 { f.equal(try await strict.call("HEAD", "/ping", deadline: Fixture.deadline).status, 200) }
        },
        Rule("1.10", "while a service is down, what needs it is 503 service_unavailable, and the rest is done") { f in
            guard let cutOff = try await f.system.furtherGateways?.client(.cutOff, f.version) else { return f.skip("no gateway to cut off") }
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let message = try await ana.sendID("hello", to: conversation)
            f.refused(try await cutOff.call("GET", Layer.path(conversation), token: ana.session, deadline: Fixture.deadline), "service_unavailable")
            let patch: JSONValue = .array([set("metadata.title", "x")])
            let patched = try await cutOff.call(
                "PATCH", Layer.path(conversation), body: patch, token: ana.session, deadline: Fixture.deadline)
            f.refused(patched, "service_unavailable")
            f.succeeded(try await cutOff.call("GET", Layer.path(message), token: ana.session, deadline: Fixture.deadline), 200)
        },
    ]

    // MARK: 1.11

    private static let errors: [Rule] = [
        Rule("1.11", "error objects have id, code, message, url and data, and the url explains the error") { f in
            let ana = try await f.user("ana")
            let answer = try await ana.call("GET", "/conversations/\(Layer.uuid())")
            f.refused(answer, "not_found")
            f.equal(answer.json["url"].string, "\(f.system.publicURL)/docs/errors#not_found")
            f.equal(answer.json["data"], [:])
        },
        Rule("1.11", "an unknown path is 404 invalid_endpoint") { f in
            let ana = try await f.user("ana")
            for path in ["/nowhere", "/conversations/\(Layer.uuid())/nothing", "/a/b/c/d"] {
                f.refused(try await ana.call("GET", path), "invalid_endpoint")
            }
        },
        Rule("1.11", "an unknown method on a known path is 404 invalid_endpoint or 405 method_not_allowed") { f in
            let ana = try await f.user("ana")
            for (method, path) in [("PUT", "/conversations"), ("DELETE", "/nonces"), ("PATCH", "/messages/\(Layer.uuid())")] {
                let answer = try await ana.call(method, path)
                f.refused(answer, answer.status == 405 ? "method_not_allowed" : "invalid_endpoint")
            }
        },
        Rule("1.11", "malformed JSON is 400 invalid_request") { f in
            let ana = try await f.user("ana")
            for text in ["{", "", "{\"participants\":[}", "nonsense", "{\"a\":1}x"] {
                f.refused(try await f.client.call("POST", "/conversations", data: Data(text.utf8), token: ana.session), "invalid_request")
            }
        },
        Rule("1.11", "JSON of the wrong structure is 400 invalid_request") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            for body: JSONValue in ["text", [], 5, nil] { f.refused(try await ana.call("POST", "/conversations", body), "invalid_request") }
            for body: JSONValue in ["text", [:], 5] { f.refused(try await ana.call("PATCH", Layer.path(conversation), body), "invalid_request") }
        },
        Rule("1.11", "a property inside an array is named with its index") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let body: JSONValue = ["parts": [["mime_type": "text/plain", "body": "x"], ["body": "y"]]]
            let answer = try await ana.call("POST", Layer.path(conversation) + "/messages", body)
            f.refused(answer, "missing_property", property: "parts.1.mime_type")
        },
        Rule("1.11", "over the socket the error object is the data of an unsuccessful response") { f in
            let ana = try await f.user("ana")
            let answer = try await ana.socket().ask("Conversation.create", nil, [:])
            f.refused(answer, "missing_property", property: "participants")
            f.equal(answer.packet.body["success"], false)
        },
        Rule("1.11", "the page of errors explains every error", .doc) { f in
            let answer = try await f.client.call("GET", "/docs/errors", headers: ["Accept": "text/html"], deadline: Fixture.deadline)
            f.equal(answer.status, 200)
            let text = String(decoding: answer.body, as: UTF8.self)
            for id in Fixture.errors.keys { f.check(text.contains("id=\"\(id)\""), "nothing about \(id)") }
        },
        Rule("1.11", "the descriptions are served as a readable page and as files", .doc) { f in
            for path in ["/docs/", "/docs/openapi.yaml", "/docs/asyncapi.yaml"] {
                let answer = try await f.client.call("GET", path, headers: ["Accept": "*/*"], deadline: Fixture.deadline)
                f.equal(answer.status, 200, path)
                f.check(answer.body.count > 500, "\(path) has \(answer.body.count) bytes")
            }
        },
    ]
}
