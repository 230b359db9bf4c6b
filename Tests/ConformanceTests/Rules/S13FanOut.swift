// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

/// Rules of section 13: the fan-out matrix, that is, the packets that every action causes for every recipient.
///
/// Each rule checks four sockets:
/// - the acting socket;
/// - another socket of the acting user, on the other gateway;
/// - two sockets of another participant, one on each gateway.
enum S13 {
    static let rules: [Rule] = matrix + others

    /// A line of the matrix.
    /// - Parameters:
    ///   - text: The action, in words.
    ///   - me: The packets on all sockets of Ana, who acts, in order.
    ///   - others: The packets on all sockets of Ben.
    ///   - prepare: Sets up the scene. Its result is passed to the action.
    private static func line(
        _ text: String, _ kind: Rule.Kind = .core, versions: [ProtocolVersion] = ProtocolVersion.allCases,
        metadata: JSONValue? = nil,
        distinct: Bool = false, me: [String], others: [String],
        prepare: @escaping @Sendable (Scene) async throws -> String = { _ in "" },
        action: @escaping @Sendable (Scene, String) async throws -> Void
    ) -> Rule {
        Rule("13", text, kind, versions: versions) { f in
            let scene = try await Scene(f, metadata: metadata, distinct: distinct)
            let prepared = try await prepare(scene)
            // A deleted conversation cannot carry a fence message, so another conversation of the same users does.
            let fence = try await scene.ana.converse(scene.ben)
            for socket in scene.all { try await socket.change("create", "Conversation", fence) }
            let counts = [me.count, me.count, others.count, others.count]
            let seen = try await scene.seen(counts, fence: fence) { try await action(scene, prepared) }
            let names = [
                "the acting socket", "the actor's other socket", "a socket of the other", "another socket of the other",
            ]
            for (index, packets) in seen.enumerated() {
                f.equal(packets.map(\.summary), index < 2 ? me : others, names[index])
            }
        }
    }

    private static let sent = "C update set last_message, set total_message_count"
    private static let received = "C update set last_message, set total_message_count, set unread_message_count"

