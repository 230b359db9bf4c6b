// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of section 12.9: recovery.
extension S12Sync {
    // MARK: 12.9

    private static func summaries(_ packets: [ReceivedPacket], of id: String) -> [String] {
        packets.filter { $0.objectID == id }.map(\.summary)
    }

    static let recovery: [Rule] = [
        Rule("12.9", "Event.replay sends every change since a time, in order, then the answer with success") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let message = try await users[0].sendID("1", to: id)
            try await users[0].patch(id, set("metadata.a", "1"))
            try await users[1].receipt("read", message)
            try await users[0].send("2", to: id)
            let (packets, answer) = try await replay(users[1], from: longAgo)
            f.check(answer.isSuccess, "\(answer.data)")
            let told = packets.map(\.summary)
            var rest = told[...]
            for summary in ["C create", "M create", "M update set recipient_status.ben"] {
                guard let index = rest.firstIndex(of: summary) else {
                    return f.fail("\(summary) is missing or out of order in \(told)")
                }
                rest = rest[(index + 1)...]
            }
            // A conversation that is replayed as a whole object already contains later metadata.
            let created = packets.first { $0.isChange("create", of: "Conversation") }
            f.check(
                created?.data["metadata"] == ["a": "1"] || told.contains("C update set metadata.a"),
                "the metadata is missing in \(told)")
            f.check(rest.contains("M create"), "the second message is missing in \(told)")
        },
        Rule(
            "12.9",
            "the answer to a replay names the epoch that conversations carry, also where the log does not reach back far enough",
            .doc
        ) {
            f in
            let ana = try await f.user("ana")
            let epoch = try await ana.load(try await ana.converse([]))["epoch"]
            f.check(epoch.string?.isEmpty == false, "\(epoch)")
            for time in [longAgo, "2001-01-01T00:00:00.000Z"] {
                let answer = try await replay(ana, from: time).answer
                f.equal(answer.data["epoch"], epoch)
            }
        },
        Rule("12.9", "a replay includes the change of the very time that is named") { f in
            let scene = try await Scene(f)
            let message = try await scene.sent("x")
            let packet = scene.other.history.first { $0.isChange("create", of: "Message", id: message) }
            let (packets, _) = try await replay(scene.ben, from: packet?.timestamp ?? "")
            f.check(packets.contains { $0.isChange("create", of: "Message", id: message) }, "\(packets.map(\.summary))")
        },
        Rule("12.9", "a client that comes back with the time of its last packet has missed nothing") { f in
            let scene = try await Scene(f)
            try await scene.sent("before")
            let last = try await scene.other.ask("Counter.read").packet.timestamp ?? ""
            await scene.other.abort()
            try await scene.ana.send("meanwhile", to: scene.conversation)
            try await scene.ana.patch(scene.conversation, set("metadata.a", "1"))
            let (packets, _) = try await replay(scene.ben, from: last)
            let told = packets.map(\.summary)
            f.check(
                packets.contains { $0.isChange("create", of: "Message") && $0.data["parts"][0]["body"] == "meanwhile" },
                "\(told)")
            let isTold = packets.contains {
                $0.isChange("create", of: "Conversation") && $0.data["metadata"] == ["a": "1"]
            }
            f.check(isTold || told.contains("C update set metadata.a"), "\(told)")
        },
        Rule("12.9", "what happens while a replay runs arrives too") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            for number in 0..<30 { try await users[0].send("\(number)", to: id) }
            let socket = try await users[1].silentSocket()
            async let replayed = socket.ask("Event.replay", nil, ["from_timestamp": .string(longAgo)])
            for number in 30..<35 { try await users[0].send("\(number)", to: id) }
            f.check(try await replayed.isSuccess, "no success")
            try await users[0].send("35", to: id)
            try await socket.message("35")
            let texts = socket.history.filter { $0.isChange("create", of: "Message") }
                .compactMap { $0.data["parts"][0]["body"].string }
            f.equal(Set(texts), Set((0...35).map { "\($0)" }))
            f.equal(texts, texts.sorted { (Int($0) ?? 0) < (Int($1) ?? 0) })
        },
        Rule("12.9", "after a replay live changes go on, each once") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let socket = try await users[1].silentSocket()
            try await socket.does("Event.replay", nil, ["from_timestamp": .string(longAgo)])
            for text in ["1", "2"] {
                try await users[0].send(text, to: id)
                try await socket.message(text)
            }
            f.equal(socket.history.filter { $0.isChange("create", of: "Message") }.count, 2)
        },
        Rule("12.9", "a replay of nothing is answered with success") { f in
            let ana = try await f.user("ana")
            let (packets, answer) = try await replay(ana, from: longAgo)
            f.check(answer.isSuccess, "\(answer.data)")
            f.equal(packets.map(\.summary), [])
        },
        Rule("12.9", "a replay from long ago replays what there is and reports success") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let (packets, answer) = try await replay(users[1], from: "1999-12-31T23:59:59Z")
            f.check(answer.isSuccess, "\(answer.data)")
            f.equal(packets.first?.objectID, id)
        },
        Rule("12.9", "the answer says whether the replay is complete", .doc) { f in
            let ana = try await f.user("ana")
            let now = try await ana.socket().ask("Counter.read").packet.timestamp ?? ""
            f.equal(try await replay(ana, from: now).answer.data["complete"], true)
            f.check(try await replay(ana, from: longAgo).answer.data["complete"].bool != nil, "no complete")
        },
        Rule("12.9", "without from_timestamp, or with none that is a time, it is refused") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            f.refused(try await socket.ask("Event.replay", nil, [:]), "missing_property", property: "from_timestamp")
            for time: JSONValue in ["yesterday", 5] {
                f.refused(
                    try await socket.ask("Event.replay", nil, ["from_timestamp": time]), "invalid_property",
                    property: "from_timestamp")
            }
        },
        Rule("12.9", "replayed packets have the counters of this connection") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            for text in ["1", "2"] { try await users[0].send(text, to: id) }
            let (packets, answer) = try await replay(users[1], from: longAgo)
            f.equal(packets.map { $0.counter ?? -1 }, Array(0..<packets.count))
            f.equal(answer.packet.counter, packets.count)
        },
        Rule("12.9", "a replayed object is as its reader sees it now, or was then") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let message = try await users[0].sendID("x", to: id)
            let (packets, _) = try await replay(users[1], from: longAgo)
            let created = packets.first { $0.isChange("create", of: "Message", id: message) }
            f.equal(created?.data["parts"][0]["body"], "x")
            f.equal(created?.data["sender"]["id"].string, users[0].id)
            f.equal(created?.body["object"]["type"], "Message")
        },
        Rule("12.9", "a message deleted since is replayed as its deletion only") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let message = try await users[0].sendID("x", to: id)
            try await users[0].does("DELETE", Layer.path(message) + "?mode=all_participants")
            let (packets, _) = try await replay(users[1], from: longAgo)
            f.equal(summaries(packets, of: message), ["M delete all_participants"])
        },
        Rule("12.9", "a conversation deleted for all since is replayed as its deletion only") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            try await users[0].send("x", to: id)
            try await users[0].does("DELETE", Layer.path(id) + "?mode=all_participants")
            let (packets, _) = try await replay(users[1], from: longAgo)
            f.equal(summaries(packets, of: id), ["C delete all_participants"])
            f.check(!packets.contains { $0.objectType == "Message" }, "\(packets.map(\.summary))")
        },
        Rule(
            "12.9", "a user's own deletions on their devices are replayed to all of their devices, and to no other user"
        ) { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let message = try await users[0].sendID("x", to: id)
            try await users[1].does("DELETE", Layer.path(message) + "?mode=my_devices")
            let bens = try await replay(users[1], from: longAgo).packets
            f.equal(summaries(bens, of: message).last, "M delete my_devices")
            let anas = try await replay(users[0], from: longAgo).packets
            f.check(
                !summaries(anas, of: message).contains { $0.hasPrefix("M delete") }, "\(summaries(anas, of: message))")
        },
        Rule("12.9", "operation packets are replayed") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            try await users[0].send("x", to: id)
            try await users[1].does("POST", Layer.path(id) + "/mark_all_read", [:])
            let (packets, _) = try await replay(users[0], from: longAgo)
            f.check(
                packets.contains { $0.type == "operation" && $0.data["identity"]["id"].string == users[1].id },
                "\(packets.map(\.summary))")
        },
        Rule("12.9", "a user who was removed while away is told so, and nothing later") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            try await users[0].patch(id, remove(users[1]))
            try await users[0].send("later", to: id)
            try await users[0].patch(id, set("metadata.a", "1"))
            let (packets, _) = try await replay(users[1], from: longAgo)
            let last = packets.last { $0.objectID == id }
            let isOut = last?.isChange("create", of: "Conversation") == true && last?.data["participants"] == []
            f.check(
                isOut || last?.data.has("remove", "participants", id: users[1].id) == true, "\(last?.json ?? .null)")
            f.check(!packets.contains { $0.objectType == "Message" }, "a later message")
        },
        Rule("12.9", "what a former participant keeps, and was deleted for all while they were away, is told", .doc) {
            f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let gone = try await users[0].converse(users[1])
            let messages = [try await users[0].sendID("1", to: id), try await users[0].sendID("2", to: id)]
            for conversation in [id, gone] { try await users[0].patch(conversation, remove(users[1])) }
            try await users[0].does("DELETE", Layer.path(messages[0]) + "?mode=all_participants")
            try await users[0].does("DELETE", Layer.path(gone) + "?mode=all_participants")
            let (packets, _) = try await replay(users[1], from: longAgo)
            f.check(
                packets.contains { $0.isChange("delete", of: "Message", id: messages[0]) }, "\(packets.map(\.summary))")
            let update = packets.last {
                $0.isChange("update", of: "Conversation", id: id) && $0.data.operation("total_message_count") != nil
            }
            f.check(update?.data.has("set", "total_message_count", value: 1) == true, "\(update?.data ?? .null)")
            f.check(
                packets.last { $0.objectID == gone }?.isChange("delete", of: "Conversation") == true,
                "\(packets.map(\.summary))")
        },
        Rule("12.9", "a user who was added while away gets the whole conversation") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([], metadata: ["a": "1"])
            try await users[0].send("before", to: id)
            try await users[0].patch(id, add(users[1]))
            let (packets, _) = try await replay(users[1], from: longAgo)
            let created = packets.first { $0.isChange("create", of: "Conversation", id: id) }
            f.equal(created?.data["metadata"], ["a": "1"])
            f.equal(created?.data["participants"].ids.count, 2)
        },
        Rule("12.9", "a replay asked for while one runs takes its place: both are answered, the later one with success")
        { f in
            let users = try await f.users("ana", "ben")
            try await users[0].converse(users[1])
            // The socket is not checked, because timestamps go back with each replay.
            let socket = try await users[1].silentSocket(isChecked: false)
            for id in ["a", "b"] {
                let body: JSONValue = [
                    "request_id": .string(id), "method": "Event.replay", "data": ["from_timestamp": .string(longAgo)],
                ]
                try await socket.sendPacket(["type": "request", "body": body])
            }
            _ = try await socket.nextPacket("the first answer", deadline: Fixture.deadline) { $0.requestID == "a" }
            let second = try await socket.nextPacket("the second answer", deadline: Fixture.deadline) {
                $0.requestID == "b"
            }
            f.equal(second.body["success"], true)
            f.check(socket.history.contains { $0.isChange("create", of: "Conversation") }, "nothing was replayed")
        },
    ]
}
