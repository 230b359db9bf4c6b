// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of sections 12.4 to 12.6: change packets, operation packets, typing.
enum S12Changes {
    static let rules: [Rule] =
        creations + conversations + messages + parts + deletions + positions + operations + typing

    // MARK: 12.4

    private static let creations: [Rule] = [
        Rule("12.4", "a change names its operation, its object with type, id and url, and its data") { f in
            let scene = try await Scene(f)
            let id = try await scene.sent("x")
            for packet in scene.other.history where packet.type == "change" {
                let object = packet.body["object"]
                f.check(["create", "update", "delete"].contains(packet.operation), "\(packet.operation ?? "none")")
                f.equal(object["url"].string, f.system.publicURL + Layer.path(object["id"].string ?? ""))
                f.check(packet.body.object?["data"] != nil, "no data")
            }
            f.check(scene.other.history.contains { $0.isChange("create", of: "Message", id: id) }, "no Message")
        },
        Rule("12.4", "Conversation create has the conversation as its reader sees it") { f in
            let scene = try await Scene(f, metadata: ["a": "1"])
            for (socket, user) in [(scene.acting, scene.ana), (scene.other, scene.ben)] {
                let packet = socket.history.first { $0.isChange("create", of: "Conversation", id: scene.conversation) }
                f.equal(packet?.data, try await user.load(scene.conversation))
            }
        },
        Rule("12.4", "Message create has the message as its reader sees it") { f in
            let scene = try await Scene(f)
            let id = try await scene.sent("x")
            for (socket, user) in [(scene.acting, scene.ana), (scene.other, scene.ben)] {
                let packet = socket.history.first { $0.isChange("create", of: "Message", id: id) }
                f.equal(packet?.data, try await user.load(id))
            }
            f.equal(scene.own.history.first { $0.isChange("create", of: "Message", id: id) }?.data["is_unread"], false)
            f.equal(scene.other.history.first { $0.isChange("create", of: "Message", id: id) }?.data["is_unread"], true)
        },
        Rule("12.4", "creations are sent to the sockets of the user who caused them too, over REST and over the socket")
        { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let created = try await socket.does("Conversation.create", nil, User.conversation([]))["id"].string ?? ""
            try await socket.change("create", "Conversation", created)
            let sent = try await socket.does("Message.create", created, User.message("x"))["id"].string
            try await socket.change("create", "Message", sent)
        },
    ]

    /// A rule on the packets that a patch causes on other users' sockets.
    private static func update(
        _ text: String, metadata: JSONValue? = nil, _ operations: JSONValue, summary: String, data: JSONValue? = nil
    ) -> Rule {
        Rule("12.4", text) { f in
            let scene = try await Scene(f, metadata: metadata)
            let seen = try await scene.seen {
                try await scene.ana.does("PATCH", Layer.path(scene.conversation), operations)
            }
            for packets in seen {
                f.equal(packets.map(\.summary), summary.isEmpty ? [] : [summary])
                if let data { f.equal(packets.first?.data, data) }
            }
        }
    }