    private static let matrix: [Rule] = [
        line("creating a conversation: create to all", me: ["C create"], others: ["C create"]) { scene, _ in
            try await scene.ana.converse(scene.ben)
        },
        line("creating a conversation over the socket: create to all", me: ["C create"], others: ["C create"]) {
            scene, _ in
            try await scene.acting.does("Conversation.create", nil, User.conversation([scene.ben.id]))
        },
        line("a distinct conversation found, or in conflict: nothing", distinct: true, me: [], others: []) { scene, _ in
            _ = try await scene.ana.call("POST", "/conversations", User.conversation([scene.ben.id], distinct: true))
            _ = try await scene.ana.call(
                "POST", "/conversations", User.conversation([scene.ben.id], metadata: ["x": "y"], distinct: true))
        },
        line(
            "a distinct conversation found that the finder had deleted: create to the finder", distinct: true,
            me: ["C create"], others: [],
            prepare: { scene in
                try await scene.ana.does("DELETE", Layer.path(scene.conversation) + "?mode=my_devices")
                for socket in [scene.acting, scene.own] {
                    try await socket.change("delete", "Conversation", scene.conversation)
                }
                return ""
            }
        ) { scene, _ in
            _ = try await scene.ana.does("POST", "/conversations", User.conversation([scene.ben.id], distinct: true))
        },
        line(
            "adding a participant to a distinct conversation: update with distinct to all", distinct: true,
            me: ["C update add participants, set distinct"], others: ["C update add participants, set distinct"],
            prepare: { try await $0.fixture.user("cleo").id }
        ) { scene, cleo in
            try await scene.ana.patch(
                scene.conversation, ["operation": "add", "property": "participants", "id": .string(cleo)])
        },
        line("patching metadata: update to all", me: ["C update set metadata.a"], others: ["C update set metadata.a"]) {
            scene, _ in
            try await scene.ana.patch(scene.conversation, set("metadata.a", "1"))
        },
        line(
            "patching participants and metadata together: updates to all",
            me: ["C update add participants", "C update set metadata.a"],
            others: ["C update add participants", "C update set metadata.a"],
            prepare: { try await $0.fixture.user("cleo").id }
        ) { scene, cleo in
            try await scene.ana.patch(
                scene.conversation, ["operation": "add", "property": "participants", "id": .string(cleo)],
                set("metadata.a", "1"))
        },
        line(
            "deleting a conversation for all: delete to all, and no deletions of its messages",
            me: ["C delete all_participants"],
            others: ["C delete all_participants"], prepare: { try await $0.sent("x") }
        ) { scene, _ in try await scene.ana.does("DELETE", Layer.path(scene.conversation) + "?mode=all_participants") },
        line("deleting a conversation on one's devices: delete to oneself", me: ["C delete my_devices"], others: []) {
            scene, _ in
            try await scene.ana.does("DELETE", Layer.path(scene.conversation) + "?mode=my_devices")
        },
        line(
            "leaving a conversation by deleting it: update to all, delete to oneself",
            me: ["C update remove participants", "C delete my_devices"],
            others: ["C update remove participants"]
        ) { scene, _ in
            try await scene.ana.does("DELETE", Layer.path(scene.conversation) + "?mode=my_devices&leave=true")
        },
        line("sending a message: create, then update", me: ["M create", sent], others: ["M create", received]) {
            scene, _ in
            try await scene.ana.send("x", to: scene.conversation)
        },
        line(
            "sending a message over the socket: create, then update", me: ["M create", sent],
            others: ["M create", received]
        ) { scene, _ in
            try await scene.acting.does("Message.create", scene.conversation, User.message("x"))
        },
        line(
            "a delivery receipt: update to all", me: ["M update set recipient_status.ana"],
            others: ["M update set recipient_status.ana"],
            prepare: { try await $0.sent("x", by: $0.ben) }
        ) { scene, message in try await scene.ana.receipt("delivery", message) },
        line(
            "a read receipt: update to all, the unread count to oneself",
            me: ["M update set recipient_status.ana", "C update set unread_message_count"],
            others: ["M update set recipient_status.ana"],
            prepare: { try await $0.sent("x", by: $0.ben) }
        ) { scene, message in try await scene.ana.receipt("read", message) },
        line("a receipt without effect: nothing", me: [], others: [], prepare: { try await $0.sent("x") }) {
            scene, message in
            try await scene.ana.receipt("read", message)
        },
        line(
            "mark_all_read: the operation to all, the unread count to oneself",
            me: ["operation Conversation.mark_all_read", "C update set unread_message_count"],
            others: ["operation Conversation.mark_all_read"],
            prepare: { try await $0.sent("x", by: $0.ben) }
        ) { scene, _ in try await scene.ana.does("POST", Layer.path(scene.conversation) + "/mark_all_read", [:]) },
        line(
            "deleting the last message for all: delete, then last_message and counts, to all",
            me: ["M delete all_participants", received],
            others: ["M delete all_participants", received],
            prepare: { scene in
                try await scene.sent("first")
                return try await scene.sent("second")
            }
        ) { scene, message in try await scene.ana.does("DELETE", Layer.path(message) + "?mode=all_participants") },
        line(
            "deleting an older message for all: delete, then counts, to all",
            me: ["M delete all_participants", "C update set total_message_count, set unread_message_count"],
            others: ["M delete all_participants", "C update set total_message_count, set unread_message_count"],
            prepare: { scene in
                let first = try await scene.sent("first")
                try await scene.sent("second")
                return first
            }
        ) { scene, message in try await scene.ana.does("DELETE", Layer.path(message) + "?mode=all_participants") },
        line(
            "deleting the last message on one's devices: delete, then last_message and counts, to oneself",
            me: ["M delete my_devices", received], others: [],
            prepare: { scene in
                try await scene.sent("first")
                return try await scene.sent("second", by: scene.ben)
            }
        ) { scene, message in try await scene.ana.does("DELETE", Layer.path(message) + "?mode=my_devices") },
        line(
            "typing: a signal to the others", me: [], others: ["signal started", "signal paused", "signal finished"],
            prepare: { try await $0.sent("x") }
        ) { scene, _ in
            for action in ["started", "paused", "finished"] {
                try await scene.acting.typing(action, in: scene.conversation)
                for socket in [scene.other, scene.otherToo] {
                    try await socket.typingSeen(action, in: scene.conversation)
                }
            }
        },
        line(
            "following and unfollowing: Identity create and delete to oneself", me: ["I create", "I delete null"],
            others: [],
            prepare: { $0.fixture.stranger("cleo") }
        ) { scene, cleo in
            for method in ["PUT", "DELETE"] { try await scene.ana.does(method, "/following/users/\(cleo)") }
            for socket in [scene.acting, scene.own] { try await socket.change("delete", "Identity") }
        },
        line("patches without effect: nothing", metadata: ["a": "1"], me: [], others: []) { scene, _ in
            try await scene.ana.patch(scene.conversation, set("metadata.a", "1"), delete("metadata.b"), add(scene.ben))
            try await scene.ana.does("POST", Layer.path(scene.conversation) + "/mark_all_read", [:])
        },
        line("requests that are refused: nothing", me: [], others: []) { scene, _ in
            _ = try await scene.ana.call(
                "PATCH", Layer.path(scene.conversation), [set("metadata.a", "1"), set("metadata.b", 5)])
            _ = try await scene.ana.call("POST", Layer.path(scene.conversation) + "/messages", ["parts": []])
            _ = try await scene.ana.call("DELETE", Layer.path(scene.conversation))
        },
    ]

