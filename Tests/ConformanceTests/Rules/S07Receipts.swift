// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

/// Rules of section 7: receipts.
enum S07 {
    private static func message(
        _ f: Fixture
    ) async throws -> (ana: User, ben: User, conversation: String, message: String) {
        let users = try await f.users("ana", "ben")
        let conversation = try await users[0].converse(users[1])
        return (users[0], users[1], conversation, try await users[0].sendID("x", to: conversation))
    }

    private static func give(_ user: User, _ body: JSONValue?, _ message: String) async throws -> RESTResponse {
        try await user.call("POST", Layer.path(message) + "/receipts", body)
    }

    static let rules: [Rule] = single + many

    private static let single: [Rule] = [
        Rule("7", "a delivery receipt is 204, and the status goes from sent to delivered") { f in
            let (ana, ben, conversation, message) = try await message(f)
            f.succeeded(try await give(ben, ["type": "delivery"], message), 204)
            f.equal(try await ana.load(message)["recipient_status"][ben.id], "delivered")
            f.equal(try await ben.load(message)["is_unread"], true)
            f.equal(try await ben.load(conversation)["unread_message_count"], 1)
        },
        Rule(
            "7",
            "a read receipt is 204, the status is read, the message is unread no more, and the unread count one less"
        ) { f in
            let (ana, ben, conversation, message) = try await message(f)
            try await ana.send("another", to: conversation)
            f.succeeded(try await give(ben, ["type": "read"], message), 204)
            f.equal(try await ana.load(message)["recipient_status"][ben.id], "read")
            f.equal(try await ben.load(message)["is_unread"], false)
            f.equal(try await ben.load(conversation)["unread_message_count"], 1)
        },
        Rule("7", "a delivery receipt does not take back a read one") { f in
            let (ana, ben, _, message) = try await message(f)
            for type in ["read", "delivery"] { f.succeeded(try await give(ben, ["type": .string(type)], message), 204) }
            f.equal(try await ana.load(message)["recipient_status"][ben.id], "read")
        },
        Rule("7", "receipts of one message leave the others alone") { f in
            let (ana, ben, conversation, message) = try await message(f)
            let later = try await ana.sendID("later", to: conversation)
            try await ben.receipt("read", later)
            f.equal(try await ben.load(message)["is_unread"], true)
            f.equal(try await ana.load(message)["recipient_status"][ben.id], "sent")
            f.equal(try await ben.load(conversation)["unread_message_count"], 1)
        },
        Rule("7", "a receipt without effect is 204 and emits nothing") { f in
            let scene = try await Scene(f)
            let message = try await scene.sent("x")
            try await scene.ben.receipt("read", message)
            for socket in scene.all { try await socket.change("update", "Message", message) }
            for socket in [scene.other, scene.otherToo] {
                try await socket.change("update", "Conversation", scene.conversation) {
                    $0.has("set", "unread_message_count", value: 0)
                }
            }
            let seen = try await scene.seen {
                for type in ["read", "delivery", "read"] { try await scene.ben.receipt(type, message) }
                try await scene.ana.receipt("read", message)
            }
            for packets in seen { f.equal(packets.map(\.summary), []) }
        },
        Rule("7", "receipts of the sender are 204 without effect") { f in
            let (ana, _, _, message) = try await message(f)
            for type in ["delivery", "read"] { f.succeeded(try await give(ana, ["type": .string(type)], message), 204) }
            f.equal(try await ana.load(message)["recipient_status"][ana.id], "read")
        },
        Rule("7", "another type is 422 invalid_property type, none missing_property") { f in
            let (_, ben, _, message) = try await message(f)
            for value: JSONValue in ["seen", "delivered", 5] {
                f.refused(try await give(ben, ["type": value], message), "invalid_property", property: "type")
            }
            f.refused(try await give(ben, [:], message), "missing_property", property: "type")
        },
        Rule("7", "a receipt of a user who is no recipient is 404 or 403") { f in
            let (ana, ben, conversation, message) = try await message(f)
            let cleo = try await f.user("cleo")
            f.refused(try await give(cleo, ["type": "read"], message), "not_found")
            f.refused(try await give(ben, ["type": "read"], Layer.newMessage()), "not_found")
            try await ana.patch(conversation, remove(ben))
            let former = try await give(ben, ["type": "read"], message)
            f.check([403, 404].contains(former.status), "\(former.status)")
        },
        Rule("7", "receipts of many messages at once are all counted") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            var messages: [String] = []
            for number in 0..<20 { messages.append(try await users[0].sendID("\(number)", to: conversation)) }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for (index, message) in messages.enumerated() {
                    group.addTask {
                        try await give(users[1], ["type": index % 2 == 0 ? "read" : "delivery"], message).status
                    }
                }
                for try await status in group { f.equal(status, 204) }
            }
            f.equal(try await users[1].load(conversation)["unread_message_count"], 10)
            for (index, message) in messages.enumerated() {
                f.equal(
                    try await users[0].load(message)["recipient_status"][users[1].id],
                    index % 2 == 0 ? "read" : "delivered")
            }
        },
        Rule("7", "in a conversation of more than 25, recipient_status names the sender and the reader only", .doc) {
            f in
            let users = try await f.users("ana", "ben")
            let many = (0..<25).map { Layer.identity("p\($0).\(f.mark)") }
            let conversation = try await users[0].converse([users[1].id] + many)
            let message = try await users[0].sendID("x", to: conversation)
            try await users[1].receipt("read", message)
            f.equal(
                try await users[1].load(message)["recipient_status"],
                .object([users[0].id: "read", users[1].id: "read"]))
            f.equal(try await users[0].load(message)["recipient_status"][users[0].id], "read")
        },
        Rule("7", "in a conversation of more than 25, receipts are announced to the sender and the reader only", .doc) {
            f in
            let users = try await f.users("ana", "ben", "cleo")
            let sockets = [try await users[0].socket(), try await users[1].socket(), try await users[2].socket()]
            let conversation = try await users[0]
                .converse([users[1].id, users[2].id] + (0..<25).map { Layer.identity("p\($0).\(f.mark)") })
            let message = try await users[0].sendID("x", to: conversation)
            for socket in sockets { try await socket.message("x") }
            try await users[1].receipt("read", message)
            try await users[0].send("fence", to: conversation)
            for socket in sockets { try await socket.message("fence") }
            let told = sockets.map { socket in
                socket.history.contains { $0.isChange("update", of: "Message", id: message) }
            }
            f.equal(told, [true, true, false])
        },
    ]

    // MARK: Receipts of many messages, an extension by Strata

    private static func give(
        _ user: User, _ type: String, _ messages: [String], in conversation: String
    ) async throws -> RESTResponse {
        let body: JSONValue = ["type": .string(type), "ids": .array(messages.map { .string($0) })]
        return try await user.call("POST", Layer.path(conversation) + "/receipts", body)
    }

    private static let many: [Rule] = [
        Rule(
            "7",
            "receipts of many messages in one request are one change: 200 with those that are not there, each once",
            .doc
        ) { f in
            let scene = try await Scene(f)
            var messages: [String] = []
            for number in 0..<3 { messages.append(try await scene.sent("\(number)")) }
            let elsewhere = try await scene.ana.sendID("x", to: try await scene.ana.converse(scene.ben))
            let asked = [messages[0], elsewhere, messages[2], messages[0], Layer.newMessage(), messages[1], elsewhere]
            let start = scene.acting.receivedCount
            let answer = try await give(scene.ben, "read", asked, in: scene.conversation)
            f.succeeded(answer, 200)
            f.equal(answer.json, ["ignored": [.string(elsewhere), .string(asked[4])]])
            f.equal(try await scene.ben.load(scene.conversation)["unread_message_count"], 0)
            for message in messages {
                f.equal(try await scene.ana.load(message)["recipient_status"][scene.ben.id], "read")
            }
            f.equal(try await scene.ana.load(elsewhere)["recipient_status"][scene.ben.id], "sent")
            for message in messages { try await scene.acting.change("update", "Message", message) }
            let told = scene.acting.packets(from: start).filter { messages.contains($0.objectID ?? "") }
            f.equal(told.compactMap(\.objectID), messages)
            f.equal(Set(told.map { $0.body["position"].int ?? 0 }).count, 1)
            try await scene.other.change("update", "Conversation", scene.conversation) {
                $0.has("set", "unread_message_count", value: 0)
            }
        },
        Rule("7", "receipts of many messages without effect are 200 and emit nothing", .doc) { f in
            let scene = try await Scene(f)
            let message = try await scene.sent("x")
            _ = try await give(scene.ben, "read", [message], in: scene.conversation)
            for socket in scene.all { try await socket.change("update", "Message", message) }
            for socket in [scene.other, scene.otherToo] {
                try await socket.change("update", "Conversation", scene.conversation) {
                    $0.has("set", "unread_message_count", value: 0)
                }
            }
            let seen = try await scene.seen {
                for type in ["read", "delivery"] {
                    let answer = try await give(scene.ben, type, [message], in: scene.conversation)
                    f.succeeded(answer, 200)
                    f.equal(answer.json, ["ignored": []])
                }
                f.succeeded(try await give(scene.ana, "read", [message], in: scene.conversation), 200)
            }
            for packets in seen { f.equal(packets.map(\.summary), []) }
        },
        Rule("7", "receipts of many messages: 1 to 1,000 ids, each of a message, and a type", .doc) { f in
            let (_, ben, conversation, message) = try await message(f)
            let path = Layer.path(conversation) + "/receipts"
            f.refused(
                try await ben.call("POST", path, ["ids": [.string(message)]]), "missing_property", property: "type")
            f.refused(
                try await ben.call("POST", path, ["type": "seen", "ids": [.string(message)]]), "invalid_property",
                property: "type")
            f.refused(try await ben.call("POST", path, ["type": "read"]), "missing_property", property: "ids")
            for ids: JSONValue in [[], .string(message), .array((0...1000).map { _ in .string(Layer.newMessage()) })] {
                f.refused(
                    try await ben.call("POST", path, ["type": "read", "ids": ids]), "invalid_property", property: "ids")
            }
            for id: JSONValue in ["x", .string(conversation), 5] {
                f.refused(
                    try await ben.call("POST", path, ["type": "read", "ids": [.string(message), id]]),
                    "invalid_property", property: "ids.1")
            }
            f.equal(try await ben.load(conversation)["unread_message_count"], 1)
        },
        Rule("7", "receipts of many messages by a stranger are 404, by a former participant 403", .doc) { f in
            let (ana, ben, conversation, message) = try await message(f)
            f.refused(try await give(try await f.user("cleo"), "read", [message], in: conversation), "not_found")
            f.refused(try await give(ben, "read", [message], in: "layer:///conversations/\(Layer.uuid())"), "not_found")
            try await ana.patch(conversation, remove(ben))
            f.refused(try await give(ben, "read", [message], in: conversation), "access_denied")
        },
    ]
}
