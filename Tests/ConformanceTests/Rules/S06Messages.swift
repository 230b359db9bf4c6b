// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// 6 Messages and message parts.
enum S06 {
    static let rules: [Rule] = object + parts + listing + getting + sending + refusals + notifications + deleting + editing

    // MARK: 6.1

    private static let object: [Rule] = [
        Rule("6.1", "a message has all its members") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            let sent = try await users[0].send("hello", to: conversation)
            let message = try await users[1].load(sent["id"].string ?? "")
            let path = Layer.path(message["id"].string ?? "")
            f.check(path.wholeMatch(of: /\/messages\/[0-9a-f-]{36}/) != nil, path)
            f.equal(message["url"].string, f.system.publicURL + path)
            f.equal(message["receipts_url"].string, f.system.publicURL + path + "/receipts")
            f.equal(message["conversation"], ["id": .string(conversation), "url": .string(f.system.publicURL + Layer.path(conversation))])
            f.check((message["position"].int ?? -1) > 0, "position \(message["position"])")
            f.check(Layer.isTimestamp(message["sent_at"].string), "sent_at \(message["sent_at"])")
            f.check(message["updated_at"].isNull, "updated_at \(message["updated_at"])")
            f.equal(message["sender"]["id"].string, users[0].id)
            f.equal(message["is_unread"], true)
            f.equal(message["recipient_status"], .object([users[0].id: "read", users[1].id: "sent"]))
            f.equal(message["parts"].array?.count, 1)
        },
        Rule("6.1", "positions are below 2^53 and grow by 8192 and more from message to message") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            var last = 0
            for number in 0..<5 {
                let position = try await ana.send("\(number)", to: conversation)["position"].int ?? -1
                f.check(position >= last + 8192 && position < 1 << 53, "\(position) after \(last)")
                last = position
            }
        },
        Rule("6.1", "messages are unread for others until they have read them, never for their sender") { f in
            let users = try await f.users("ana", "ben")
            let message = try await users[0].sendID("x", to: try await users[0].converse(users[1]))
            f.equal(try await users[0].load(message)["is_unread"], false)
            f.equal(try await users[1].load(message)["is_unread"], true)
            try await users[1].receipt("read", message)
            f.equal(try await users[1].load(message)["is_unread"], false)
        },
        Rule("6.1", "recipient_status has the participants at the time of sending, the sender as read") { f in
            let users = try await f.users("ana", "ben", "cleo")
            let conversation = try await users[0].converse(users[1])
            let message = try await users[0].sendID("x", to: conversation)
            try await users[0].patch(conversation, add(users[2]))
            try await users[0].patch(conversation, remove(users[1]))
            let status = try await users[0].load(message)["recipient_status"]
            f.equal(status[users[0].id], "read")
            f.equal(status[users[1].id], "sent")
            f.check([nil, "read"].contains(status[users[2].id].string), "added later: \(status[users[2].id])")
        },
        Rule("6.1", "every participant sees the status of all") { f in
            let users = try await f.users("ana", "ben", "cleo")
            let conversation = try await users[0].converse(users[1], users[2])
            let message = try await users[0].sendID("x", to: conversation)
            try await users[1].receipt("delivery", message)
            try await users[2].receipt("read", message)
            for user in users {
                f.equal(
                    try await user.load(message)["recipient_status"],
                    .object([users[0].id: "read", users[1].id: "delivered", users[2].id: "read"]))
            }
        },
    ]

    // MARK: 6.2

    /// Sends a message with these parts.
    private static func send(_ user: User, _ conversation: String, parts: JSONValue, id: String? = nil) async throws -> RESTAnswer {
        var body: JSONValue = ["parts": parts]
        if let id { body["id"] = .string(id) }
        return try await user.call("POST", Layer.path(conversation) + "/messages", body)
    }

    private static func text(_ body: String) -> JSONValue { ["mime_type": "text/plain", "body": .string(body)] }

    /// A rule about parts that are accepted and come back as they were sent.
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

    private static let parts: [Rule] = [
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
            "a MIME type with parameters", ["mime_type": "application/vnd.layer.text+json; role=root;parent-node-id=a-B_9 ; x=\"y\"", "body": "{}"]),
        echoes("a MIME type of any kind", ["mime_type": "Not/Registered+At.ALL", "body": "x"]),
        echoes("a text with every kind of character", ["mime_type": "text/plain", "body": "a\u{1}\n\t\"\\/é日本🎉\u{2028}"]),
        echoes("an empty text", ["mime_type": "text/plain", "body": ""]),
        echoes("a base64 body with its encoding", ["mime_type": "image/png", "body": "iVBORw0KGgo=", "encoding": "base64"]),
        echoes("a text of 2048 UTF-16 units", ["mime_type": "text/plain", "body": .string(String(repeating: "日", count: 2048))]),
        echoes("a text of 1024 characters of two UTF-16 units", ["mime_type": "text/plain", "body": .string(String(repeating: "🎉", count: 1024))]),
        echoes(
            "a base64 body of 2048 bytes",
            ["mime_type": "image/png", "encoding": "base64", "body": .string(Data(repeating: 7, count: 2048).base64EncodedString())]),
        refusesPart("a text of 2049 units", "invalid_property", "parts.0.body", [text(String(repeating: "x", count: 2049))]),
        refusesPart(
            "a base64 body of 2049 bytes", "invalid_property", "parts.1.body",
            [text("a"), ["mime_type": "a/b", "encoding": "base64", "body": .string(Data(repeating: 7, count: 2049).base64EncodedString())]]),
        refusesPart("a base64 body that is none", "invalid_property", "parts.0.body", [["mime_type": "a/b", "encoding": "base64", "body": "%%%"]]),
        refusesPart(
            "an encoding that is not base64", "invalid_property", "parts.0.encoding", [["mime_type": "a/b", "encoding": "rot13", "body": "x"]]),
        refusesPart("a part without a MIME type", "missing_property", "parts.0.mime_type", [["body": "x"]]),
        refusesPart("a MIME type that is no string", "invalid_property", "parts.0.mime_type", [["mime_type": 5, "body": "x"]]),
        refusesPart("a body that is no string", "invalid_property", "parts.0.body", [["mime_type": "text/plain", "body": ["x"]]]),
        refusesPart(
            "more than 1000 parts", "invalid_property", "parts", .array(Array(repeating: ["mime_type": "a/b", "body": "x"], count: 1001))),
        Rule("6.2", "1000 parts are allowed") { f in
            let ana = try await f.user("ana")
            let answer = try await send(
                ana, try await ana.converse([]), parts: .array(Array(repeating: ["mime_type": "a/b", "body": "x"], count: 1000)))
            f.succeeded(answer, 201)
            f.equal(answer.json["parts"].array?.count, 1000)
        },
        Rule("6.2", "inline parts of more than 256 KB together are 422 parts") { f in
            let ana = try await f.user("ana")
            let parts = Array(repeating: text(String(repeating: "x", count: 2048)), count: 129)
            f.refused(try await send(ana, try await ana.converse([]), parts: .array(parts)), "invalid_property", property: "parts")
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

    // MARK: 6.3, 6.4

    private static let listing: [Rule] = [
        Rule("6.3", "messages are listed newest first, as single requests show them") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            for number in 0..<3 { try await users[number % 2].send("\(number)", to: conversation) }
            let list = try await users[1].does("GET", Layer.path(conversation) + "/messages")
            f.equal((list.json.array ?? []).compactMap { $0["parts"][0]["body"].string }, ["2", "1", "0"])
            f.equal(list.header("Layer-Count"), "3")
            for message in list.json.array ?? [] { f.equal(message, try await users[1].load(message["id"].string ?? "")) }
        },
        Rule("6.3", "only messages visible to the caller are listed and counted") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            let first = try await users[0].sendID("1", to: conversation)
            try await users[0].send("2", to: conversation)
            try await users[1].does("DELETE", Layer.path(first) + "?mode=my_devices")
            let bens = try await users[1].does("GET", Layer.path(conversation) + "/messages")
            f.equal([bens.json.ids.count, Int(bens.header("Layer-Count") ?? "")], [1, 1])
            f.equal(try await users[0].get(Layer.path(conversation) + "/messages").ids.count, 2)
        },
        Rule("6.3", "messages of a conversation that is not there are 404 not_found") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse([])
            f.refused(try await users[1].call("GET", Layer.path(conversation) + "/messages"), "not_found")
            f.refused(try await users[1].call("GET", "/conversations/\(Layer.uuid())/messages"), "not_found")
        },
        Rule("6.3", "Layer-Conversation-Is-Syncing is never sent") { f in
            let ana = try await f.user("ana")
            let answer = try await ana.call("GET", Layer.path(try await ana.converse([])) + "/messages")
            f.check(answer.header("Layer-Conversation-Is-Syncing") == nil, "sent")
        },
    ]

    private static let getting: [Rule] = [
        Rule("6.4", "GET /messages/:uuid is 200 with the message") { f in
            let ana = try await f.user("ana")
            let message = try await ana.send("x", to: try await ana.converse([]))
            let answer = try await ana.call("GET", Layer.path(message["id"].string ?? ""))
            f.succeeded(answer, 200)
            f.equal(answer.json, message)
        },
        Rule("6.4", "a message that does not exist, or is not the caller's to see, is 404 not_found") { f in
            let users = try await f.users("ana", "ben")
            let message = try await users[0].sendID("x", to: try await users[0].converse([]))
            for path in [Layer.path(message), "/messages/\(Layer.uuid())", "/messages/nothing"] {
                f.refused(try await users[1].call("GET", path), "not_found")
            }
        },
    ]

    // MARK: 6.5

    private static let sending: [Rule] = [
        Rule("6.5", "POST …/messages is 201 with the message", .doc) { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let answer = try await ana.call("POST", Layer.path(conversation) + "/messages", User.message("x"))
            f.succeeded(answer, 201)
            f.equal(answer.json, try await ana.load(answer.json["id"].string ?? ""))
        },
        Rule("6.5", "Message.create succeeds with the message") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let data = try await ana.socket().does("Message.create", conversation, User.message("x"))
            f.equal(data, try await ana.load(data["id"].string ?? ""))
        },
        Rule("6.5", "Message.create takes the conversation's bare UUID too") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let data = try await ana.socket().does("Message.create", Layer.last(conversation), User.message("x"))
            f.equal(data["conversation"]["id"].string, conversation)
        },
        Rule("6.5", "a message with an id in use answers 409 with the message") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            let id = Layer.newMessage()
            let path = Layer.path(conversation) + "/messages"
            f.succeeded(try await users[0].call("POST", path, User.message("x", id: id)), 201)
            let again = try await users[0].call("POST", path, User.message("x", id: id))
            f.refused(again, "id_in_use")
            f.equal(again.json["data"], try await users[0].load(id))
            f.equal(try await users[0].load(conversation)["total_message_count"], 1)
        },
        Rule("6.5", "creates of the same id at the same time make one message") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let id = Layer.newMessage()
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for gateway in 0..<6 {
                    group.addTask {
                        let client = f.system.client(gateway, f.version)
                        let path = Layer.path(conversation) + "/messages"
                        return try await client.call("POST", path, body: User.message("x", id: id), token: ana.session).status
                    }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            f.equal(statuses.sorted(), [201, 409, 409, 409, 409, 409])
            f.equal(try await ana.load(conversation)["total_message_count"], 1)
        },
        Rule("6.5", "a sent message ends its sender's typing", .doc) { f in
            let scene = try await Scene(f)
            try await scene.startTyping()
            try await scene.ana.send("x", to: scene.conversation)
            try await scene.other.typingSeen("finished", in: scene.conversation)
            f.check(!scene.other.history.contains { $0.isTyping("paused") }, "paused")
        },
    ]

    /// A message that must be refused over REST and over a socket alike.
    private static func refuses(_ what: String, _ error: String, _ property: String?, _ body: JSONValue) -> Rule {
        Rule("6.5", "a message \(what) is \(Fixture.errors[error]?.status ?? 0) \(error) \(property ?? "")") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            f.refused(try await ana.call("POST", Layer.path(conversation) + "/messages", body), error, property: property)
            f.refused(try await ana.socket().ask("Message.create", conversation, body), error, property: property)
            f.equal(try await ana.load(conversation)["total_message_count"], 0)
        }
    }

    private static let refusals: [Rule] = [
        refuses("without parts", "missing_property", "parts", [:]),
        Rule("6.5", "a message with an empty list of parts is 422 parts") { f in
            let ana = try await f.user("ana")
            let answer = try await send(ana, try await ana.converse([]), parts: [])
            f.refused(answer, answer.errorID == "missing_property" ? "missing_property" : "invalid_property", property: "parts")
        },
        refuses("whose parts are no list", "invalid_property", "parts", ["parts": "x"]),
        refuses("with a part that is no object", "invalid_property", "parts.0", ["parts": ["x"]]),
        refuses("with an id that is none", "invalid_property", "id", User.message("x", id: "nothing")),
        refuses("with the id of a conversation", "invalid_property", "id", User.message("x", id: Layer.newConversation())),
        Rule("6.5", "a conversation that is not there is 404 not_found") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse([])
            let socket = try await users[1].socket()
            for id in [conversation, Layer.newConversation()] {
                f.refused(try await users[1].call("POST", Layer.path(id) + "/messages", User.message("x")), "not_found")
                f.refused(try await socket.ask("Message.create", id, User.message("x")), "not_found")
            }
        },
        Rule("6.5", "Message.create without a conversation, or with the id of something else, is refused") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            for id in [nil, "nothing", Layer.newMessage()] {
                let answer = try await socket.ask("Message.create", id, User.message("x"))
                f.check(!answer.isSuccess && answer.data["code"].int != nil, "\(id ?? "none"): \(answer.packet.body)")
            }
        },
        Rule("6.5", "a former participant is 403 access_denied") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            try await users[0].patch(conversation, remove(users[1]))
            f.refused(try await users[1].call("POST", Layer.path(conversation) + "/messages", User.message("x")), "access_denied")
            f.refused(try await users[1].socket().ask("Message.create", conversation, User.message("x")), "access_denied")
        },
        Rule("6.5", "a part id outside its message, or used twice, is 422 parts.N.id", versions: [.v3]) { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let (id, other) = (Layer.newMessage(), Layer.newMessage())
            let part = { (partID: String) -> JSONValue in ["mime_type": "a/b", "body": "x", "id": .string(partID)] }
            f.refused(
                try await send(ana, conversation, parts: [part("\(other)/parts/\(Layer.uuid())")], id: id), "invalid_property",
                property: "parts.0.id")
            let twice = part("\(id)/parts/\(Layer.uuid())")
            f.refused(try await send(ana, conversation, parts: [twice, twice], id: id), "invalid_property", property: "parts.1.id")
            f.refused(try await send(ana, conversation, parts: [part("nothing")], id: id), "invalid_property", property: "parts.0.id")
        },
    ]

    private static let notifications: [Rule] = [
        Rule("6.5", "the notification is in the create packets of recipients as it was sent, further keys too") { f in
            let scene = try await Scene(f)
            let notification: JSONValue = [
                "title": "New", "text": "hi", "sound": "ping.aiff", "category": ["x": [1, true]],
                "recipients": .object([scene.ben.id: ["text": "hi Ben"]]),
            ]
            var body = User.message("x")
            body["notification"] = notification
            try await scene.acting.does("Message.create", scene.conversation, body)
            let shown = try await scene.other.message("x").data["notification"]
            f.equal(shown["title"], "New")
            f.equal(shown["sound"], "ping.aiff")
            f.equal(shown["category"], ["x": [1, true]])
            f.check(["hi", "hi Ben"].contains(shown["text"].string), "\(shown["text"])")
        },
        Rule("6.5", "a notification never causes an error") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            for notification: JSONValue in ["text", 5, [], nil, ["text": 5, "recipients": "x"], ["recipients": ["nobody": 7]]] {
                var body = User.message("x")
                body["notification"] = notification
                f.succeeded(try await ana.call("POST", Layer.path(conversation) + "/messages", body), 201)
            }
        },
    ]

    // MARK: 6.6

    private static let deleting: [Rule] = [
        Rule("6.6", "all_participants is 204 and gone for all participants") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            let message = try await users[0].sendID("x", to: conversation)
            f.succeeded(try await users[0].call("DELETE", Layer.path(message) + "?mode=all_participants"), 204)
            for user in users {
                f.refused(try await user.call("GET", Layer.path(message)), "not_found")
                f.equal(try await user.get(Layer.path(conversation) + "/messages"), [])
            }
        },
        Rule("6.6", "any current participant may delete for all") { f in
            let users = try await f.users("ana", "ben")
            let message = try await users[0].sendID("x", to: try await users[0].converse(users[1]))
            f.succeeded(try await users[1].call("DELETE", Layer.path(message) + "?mode=all_participants"), 204)
        },
        Rule("6.6", "my_devices is 204 and gone for the caller alone") { f in
            let users = try await f.users("ana", "ben")
            let message = try await users[0].sendID("x", to: try await users[0].converse(users[1]))
            f.succeeded(try await users[1].call("DELETE", Layer.path(message) + "?mode=my_devices"), 204)
            f.refused(try await users[1].call("GET", Layer.path(message)), "not_found")
            f.succeeded(try await users[0].call("GET", Layer.path(message)), 200)
        },
        Rule("6.6", "deleting an unread message lowers the unread counts, and the total") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            var messages: [String] = []
            for number in 0..<3 { messages.append(try await users[0].sendID("\(number)", to: conversation)) }
            try await users[0].does("DELETE", Layer.path(messages[0]) + "?mode=all_participants")
            try await users[1].does("DELETE", Layer.path(messages[1]) + "?mode=my_devices")
            let object = try await users[1].load(conversation)
            f.equal([object["unread_message_count"].int, object["total_message_count"].int], [1, 1])
            f.equal(try await users[0].load(conversation)["total_message_count"], 2)
        },
        Rule("6.6", "when the last message goes, the one before it is last_message, and null when none is left") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            let (first, second) = (try await users[0].sendID("1", to: conversation), try await users[0].sendID("2", to: conversation))
            try await users[0].does("DELETE", Layer.path(second) + "?mode=all_participants")
            f.equal(try await users[1].load(conversation)["last_message"]["id"].string, first)
            try await users[1].does("DELETE", Layer.path(first) + "?mode=my_devices")
            f.equal(try await users[1].load(conversation)["last_message"], .null)
            f.equal(try await users[0].load(conversation)["last_message"]["id"].string, first)
        },
        Rule("6.6", "a message that is not there, or was deleted already, is 404 not_found") { f in
            let users = try await f.users("ana", "ben")
            let message = try await users[0].sendID("x", to: try await users[0].converse([]))
            for mode in ["all_participants", "my_devices"] {
                f.refused(try await users[1].call("DELETE", Layer.path(message) + "?mode=\(mode)"), "not_found")
                f.refused(try await users[0].call("DELETE", "/messages/\(Layer.uuid())?mode=\(mode)"), "not_found")
            }
            try await users[0].does("DELETE", Layer.path(message) + "?mode=all_participants")
            f.refused(try await users[0].call("DELETE", Layer.path(message) + "?mode=all_participants"), "not_found")
        },
        Rule("6.6", "a former participant is 403 access_denied for all_participants") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            let message = try await users[1].sendID("x", to: conversation)
            try await users[0].patch(conversation, remove(users[1]))
            f.refused(try await users[1].call("DELETE", Layer.path(message) + "?mode=all_participants"), "access_denied")
            f.succeeded(try await users[0].call("GET", Layer.path(message)), 200)
        },
        Rule("6.6", "without a mode it is 422 missing_property mode, with a strange one invalid_property") { f in
            let ana = try await f.user("ana")
            let message = try await ana.sendID("x", to: try await ana.converse([]))
            f.refused(try await ana.call("DELETE", Layer.path(message)), "missing_property", property: "mode")
            f.refused(try await ana.call("DELETE", Layer.path(message) + "?mode=x"), "invalid_property", property: "mode")
        },
    ]

    // MARK: 6.7

    /// Ana's message of two parts in a conversation with Ben.
    private static func twoParts(_ f: Fixture) async throws -> (ana: User, ben: User, conversation: String, message: JSONValue, path: String) {
        let users = try await f.users("ana", "ben")
        let conversation = try await users[0].converse(users[1])
        let message = try await send(users[0], conversation, parts: [text("one"), text("two")]).json
        return (users[0], users[1], conversation, message, Layer.path(message["id"].string ?? ""))
    }

    private static func bodies(_ message: JSONValue) -> [String] { (message["parts"].array ?? []).compactMap { $0["body"].string } }

    private static let editing: [Rule] = [
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
            for name in ["2", Layer.uuid(), "x"] { f.refused(try await ana.call("GET", "\(path)/parts/\(name)"), "not_found") }
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
            let answer = try await ana.call("PUT", path + "/parts/" + Layer.last(before["parts"][0]["id"].string ?? ""), part)
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
            f.succeeded(try await ana.call("DELETE", path + "/parts/" + Layer.last(before["parts"][0]["id"].string ?? "")), 204)
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