    private static let conversations: [Rule] = [
        update(
            "a metadata key that is set is announced as it was set", [set("metadata.a.b", "1")],
            summary: "C update set metadata.a.b",
            data: [["operation": "set", "property": "metadata.a.b", "value": "1"]]),
        update(
            "a metadata key that is deleted is announced as a deletion", metadata: ["a": "1", "b": "2"],
            [delete("metadata.a")],
            summary: "C update delete metadata.a", data: [["operation": "delete", "property": "metadata.a"]]),
        update(
            "several operations on one object share one packet", metadata: ["a": "1"],
            [set("metadata.b", "2"), delete("metadata.a")],
            summary: "C update delete metadata.a, set metadata.b"),
        update(
            "what changes nothing is not announced", metadata: ["a": "1"],
            [set("metadata.a", "1"), delete("metadata.x")], summary: ""),
        update("an empty patch is not announced", [], summary: ""),
        Rule("12.4", "replaced metadata, applied as announced, is what a reader loads") { f in
            let scene = try await Scene(f, metadata: ["a": "1", "b": ["c": "2"]])
            let seen = try await scene.seen {
                try await scene.ana.patch(scene.conversation, set("metadata", ["b": ["d": "3"]]))
            }
            for packets in seen {
                f.equal(packets.count, 1)
                f.check(
                    (packets.first?.data.array ?? [])
                        .allSatisfy { $0["property"].string?.hasPrefix("metadata") == true }, "\(packets)")
            }
        },
        Rule("12.4", "add participants has the id, and the basic identity as value; remove participants the id") { f in
            let scene = try await Scene(f)
            let cleo = try await f.user("cleo")
            let seen = try await scene.seen { try await scene.ana.patch(scene.conversation, add(cleo)) }
            for packets in seen {
                let operation = packets.first?.data.operation("participants")
                f.equal(operation?["operation"], "add")
                f.equal(operation?["id"].string, cleo.id)
                f.equal(operation?["value"]["user_id"].string, cleo.userID)
                f.equal(operation?["value"]["display_name"], "Cleo")
                f.check(operation?["value"].object?["metadata"] == nil, "a full identity")
            }
            let later = try await scene.seen { try await scene.ana.patch(scene.conversation, remove(cleo)) }
            for packets in later {
                f.check(packets.first?.data.has("remove", "participants", id: cleo.id) == true, "\(packets)")
            }
        },
        Rule("12.4", "set distinct comes with the change of participants that caused it, and not again") { f in
            let scene = try await Scene(f, distinct: true)
            let cleo = try await f.user("cleo")
            let first = try await scene.seen { try await scene.ana.patch(scene.conversation, add(cleo)) }
            for packets in first { f.equal(packets.map(\.summary), ["C update add participants, set distinct"]) }
            for packets in first {
                f.check(packets.first?.data.has("set", "distinct", value: false) == true, "\(packets)")
            }
            let second = try await scene.seen { try await scene.ana.patch(scene.conversation, remove(cleo)) }
            for packets in second { f.equal(packets.map(\.summary), ["C update remove participants"]) }
        },
        Rule("12.4", "set last_message names the message by id, and has it as value when it is an older one") { f in
            let scene = try await Scene(f)
            let first = try await scene.sent("1")
            let second = try await scene.sent("2")
            let update = scene.other.history.last { $0.isChange("update", of: "Conversation") }
            f.equal(update?.data.operation("last_message")?["id"].string, second)
            let seen = try await scene.seen {
                try await scene.ana.does("DELETE", Layer.path(second) + "?mode=all_participants")
            }
            for packets in seen {
                let operation = packets.last?.data.operation("last_message")
                f.equal(operation?["id"].string, first)
                f.equal(operation?["value"]["id"].string, first)
                f.equal(operation?["value"]["parts"][0]["body"], "1")
            }
        },
        Rule("12.4", "set last_message has value null when no message is left") { f in
            let scene = try await Scene(f)
            let message = try await scene.sent("x")
            let seen = try await scene.seen {
                try await scene.ana.does("DELETE", Layer.path(message) + "?mode=all_participants")
            }
            for packets in seen {
                let operation = packets.last?.data.operation("last_message")
                f.check(operation?.object?["value"] == .some(.null), "\(operation ?? "none")")
            }
        },
        Rule("12.4", "counts are set to what the reader would load") { f in
            let scene = try await Scene(f)
            for text in ["1", "2"] { try await scene.sent(text) }
            for (socket, user) in [(scene.own, scene.ana), (scene.other, scene.ben)] {
                let update = socket.history.last { $0.isChange("update", of: "Conversation") }
                let object = try await user.load(scene.conversation)
                f.equal(update?.data.operation("total_message_count")?["value"], object["total_message_count"])
                if user.userID == scene.ben.userID {
                    f.equal(update?.data.operation("unread_message_count")?["value"], object["unread_message_count"])
                }
            }
        },
    ]

