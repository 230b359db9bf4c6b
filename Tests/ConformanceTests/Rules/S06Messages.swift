// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of section 6: messages and message parts.
enum S06 {
    static let rules: [Rule] =
        object + parts + listing + getting + sending + refusals + notifications + deleting + editing

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
            f.equal(
                message["conversation"],
                ["id": .string(conversation), "url": .string(f.system.publicURL + Layer.path(conversation))])
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

    static func send(
        _ user: User, _ conversation: String, parts: JSONValue, id: String? = nil
    ) async throws -> RESTResponse {
        var body: JSONValue = ["parts": parts]
        if let id { body["id"] = .string(id) }
        return try await user.call("POST", Layer.path(conversation) + "/messages", body)
    }

    // MARK: 6.3, 6.4

    private static let listing: [Rule] = [
        Rule("6.3", "messages are listed newest first, as single requests show them") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            for number in 0..<3 { try await users[number % 2].send("\(number)", to: conversation) }
            let list = try await users[1].does("GET", Layer.path(conversation) + "/messages")
            f.equal((list.json.array ?? []).compactMap { $0["parts"][0]["body"].string }, ["2", "1", "0"])
            f.equal(list.header("Layer-Count"), "3")
            for message in list.json.array ?? [] {
                f.equal(message, try await users[1].load(message["id"].string ?? ""))
            }
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
            let (first, second) = (
                try await users[0].sendID("1", to: conversation), try await users[0].sendID("2", to: conversation)
            )
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
            f.refused(
                try await users[1].call("DELETE", Layer.path(message) + "?mode=all_participants"), "access_denied")
            f.succeeded(try await users[0].call("GET", Layer.path(message)), 200)
        },
        Rule("6.6", "without a mode it is 422 missing_property mode, with a strange one invalid_property") { f in
            let ana = try await f.user("ana")
            let message = try await ana.sendID("x", to: try await ana.converse([]))
            f.refused(try await ana.call("DELETE", Layer.path(message)), "missing_property", property: "mode")
            f.refused(
                try await ana.call("DELETE", Layer.path(message) + "?mode=x"), "invalid_property", property: "mode")
        },
    ]
}
