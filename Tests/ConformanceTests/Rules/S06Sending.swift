// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of section 6.5: sending.
extension S06 {
    // MARK: 6.5

    static let sending: [Rule] = [
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
                        return try await client.call("POST", path, body: User.message("x", id: id), token: ana.session)
                            .status
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

    /// A rule on a message that must be refused alike over REST and over a socket.
    private static func refuses(_ what: String, _ error: String, _ property: String?, _ body: JSONValue) -> Rule {
        Rule("6.5", "a message \(what) is \(Fixture.errors[error]?.status ?? 0) \(error) \(property ?? "")") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            f.refused(
                try await ana.call("POST", Layer.path(conversation) + "/messages", body), error, property: property)
            f.refused(try await ana.socket().ask("Message.create", conversation, body), error, property: property)
            f.equal(try await ana.load(conversation)["total_message_count"], 0)
        }
    }

    static let refusals: [Rule] = [
        refuses("without parts", "missing_property", "parts", [:]),
        Rule("6.5", "a message with an empty list of parts is 422 parts") { f in
            let ana = try await f.user("ana")
            let answer = try await send(ana, try await ana.converse([]), parts: [])
            f.refused(
                answer, answer.errorID == "missing_property" ? "missing_property" : "invalid_property",
                property: "parts")
        },
        refuses("whose parts are no list", "invalid_property", "parts", ["parts": "x"]),
        refuses("with a part that is no object", "invalid_property", "parts.0", ["parts": ["x"]]),
        refuses("with an id that is none", "invalid_property", "id", User.message("x", id: "nothing")),
        refuses(
            "with the id of a conversation", "invalid_property", "id", User.message("x", id: Layer.newConversation())),
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
            f.refused(
                try await users[1].call("POST", Layer.path(conversation) + "/messages", User.message("x")),
                "access_denied")
            f.refused(
                try await users[1].socket().ask("Message.create", conversation, User.message("x")), "access_denied")
        },
        Rule("6.5", "a part id outside its message, or used twice, is 422 parts.N.id", versions: [.v3]) { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let (id, other) = (Layer.newMessage(), Layer.newMessage())
            let part = { (partID: String) -> JSONValue in ["mime_type": "a/b", "body": "x", "id": .string(partID)] }
            f.refused(
                try await send(ana, conversation, parts: [part("\(other)/parts/\(Layer.uuid())")], id: id),
                "invalid_property",
                property: "parts.0.id")
            let twice = part("\(id)/parts/\(Layer.uuid())")
            f.refused(
                try await send(ana, conversation, parts: [twice, twice], id: id), "invalid_property",
                property: "parts.1.id")
            f.refused(
                try await send(ana, conversation, parts: [part("nothing")], id: id), "invalid_property",
                property: "parts.0.id")
        },
    ]

    static let notifications: [Rule] = [
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
            for notification: JSONValue in [
                "text", 5, [], nil, ["text": 5, "recipients": "x"], ["recipients": ["nobody": 7]],
            ] {
                var body = User.message("x")
                body["notification"] = notification
                f.succeeded(try await ana.call("POST", Layer.path(conversation) + "/messages", body), 201)
            }
        },
    ]
}