    private static let messages: [Rule] = [
        Rule("12.4", "a receipt is set recipient_status with the identity id as one key, its dots escaped") { f in
            let scene = try await Scene(f)
            let message = try await scene.sent("x")
            let seen = try await scene.seen { try await scene.ben.receipt("delivery", message) }
            let escaped = scene.ben.id.replacingOccurrences(of: ".", with: "\\.")
            for packets in seen {
                f.equal(packets.first?.objectID, message)
                f.equal(
                    packets.first?.data,
                    [["operation": "set", "property": .string("recipient_status.\(escaped)"), "value": "delivered"]])
            }
        },
        Rule("12.4", "there is no patch of is_unread") { f in
            let scene = try await Scene(f)
            let message = try await scene.sent("x")
            _ = try await scene.seen { try await scene.ben.receipt("read", message) }
            for socket in scene.all {
                f.check(!socket.history.contains { $0.data.operation("is_unread") != nil }, "is_unread")
            }
        },
    ]

    /// Sends a message of two parts as Ana and waits until all sockets have it.
    private static func message(_ scene: Scene) async throws -> (id: String, parts: [String]) {
        let body: JSONValue = [
            "parts": [["mime_type": "text/plain", "body": "one"], ["mime_type": "text/plain", "body": "two"]]
        ]
        let message = try await scene.ana.does("POST", Layer.path(scene.conversation) + "/messages", body).json
        let id = message["id"].string ?? ""
        for socket in scene.all {
            try await socket.message("one")
            try await socket.change("update", "Conversation", scene.conversation) {
                $0.has("set", "last_message", id: id)
            }
        }
        return (id, message["parts"].ids)
    }

    /// A rule on the packets of a change of parts: 3.0 sockets get an update, 2.0 sockets the whole message.
    private static func parts(
        _ text: String, summary: String, _ change: @escaping @Sendable (Scene, String, [String]) async throws -> Void,
        check: @escaping @Sendable (Fixture, ReceivedPacket, JSONValue) -> Void
    ) -> Rule {
        Rule("12.4", text, .doc) { f in
            let scene = try await Scene(f)
            let (id, parts) = try await message(scene)
            let seen = try await scene.seen { try await change(scene, id, parts) }
            let now = try await scene.ben.load(id)
            // A server may also send all other properties of the part, and the message's `updated_at` in a separate
            // packet.
            let told = seen[2].map(\.summary)
                .filter { f.version == .v2 || !summary.hasPrefix("P") || $0 != "M update set updated_at" }
            f.equal(told.count, 1, "\(told)")
            let words = { (text: String) in Set(text.replacingOccurrences(of: ",", with: "").split(separator: " ")) }
            let expected = f.version == .v2 ? "M create" : summary
            f.check(told.allSatisfy { words($0).isSuperset(of: words(expected)) }, "\(told) is not \(expected)")
            for packets in seen { f.equal(packets.map(\.summary), seen[2].map(\.summary)) }
            guard let packet = seen[2].first else { return }
            if f.version == .v2 {
                f.equal(packet.objectID, id)
                f.equal(packet.data, now)
            } else {
                check(f, packet, now)
            }
        }
    }

