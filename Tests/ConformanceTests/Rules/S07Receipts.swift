// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

/// 7 Receipts.
enum S07 {
    /// Ana's message to Ben.
    private static func message(_ f: Fixture) async throws -> (ana: User, ben: User, conversation: String, message: String) {
        let users = try await f.users("ana", "ben")
        let conversation = try await users[0].converse(users[1])
        return (users[0], users[1], conversation, try await users[0].sendID("x", to: conversation))
    }

    private static func give(_ user: User, _ body: JSONValue?, _ message: String) async throws -> RESTAnswer {
        try await user.call("POST", Layer.path(message) + "/receipts", body)
    }

    static let rules: [Rule] = [
        Rule("7", "a delivery receipt is 204, and the status goes from sent to delivered") { f in
            let (ana, ben, conversation, message) = try await message(f)
            f.succeeded(try await give(ben, ["type": "delivery"], message), 204)
            f.equal(try await ana.load(message)["recipient_status"][ben.id], "delivered")
            f.equal(try await ben.load(message)["is_unread"], true)
            f.equal(try await ben.load(conversation)["unread_message_count"], 1)
        },
        Rule("7", "a read receipt is 204, the status is read, the message is unread no more, and the unread count one less") { f in
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
                try await socket.change("update", "Conversation", scene.conversation) { $0.has("set", "unread_message_count", value: 0) }
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
        Rule("7", "who is no recipient is 404 or 403") { f in
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
                    group.addTask { try await give(users[1], ["type": index % 2 == 0 ? "read" : "delivery"], message).status }
                }
                for try await status in group { f.equal(status, 204) }
            }
            f.equal(try await users[1].load(conversation)["unread_message_count"], 10)
            for (index, message) in messages.enumerated() {
                f.equal(try await users[0].load(message)["recipient_status"][users[1].id], index % 2 == 0 ? "read" : "delivered")
            }
        },
        Rule("7", "in a conversation of more than 25, recipient_status names the sender and the reader only", .doc) { f in
            let users = try await f.users("ana", "ben")
            let many = (0..<25).map { Layer.identity("p\($0).\(f.mark)") }
            let conversation = try await users[0].converse([users[1].id] + many)
            let message = try await users[0].sendID("x", to: conversation)
            try await users[1].receipt("read", message)
            f.equal(try await users[1].load(message)["recipient_status"], .object([users[0].id: "read", users[1].id: "read"]))
            f.equal(try await users[0].load(message)["recipient_status"][users[0].id], "read")
        },
        Rule("7", "in a conversation of more than 25, receipts are announced to the sender and the reader only", .doc) { f in
            let users = try await f.users("ana", "ben", "cleo")
            let sockets = [try await users[0].socket(), try await users[1].socket(), try await users[2].socket()]
            let conversation = try await users[0].converse([users[1].id, users[2].id] + (0..<25).map { Layer.identity("p\($0).\(f.mark)") })
            let message = try await users[0].sendID("x", to: conversation)
            for socket in sockets { try await socket.message("x") }
            try await users[1].receipt("read", message)
            try await users[0].send("fence", to: conversation)
            for socket in sockets { try await socket.message("fence") }
            let told = sockets.map { socket in socket.history.contains { $0.isChange("update", "Message", id: message) } }
            f.equal(told, [true, true, false])
        },
    ]
}