    private static let others: [Rule] = [
        Rule("13", "a user who is added gets the whole conversation, the others the update") { f in
            let scene = try await Scene(f, metadata: ["a": "1"])
            try await scene.sent("before")
            let cleo = try await f.user("cleo")
            let socket = try await cleo.socket()
            try await scene.ana.patch(scene.conversation, add(cleo))
            let created = try await socket.change("create", "Conversation", scene.conversation)
            f.equal(created.data, try await cleo.load(scene.conversation))
            try await scene.ana.send("fence", to: scene.conversation)
            let fence = try await socket.message("fence")
            let before = socket.history.filter { $0.index < fence.index && $0.type != "response" }
            f.equal(before.map(\.summary), ["C create"])
        },
        Rule("13", "a user who is removed gets the same update as the others, and nothing after it") { f in
            let scene = try await Scene(f)
            let start = scene.other.receivedCount
            try await scene.ana.patch(scene.conversation, remove(scene.ben))
            for socket in scene.all {
                let update = try await socket.change("update", "Conversation", scene.conversation) {
                    $0.operation("participants") != nil
                }
                f.check(update.data.has("remove", "participants", id: scene.ben.id), "\(update.data)")
                // The counts of the removed user do not change.
                f.equal((update.data.array ?? []).filter { $0["property"] != "participants" }, [])
            }
            try await scene.ana.send("later", to: scene.conversation)
            try await scene.ana.patch(scene.conversation, set("metadata.a", "1"))
            let fence = try await scene.ana.converse(scene.ben)
            try await scene.other.change("create", "Conversation", fence)
            f.equal(scene.other.packets(from: start).filter { $0.objectID != fence && $0.type != "response" }.count, 1)
        },
        Rule(
            "13", "a former participant is told when a message they keep is deleted for all, and then the conversation",
            .doc
        ) { f in
            let scene = try await Scene(f)
            let messages = [try await scene.sent("1"), try await scene.sent("2")]
            try await scene.ana.patch(scene.conversation, remove(scene.ben))
            let later = try await scene.ana.sendID("later", to: scene.conversation)
            for message in [later, messages[1]] {
                try await scene.ana.does("DELETE", Layer.path(message) + "?mode=all_participants")
            }
            for socket in [scene.other, scene.otherToo] {
                let packet = try await socket.change("delete", "Message", messages[1])
                f.equal(packet.data, ["mode": "all_participants"])
                f.equal(packet.body["conversation"]["id"].string, scene.conversation)
                f.check((packet.body["user_position"].int ?? 0) > 0, "\(packet.body)")
                let update = try await socket.change("update", "Conversation", scene.conversation) {
                    $0.has("set", "total_message_count", value: 1)
                }
                f.check(update.data.has("set", "unread_message_count", value: 1), "\(update.data)")
                f.equal(update.data.operation("last_message")?["id"].string, messages[0])
            }
            f.equal(try await scene.ben.load(scene.conversation)["total_message_count"], 1)
            try await scene.ana.does("DELETE", Layer.path(scene.conversation) + "?mode=all_participants")
            for socket in [scene.other, scene.otherToo] {
                let packet = try await socket.change("delete", "Conversation", scene.conversation)
                f.equal(packet.data, ["mode": "all_participants", "from_position": nil])
                f.check((packet.body["user_position"].int ?? 0) > 0, "\(packet.body)")
                f.check(!socket.history.contains { $0.objectID == later }, "a later message")
            }
        },
        Rule("13", "a user who removes themselves gets the update too") { f in
            let scene = try await Scene(f)
            try await scene.ana.patch(scene.conversation, remove(scene.ana))
            for socket in scene.all {
                let update = try await socket.change("update", "Conversation", scene.conversation)
                f.check(update.data.has("remove", "participants", id: scene.ana.id), "\(update.data)")
            }
        },
        Rule("13", "a message to a conversation deleted on one's devices: Conversation create, then Message create") {
            f in
            let scene = try await Scene(f)
            try await scene.sent("before")
            try await scene.ben.does("DELETE", Layer.path(scene.conversation) + "?mode=my_devices")
            for socket in [scene.other, scene.otherToo] {
                try await socket.change("delete", "Conversation", scene.conversation)
            }
            let start = scene.other.receivedCount
            try await scene.ana.send("after", to: scene.conversation)
            for socket in [scene.other, scene.otherToo] { try await socket.message("after") }
            let seen = scene.other.packets(from: start).prefix(2)
            f.equal(seen.map(\.summary), ["C create", "M create"])
            f.equal(seen.first?.objectID, scene.conversation)
        },
        Rule(
            "13",
            "on a replay over both, the deletion has the position of the last message before it, and the new message follows"
        ) { f in
            let scene = try await Scene(f)
            let before = try await scene.ana.load(try await scene.sent("before"))["position"].int ?? 0
            try await scene.ben.does("DELETE", Layer.path(scene.conversation) + "?mode=my_devices")
            try await scene.ana.send("after", to: scene.conversation)
            let socket = try await scene.ben.silentSocket()
            let answer = try await socket.ask("Event.replay", nil, ["from_timestamp": "2019-01-01T00:00:00.000Z"])
            let packets = socket.history.filter { $0.index < answer.packet.index }
            guard
                let deletion = packets.first(where: {
                    $0.isChange("delete", of: "Conversation", id: scene.conversation)
                })
            else {
                return f.fail("no deletion in \(packets.map(\.summary))")
            }
            f.equal(deletion.data["mode"], "my_devices")
            f.equal(deletion.data["from_position"].int, before)
            f.check(
                packets.contains {
                    $0.index > deletion.index && $0.isChange("create", of: "Message")
                        && $0.data["parts"][0]["body"] == "after"
                },
                "\(packets.map(\.summary))")
        },
        Rule(
            "13",
            "messages that are sent come with is_unread and the notification for others, and without unread for oneself"
        ) { f in
            let scene = try await Scene(f)
            var body = User.message("x")
            body["notification"] = ["text": "hi"]
            try await scene.ana.does("POST", Layer.path(scene.conversation) + "/messages", body)
            for socket in [scene.acting, scene.own] { f.equal(try await socket.message("x").data["is_unread"], false) }
            for socket in [scene.other, scene.otherToo] {
                let data = try await socket.message("x").data
                f.equal(data["is_unread"], true)
                f.equal(data["notification"]["text"], "hi")
            }
        },
        Rule("13", "changing one's identity by signing in: one update to oneself and to followers", .doc) { f in
            let scene = try await Scene(f)
            let starts = scene.all.map(\.receivedCount)
            _ = try await f.user(id: scene.ana.userID, name: "Ana the Second")
            for socket in scene.all {
                try await socket.change("update", "Identity", scene.ana.id) { $0.operation("display_name") != nil }
            }
            let text = "fence"
            try await scene.ana.send(text, to: scene.conversation)
            for (socket, start) in zip(scene.all, starts) {
                try await socket.message(text)
                f.equal(socket.packets(from: start).filter { $0.objectType == "Identity" }.count, 1)
            }
        },
        Rule("13", "people outside the conversation are sent nothing") { f in
            let scene = try await Scene(f)
            let cleo = try await f.user("cleo")
            let socket = try await cleo.socket()
            let message = try await scene.sent("x")
            try await scene.ben.receipt("read", message)
            try await scene.ana.patch(scene.conversation, set("metadata.a", "1"))
            let fence = try await scene.ana.converse(cleo)
            try await socket.change("create", "Conversation", fence)
            f.equal(socket.history.filter { $0.type != "response" }.map(\.summary), ["C create"])
        },
        Rule("13", "counts in updates are the reader's own") { f in
            let scene = try await Scene(f)
            let first = try await scene.sent("1")
            try await scene.sent("2", by: scene.ben)
            try await scene.sent("3")
            let seen = try await scene.seen {
                try await scene.ana.does("DELETE", Layer.path(first) + "?mode=all_participants")
            }
            f.equal(seen[0].last?.data.operation("total_message_count")?["value"], 2)
            f.equal(seen[2].last?.data.operation("total_message_count")?["value"], 2)
            f.equal(seen[2].last?.data.operation("unread_message_count")?["value"], 1)
        },
    ]
}