    private static let parts: [Rule] = [
        parts(
            "a replaced part is a MessagePart update with what changed of it; to 2.0 the whole message",
            summary: "P update set body, set updated_at"
        ) {
            scene, _, parts in
            try await scene.ana.does("PUT", Layer.path(parts[0]), ["mime_type": "text/plain", "body": "changed"])
        } check: { f, packet, now in
            f.equal(packet.objectID, now["parts"][0]["id"].string)
            f.check(packet.data.has("set", "body", value: "changed"), "\(packet.data)")
            f.equal(packet.data.operation("updated_at")?["value"], now["updated_at"])
        },
        parts(
            "a part of another type and encoding is a MessagePart update of these; to 2.0 the whole message",
            summary: "P update set body, set encoding, set mime_type, set updated_at"
        ) { scene, _, parts in
            try await scene.ana.does(
                "PUT", Layer.path(parts[1]), ["mime_type": "image/png", "body": "AAEC", "encoding": "base64"])
        } check: { f, packet, now in
            f.equal(packet.objectID, now["parts"][1]["id"].string)
            f.check(
                packet.data.has("set", "mime_type", value: "image/png")
                    && packet.data.has("set", "encoding", value: "base64"), "\(packet.data)")
        },
        parts(
            "an added part is a Message update add parts with the part; to 2.0 the whole message",
            summary: "M update add parts, set updated_at"
        ) {
            scene, id, _ in
            try await scene.ana.does("POST", Layer.path(id) + "/parts", ["mime_type": "text/plain", "body": "three"])
        } check: { f, packet, now in
            f.equal(packet.data.operation("parts")?["id"], now["parts"][2]["id"])
            f.equal(packet.data.operation("parts")?["value"]["body"], "three")
            f.equal(packet.data.operation("updated_at")?["value"], now["updated_at"])
        },
        parts(
            "a removed part is a Message update remove parts; to 2.0 the whole message",
            summary: "M update remove parts, set updated_at"
        ) {
            scene, _, parts in
            try await scene.ana.does("DELETE", Layer.path(parts[0]))
        } check: { f, packet, now in
            f.check(packet.data.operation("parts")?["id"].string?.contains("/parts/") == true, "\(packet.data)")
            f.equal(now["parts"].array?.count, 1)
        },
        parts(
            "replaced parts are a Message update set parts; to 2.0 the whole message",
            summary: "M update set parts, set updated_at"
        ) {
            scene, id, _ in
            try await scene.ana.does("PUT", Layer.path(id) + "/parts", [["mime_type": "text/plain", "body": "new"]])
        } check: { f, packet, now in
            f.equal(packet.data.operation("parts")?["value"][0]["id"], now["parts"][0]["id"])
            f.equal(packet.data.operation("parts")?["value"][0]["body"], "new")
        },
    ]

    private static let deletions: [Rule] = [
        Rule("12.4", "a deleted conversation has mode and from_position null") { f in
            for mode in ["all_participants", "my_devices"] {
                let scene = try await Scene(f)
                try await scene.ana.does("DELETE", Layer.path(scene.conversation) + "?mode=\(mode)")
                let packet = try await scene.own.change("delete", "Conversation", scene.conversation)
                f.equal(packet.data, ["mode": .string(mode), "from_position": nil])
            }
        },
        Rule("12.4", "a deleted message has its mode") { f in
            let scene = try await Scene(f)
            for mode in ["all_participants", "my_devices"] {
                let message = try await scene.sent(mode)
                try await scene.ana.does("DELETE", Layer.path(message) + "?mode=\(mode)")
                f.equal(try await scene.own.change("delete", "Message", message).data["mode"].string, mode)
            }
        },
    ]

    private static let positions: [Rule] = [
        Rule(
            "12.4",
            "changes of a conversation carry its position, which grows and is that of the conversation loaded afterwards",
            .doc
        ) { f in
            let scene = try await Scene(f)
            try await scene.sent("x")
            try await scene.ana.patch(scene.conversation, set("metadata.a", "1"))
            try await scene.other.change("update", "Conversation", scene.conversation) { $0.has("set", "metadata.a") }
            let positions = scene.other.history.filter { $0.type == "change" }.map { $0.body["position"].int ?? -1 }
            f.check(positions.allSatisfy { $0 > 0 }, "\(positions)")
            f.equal(positions, positions.sorted())
            f.equal(positions.last, try await scene.ben.load(scene.conversation)["position"].int)
        },
        Rule("12.4", "changes of a user's own log carry user_position, which grows", .doc) { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            var positions: [Int] = []
            for name in ["x", "y"] {
                try await ana.does("PUT", "/following/users/\(f.stranger(name))")
                positions.append(try await socket.change("create", "Identity").body["user_position"].int ?? -1)
            }
            f.check(positions[0] > 0 && positions[1] > positions[0], "\(positions)")
        },
        Rule("12.4", "deletions on one's own devices carry user_position", .doc) { f in
            let scene = try await Scene(f)
            let message = try await scene.sent("x")
            try await scene.ana.does("DELETE", Layer.path(message) + "?mode=my_devices")
            let packet = try await scene.own.change("delete", "Message", message)
            f.check((packet.body["user_position"].int ?? packet.body["position"].int ?? 0) > 0, "\(packet.body)")
        },
    ]
}
