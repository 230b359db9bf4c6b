// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of sections 6.2 and 6.7: message parts.
extension S06 {
    // MARK: 6.2

    private static func text(_ body: String) -> JSONValue { ["mime_type": "text/plain", "body": .string(body)] }

    /// A rule on parts that are accepted and returned unchanged.
    private static func echoes(_ what: String, _ part: JSONValue) -> Rule {
        Rule("6.2", "\(what) comes back as it was sent") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let conversation = try await ana.converse([])
            let answer = try await send(ana, conversation, parts: [part])
            f.succeeded(answer, 201)
            let packet = try await socket.change("create", "Message", answer.json["id"].string)
            for shown in [answer.json, packet.data, try await ana.load(answer.json["id"].string ?? "")] {
                for (name, value) in part.object ?? [:] { f.equal(shown["parts"][0][name], value, name) }
            }
        }
    }

    private static func refusesPart(_ what: String, _ error: String, _ property: String, _ parts: JSONValue) -> Rule {
        Rule("6.2", "\(what) is 422 \(property)") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            f.refused(try await send(ana, conversation, parts: parts), error, property: property)
            let answer = try await ana.socket().ask("Message.create", conversation, ["parts": parts])
            f.refused(answer, error, property: property)
        }
    }

    static let parts: [Rule] = [
        Rule("6.2", "a part has an id under its message, a MIME type and a body") { f in
            let ana = try await f.user("ana")
            let message = try await ana.send("x", to: try await ana.converse([]))
            let part = message["parts"][0]
            f.check(part["id"].string?.hasPrefix("\(message["id"].string ?? "?")/parts/") == true, "\(part["id"])")
            f.equal(part["mime_type"], "text/plain")
            f.equal(part["body"], "x")
            f.check(part["encoding"].isNull, "encoding \(part["encoding"])")
            f.check(part["content"].isNull, "content \(part["content"])")
        },
        Rule("6.2", "a part has url and message_url", versions: [.v3]) { f in
            let ana = try await f.user("ana")
            let message = try await ana.send("x", to: try await ana.converse([]))
            let part = message["parts"][0]
            f.equal(part["url"].string, f.system.publicURL + Layer.path(part["id"].string ?? ""))
            f.equal(part["message_url"], message["url"])
        },
        Rule("6.2", "part ids end in a UUID, and those the client chose are echoed", versions: [.v3]) { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let generated = try await ana.send("x", to: conversation)["parts"][0]["id"].string ?? ""
            f.check(UUID(uuidString: Layer.last(generated)) != nil, generated)
            let id = Layer.newMessage()
            let ids = [0, 1].map { _ in "\(id)/parts/\(Layer.uuid())" }
            let parts = ids.map { JSONValue.object(["mime_type": "text/plain", "body": "x", "id": .string($0)]) }
            let answer = try await send(ana, conversation, parts: .array(parts), id: id)
            f.succeeded(answer, 201)
            f.equal(answer.json["parts"].ids, ids)
            f.equal(try await ana.load(id)["parts"].ids, ids)
        },
        Rule("6.2", "part ids end in the index of the part", versions: [.v2]) { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let answer = try await send(ana, conversation, parts: [text("a"), text("b")])
            let id = answer.json["id"].string ?? ""
            f.equal(answer.json["parts"].ids, ["\(id)/parts/0", "\(id)/parts/1"])
        },
        Rule("6.2", "parts keep their order") { f in
            let ana = try await f.user("ana")
            let texts = (0..<20).map { "\($0)" }
            let answer = try await send(ana, try await ana.converse([]), parts: .array(texts.map(text)))
            let message = try await ana.load(answer.json["id"].string ?? "")
            f.equal((message["parts"].array ?? []).compactMap { $0["body"].string }, texts)
        },
        echoes(
            "a MIME type with parameters",
            ["mime_type": "application/vnd.layer.text+json; role=root;parent-node-id=a-B_9 ; x=\"y\"", "body": "{}"]),
        echoes("a MIME type of any kind", ["mime_type": "Not/Registered+At.ALL", "body": "x"]),
        echoes(
            "a text with every kind of character", ["mime_type": "text/plain", "body": "a\u{1}\n\t\"\\/é日本🎉\u{2028}"]),
        echoes("an empty text", ["mime_type": "text/plain", "body": ""]),
        echoes(
            "a base64 body with its encoding", ["mime_type": "image/png", "body": "iVBORw0KGgo=", "encoding": "base64"]),
        echoes(
            "a text of 2048 UTF-16 units",
            ["mime_type": "text/plain", "body": .string(String(repeating: "日", count: 2048))]),
        echoes(
            "a text of 1024 characters of two UTF-16 units",
            ["mime_type": "text/plain", "body": .string(String(repeating: "🎉", count: 1024))]),
        echoes(
            "a base64 body of 2048 bytes",
            [
                "mime_type": "image/png", "encoding": "base64",
                "body": .string(Data(repeating: 7, count: 2048).base64EncodedString()),
            ]),
        refusesPart(
            "a text of 2049 units", "invalid_property", "parts.0.body", [text(String(repeating: "x", count: 2049))]),
        refusesPart(
            "a base64 body of 2049 bytes", "invalid_property", "parts.1.body",
            [
                text("a"),
                [
                    "mime_type": "a/b", "encoding": "base64",
                    "body": .string(Data(repeating: 7, count: 2049).base64EncodedString()),
                ],
            ]),
        refusesPart(
            "a base64 body that is none", "invalid_property", "parts.0.body",
            [["mime_type": "a/b", "encoding": "base64", "body": "%%%"]]),
        refusesPart(
            "an encoding that is not base64", "invalid_property", "parts.0.encoding",
            [["mime_type": "a/b", "encoding": "rot13", "body": "x"]]),
        refusesPart("a part without a MIME type", "missing_property", "parts.0.mime_type", [["body": "x"]]),
        refusesPart(
            "a MIME type that is no string", "invalid_property", "parts.0.mime_type", [["mime_type": 5, "body": "x"]]),
        refusesPart(
            "a body that is no string", "invalid_property", "parts.0.body",
            [["mime_type": "text/plain", "body": ["x"]]]),
        refusesPart(
            "more than 1000 parts", "invalid_property", "parts",
            .array(Array(repeating: ["mime_type": "a/b", "body": "x"], count: 1001))),
        Rule("6.2", "1000 parts are allowed") { f in
            let ana = try await f.user("ana")
            let answer = try await send(
                ana, try await ana.converse([]),
                parts: .array(Array(repeating: ["mime_type": "a/b", "body": "x"], count: 1000)))
            f.succeeded(answer, 201)
            f.equal(answer.json["parts"].array?.count, 1000)
        },
        Rule("6.2", "inline parts of more than 256 KB together are 422 parts") { f in
            let ana = try await f.user("ana")
            let parts = Array(repeating: text(String(repeating: "x", count: 2048)), count: 129)
            f.refused(
                try await send(ana, try await ana.converse([]), parts: .array(parts)), "invalid_property",
                property: "parts")
        },
        Rule("6.2", "size, where it is shown, is the number of bytes of the decoded content", .doc) { f in
            let ana = try await f.user("ana")
            let parts: JSONValue = [text("é"), ["mime_type": "a/b", "encoding": "base64", "body": "AAECAw=="]]
            let message = try await send(ana, try await ana.converse([]), parts: parts).json
            for (index, size) in [(0, 2), (1, 4)] {
                if let shown = message["parts"][index]["size"].int { f.equal(shown, size) }
            }
        },
    ]

    // MARK: 6.7

    private static func twoParts(
        _ f: Fixture
    ) async throws -> (ana: User, ben: User, conversation: String, message: JSONValue, path: String) {
        let users = try await f.users("ana", "ben")
        let conversation = try await users[0].converse(users[1])
        let message = try await send(users[0], conversation, parts: [text("one"), text("two")]).json
        return (users[0], users[1], conversation, message, Layer.path(message["id"].string ?? ""))
    }

    private static func bodies(_ message: JSONValue) -> [String] {
        (message["parts"].array ?? []).compactMap { $0["body"].string }
    }

    static let editing: [Rule] = [
        Rule("6.7", "GET …/parts is 200 with the parts of the message", .doc) { f in
            let (_, ben, _, message, path) = try await twoParts(f)
            let answer = try await ben.call("GET", path + "/parts")
            f.succeeded(answer, 200)
            f.equal(answer.json, message["parts"])
        },
        Rule("6.7", "GET …/parts/:part is 200 with the part, named as it is shown", .doc) { f in
            let (_, ben, _, message, path) = try await twoParts(f)
            for part in message["parts"].array ?? [] {
                let answer = try await ben.call("GET", path + "/parts/" + Layer.last(part["id"].string ?? ""))
                f.succeeded(answer, 200)
                f.equal(answer.json, part)
            }
        },
        Rule("6.7", "a part is found by its index and by its UUID", .doc) { f in
            let (ana, ben, _, message, path) = try await twoParts(f)
            let whole = try await f.system.client(0, .v3).call("GET", path, token: ana.session).json
            let uuid = Layer.last(whole["parts"][1]["id"].string ?? "")
            for name in ["1", uuid] { f.equal(try await ben.get("\(path)/parts/\(name)"), message["parts"][1]) }
        },
        Rule("6.7", "a part or message that is not there is 404 not_found", .doc) { f in
            let (ana, _, _, _, path) = try await twoParts(f)
            let stranger = try await f.user("cleo")
            for name in ["2", Layer.uuid(), "x"] {
                f.refused(try await ana.call("GET", "\(path)/parts/\(name)"), "not_found")
            }
            f.refused(try await stranger.call("GET", path + "/parts"), "not_found")
            f.refused(try await stranger.call("PUT", path + "/parts/0", text("x")), "not_found")
        },
        Rule("6.7", "POST …/parts is 201 with the part, which is added at the end", .doc) { f in
            let (ana, ben, _, _, path) = try await twoParts(f)
            let answer = try await ana.call("POST", path + "/parts", text("three"))
            f.succeeded(answer, 201)
            f.equal(answer.json["body"], "three")
            let message = try await ben.get(path)
            f.equal(bodies(message), ["one", "two", "three"])
            f.equal(message["parts"][2]["id"], answer.json["id"])
            f.check(Layer.isTimestamp(message["updated_at"].string), "updated_at \(message["updated_at"])")
        },
        Rule("6.7", "PUT …/parts/:part is 200 with the part, which is replaced", .doc) { f in
            let (ana, ben, _, before, path) = try await twoParts(f)
            let part: JSONValue = ["mime_type": "image/png", "encoding": "base64", "body": "AAEC"]
            let answer = try await ana.call(
                "PUT", path + "/parts/" + Layer.last(before["parts"][0]["id"].string ?? ""), part)
            f.succeeded(answer, 200)
            let message = try await ben.get(path)
            for (name, value) in part.object ?? [:] {
                f.equal(answer.json[name], value, name)
                f.equal(message["parts"][0][name], value, name)
            }
            f.equal(message["parts"][0]["id"], before["parts"][0]["id"])
            f.equal(message["parts"][1]["body"], "two")
            f.check(Layer.isTimestamp(message["updated_at"].string), "updated_at \(message["updated_at"])")
        },
        Rule("6.7", "PUT …/parts is 200 with the parts, which replace all", .doc) { f in
            let (ana, ben, _, _, path) = try await twoParts(f)
            let answer = try await ana.call("PUT", path + "/parts", [text("new"), text("newer"), text("newest")])
            f.succeeded(answer, 200)
            f.equal(bodies(["parts": answer.json]), ["new", "newer", "newest"])
            f.equal(bodies(try await ben.get(path)), ["new", "newer", "newest"])
        },
        Rule("6.7", "DELETE …/parts/:part is 204 and removes it", .doc) { f in
            let (ana, ben, _, before, path) = try await twoParts(f)
            f.succeeded(
                try await ana.call("DELETE", path + "/parts/" + Layer.last(before["parts"][0]["id"].string ?? "")), 204)
            f.equal(bodies(try await ben.get(path)), ["two"])
        },
        Rule("6.7", "the last part cannot be removed: 422 invalid_operation", .doc) { f in
            let ana = try await f.user("ana")
            let message = try await ana.send("x", to: try await ana.converse([]))
            let part = Layer.last(message["parts"][0]["id"].string ?? "")
            let path = Layer.path(message["id"].string ?? "")
            f.refused(try await ana.call("DELETE", "\(path)/parts/\(part)"), "invalid_operation")
            f.equal(bodies(try await ana.get(path)), ["x"])
        },
        Rule("6.7", "only the sender may change parts: others are 403 access_denied", .doc) { f in
            let (_, ben, _, _, path) = try await twoParts(f)
            f.refused(try await ben.call("POST", path + "/parts", text("x")), "access_denied")
            f.refused(try await ben.call("PUT", path + "/parts/0", text("x")), "access_denied")
            f.refused(try await ben.call("PUT", path + "/parts", [text("x")]), "access_denied")
            f.refused(try await ben.call("DELETE", path + "/parts/0"), "access_denied")
            f.equal(bodies(try await ben.get(path)), ["one", "two"])
        },
        Rule("6.7", "a sender who is a participant no more is 403 access_denied", .doc) { f in
            let (ana, _, conversation, _, path) = try await twoParts(f)
            try await ana.patch(conversation, remove(ana))
            f.refused(try await ana.call("PUT", path + "/parts/0", text("x")), "access_denied")
        },
        Rule("6.7", "parts are held to the rules of 6.2", .doc) { f in
            let (ana, _, _, _, path) = try await twoParts(f)
            let long = text(String(repeating: "x", count: 2049))
            for (method, part) in [("POST", "/parts"), ("PUT", "/parts/0")] {
                let answer = try await ana.call(method, path + part, long)
                f.refused(answer, "invalid_property")
                f.check(answer.json["data"]["property"].string?.hasSuffix("body") == true, "\(answer.json["data"])")
                let bare = try await ana.call(method, path + part, ["body": "x"])
                f.refused(bare, "missing_property")
                f.check(bare.json["data"]["property"].string?.hasSuffix("mime_type") == true, "\(bare.json["data"])")
            }
            f.check(!(try await ana.call("PUT", path + "/parts", [])).isSuccess, "no parts at all")
        },
        Rule("6.7", "a changed message is no unread one again", .doc) { f in
            let (ana, ben, conversation, message, path) = try await twoParts(f)
            try await ben.receipt("read", message["id"].string ?? "")
            try await ana.does("PUT", path + "/parts/0", text("changed"))
            f.equal(try await ben.get(path)["is_unread"], false)
            f.equal(try await ben.load(conversation)["unread_message_count"], 0)
        },
        Rule("6.7", "a changed message keeps its place and its sent_at", .doc) { f in
            let (ana, ben, conversation, message, path) = try await twoParts(f)
            try await ana.send("later", to: conversation)
            try await ana.does("PUT", path + "/parts/0", text("changed"))
            let after = try await ben.get(path)
            f.equal(after["position"], message["position"])
            f.equal(after["sent_at"], message["sent_at"])
            f.equal(try await ben.load(conversation)["last_message"]["parts"][0]["body"], "later")
        },
    ]
}
