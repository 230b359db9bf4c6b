// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// 12.7 to 12.11: heartbeats, presence, recovery, closing, ordering.
enum S12Sync {
    static let rules: [Rule] = heartbeats + presence + recovery + closing + ordering

    // MARK: 12.7

    private static let heartbeats: [Rule] = [
        Rule("12.7", "the server pings within a minute, and an answering client stays", slow: true) { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let deadline = ContinuousClock.now + .seconds(75)
            // Pings are no packets; there is nothing to wait for but their number.
            while socket.pingCount == 0, ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(250)) }
            f.check(socket.pingCount > 0, "no ping")
            try await socket.does("Counter.read")
        },
        Rule("12.7", "nothing else is sent to a quiet socket", slow: true) { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let deadline = ContinuousClock.now + .seconds(75)
            while socket.pingCount == 0, ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(250)) }
            f.equal(try await socket.ask("Counter.read").packet.counter, 1)
        },
        Rule("12.7", "a socket that answers no ping is closed with 4408", slow: true) { f in
            let ana = try await f.user("ana")
            var options = ProtocolSocket.Options()
            options.answersPings = false
            let socket = try await ana.silentSocket(options: options)
            try await socket.does("Counter.read")
            f.equal(try await socket.waitForClose(deadline: .now + .seconds(175)).code, 4408)
        },
    ]

    // MARK: 12.8

    private static func setStatus(_ socket: ProtocolSocket, _ status: String, line: UInt = #line) async throws {
        try await socket.does("Presence.update", nil, [set("status", .string(status))], line: line)
    }

    private static func seen(_ socket: ProtocolSocket, _ status: String, of user: User) async throws -> ReceivedPacket {
        try await socket.change("update", "Identity", user.id) { $0.has("set", "presence.status", value: .string(status)) }
    }

    /// The status of a user as `Presence.sync` tells it.
    private static func status(_ socket: ProtocolSocket, of user: User) async throws -> String? {
        let data = try await socket.does("Presence.sync", nil, ["ids": [.string(user.id)]])
        let change = (data["changes"].array ?? []).first { $0["object"]["id"].string == user.id }
        return change?["data"].operation("presence.status")?["value"].string
    }

    /// Ana and Ben, who follow each other, with a socket each; Ben's has subscribed.
    private static func followers(_ f: Fixture) async throws -> (ana: User, ben: User, anas: ProtocolSocket, bens: ProtocolSocket, id: String) {
        let users = try await f.users("ana", "ben")
        let (anas, bens) = (try await users[0].socket(), try await users[1].socket())
        let id = try await users[0].converse(users[1])
        for socket in [anas, bens] { try await socket.change("create", "Conversation", id) }
        try await bens.does("Presence.subscribe")
        return (users[0], users[1], anas, bens, id)
    }

    private static let presence: [Rule] = [
        Rule("12.8", "Presence.update takes available, busy, away, offline, invisible and auto") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            for status in ["available", "busy", "away", "offline", "invisible", "auto"] { try await setStatus(socket, status) }
        },
        Rule("12.8", "another status is invalid_property status") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            for value: JSONValue in ["sleeping", "", 5, nil] {
                f.refused(try await socket.ask("Presence.update", nil, [set("status", value)]), "invalid_property", property: "status")
            }
        },
        Rule("12.8", "Presence.update that is no array of operations is refused") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            for data: JSONValue? in [nil, "auto", ["status": "auto"], ["auto"]] {
                let answer = try await socket.ask("Presence.update", nil, data)
                f.check(!answer.isSuccess && answer.data["code"].int != nil, "\(data ?? "none"): \(answer.packet.body)")
            }
        },
        Rule("12.8", "subscribed followers and the user's own subscribed sockets see the status as it is set") { f in
            let (ana, _, anas, bens, _) = try await followers(f)
            try await anas.does("Presence.subscribe")
            for status in ["busy", "away", "available"] {
                try await setStatus(anas, status)
                for socket in [bens, anas] { _ = try await seen(socket, status, of: ana) }
            }
        },
        Rule("12.8", "presence is patched leaf by leaf: presence.status and presence.last_seen_at") { f in
            let (ana, _, anas, bens, _) = try await followers(f)
            try await setStatus(anas, "busy")
            _ = try await seen(bens, "busy", of: ana)
            for packet in bens.history where packet.isChange("update", of: "Identity") {
                for operation in packet.data.array ?? [] {
                    f.equal(operation["operation"], "set")
                    f.check(["presence.status", "presence.last_seen_at"].contains(operation["property"].string), "\(operation)")
                }
            }
        },
        Rule("12.8", "offline and invisible are offline to others; to oneself invisible is what was set") { f in
            let (ana, _, anas, bens, _) = try await followers(f)
            try await anas.does("Presence.subscribe")
            for status in ["invisible", "offline"] {
                try await setStatus(anas, "available")
                _ = try await seen(bens, "available", of: ana)
                try await setStatus(anas, status)
                _ = try await seen(bens, "offline", of: ana)
                f.equal(try await Self.status(bens, of: ana), "offline")
                f.check(["invisible", "offline"].contains(try await Self.status(anas, of: ana)), "to Ana")
            }
            f.check(!bens.history.contains { $0.data.has("set", "presence.status", value: "invisible") }, "invisible was shown")
        },
        Rule("12.8", "invisible does not advance last_seen_at") { f in
            let (ana, _, anas, bens, _) = try await followers(f)
            let lastSeen = {
                let data = try await bens.does("Presence.sync", nil, ["ids": [.string(ana.id)]])
                return data["changes"][0]["data"].operation("presence.last_seen_at")?["value"] ?? .null
            }
            try await setStatus(anas, "invisible")
            f.equal(try await lastSeen(), .null, "never seen")
            try await setStatus(anas, "available")
            let available = try await lastSeen()
            f.check(Layer.isTimestamp(available.string), "\(available)")
            try await setStatus(anas, "invisible")
            let hidden = try await lastSeen()
            try await setStatus(anas, "offline")
            f.equal(try await lastSeen(), hidden)
        },
        Rule("12.8", "auto is the last status the user chose, or available") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            try await setStatus(socket, "auto")
            f.equal(try await status(socket, of: ana), "available")
            try await setStatus(socket, "away")
            try await setStatus(socket, "auto")
            f.equal(try await status(socket, of: ana), "away")
            let later = try await ana.socket(gateway: 1)
            try await setStatus(later, "auto")
            f.equal(try await status(later, of: ana), "away")
        },
        Rule("12.8", "a client that has not subscribed is told nothing, and subscribing dumps nothing") { f in
            let users = try await f.users("ana", "ben")
            let (anas, bens) = (try await users[0].socket(), try await users[1].socket())
            let id = try await users[0].converse(users[1])
            for socket in [anas, bens] { try await socket.change("create", "Conversation", id) }
            try await setStatus(anas, "busy")
            f.equal(try await status(bens, of: users[0]), "busy")
            try await bens.does("Presence.subscribe")
            try await users[0].send("fence", to: id)
            try await bens.message("fence")
            f.check(!bens.history.contains { $0.isChange("update", of: "Identity") }, "told")
            try await setStatus(anas, "away")
            _ = try await seen(bens, "away", of: users[0])
        },
        Rule("12.8", "the subscription is the connection's own") { f in
            let (ana, ben, anas, bens, id) = try await followers(f)
            let another = try await ben.socket()
            try await setStatus(anas, "busy")
            _ = try await seen(bens, "busy", of: ana)
            try await ana.send("fence", to: id)
            try await another.message("fence")
            f.check(!another.history.contains { $0.isChange("update", of: "Identity") }, "told")
        },
        Rule("12.8", "users one does not follow are not told of") { f in
            let (ana, _, anas, bens, _) = try await followers(f)
            let cleo = try await f.user("cleo")
            let cleos = try await cleo.socket()
            try await setStatus(cleos, "busy")
            try await setStatus(anas, "busy")
            _ = try await seen(bens, "busy", of: ana)
            f.check(!bens.history.contains { $0.objectID == cleo.id }, "told of Cleo")
        },
        Rule("12.8", "after unsubscribing nothing more is told", .doc) { f in
            let (ana, _, anas, bens, id) = try await followers(f)
            try await bens.does("Presence.unsubscribe")
            let start = bens.receivedCount
            try await setStatus(anas, "busy")
            try await ana.send("fence", to: id)
            try await bens.message("fence")
            f.check(!bens.packets(from: start).contains { $0.isChange("update", of: "Identity") }, "told")
        },
        Rule("12.8", "a user is as present as the best of their connections") { f in
            let (ana, _, anas, bens, _) = try await followers(f)
            let another = try await ana.socket(gateway: 1)
            try await setStatus(anas, "available")
            _ = try await seen(bens, "available", of: ana)
            try await setStatus(another, "available")
            await another.close()
            f.equal(try await status(bens, of: ana), "available")
        },
        Rule("12.8", "Presence.sync with ids answers with an update for each that has a presence") { f in
            let (ana, ben, anas, bens, _) = try await followers(f)
            try await setStatus(anas, "away")
            try await setStatus(bens, "busy")
            let data = try await bens.does("Presence.sync", nil, ["ids": [.string(ana.id), .string(ben.id)]])
            for (user, status) in [(ana, "away"), (ben, "busy")] {
                let change = (data["changes"].array ?? []).first { $0["object"]["id"].string == user.id }
                f.equal(change?["operation"], "update")
                f.equal(change?["object"], ["type": "Identity", "id": .string(user.id), "url": .string(f.system.publicURL + Layer.path(user.id))])
                f.check(change?["data"].has("set", "presence.status", value: .string(status)) == true, "\(change ?? "none")")
                f.check(Layer.isTimestamp(change?["data"].operation("presence.last_seen_at")?["value"].string), "\(change ?? "none")")
            }
        },
        Rule("12.8", "Presence.sync is always answered with the array changes, also for no ids and for users never seen") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            for data: JSONValue in [
                ["ids": []], ["ids": [.string(Layer.identity(f.stranger()))]], ["since": "2019-01-01T00:00:00.000Z"],
                ["since": "2100-01-01T00:00:00.000Z"], ["ids": ["layer:///identities/a%20b", "layer:///identities/c.d"]],
            ] {
                let answer = try await socket.ask("Presence.sync", nil, data)
                f.check(answer.isSuccess && answer.data["changes"].array != nil, "\(data): \(answer.data)")
            }
        },
        Rule("12.8", "Presence.sync without ids or since, or with something else, is answered at any rate") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            for data: JSONValue? in [nil, [:], ["ids": "x"], ["since": "yesterday"], ["ids": [5]]] {
                let answer = try await socket.ask("Presence.sync", nil, data)
                f.check(answer.isSuccess ? answer.data["changes"].array != nil : answer.data["id"].string != nil, "\(answer.packet.body)")
            }
        },
        Rule("12.8", "Presence.sync since a time tells of the followed whose presence changed after it") { f in
            let (ana, _, anas, bens, _) = try await followers(f)
            let before = try await bens.ask("Counter.read").packet.timestamp ?? ""
            try await setStatus(anas, "busy")
            _ = try await seen(bens, "busy", of: ana)
            let data = try await bens.does("Presence.sync", nil, ["since": .string(before)])
            let change = (data["changes"].array ?? []).first { $0["object"]["id"].string == ana.id }
            f.check(change?["data"].has("set", "presence.status", value: "busy") == true, "\(data)")
            let none = try await bens.does("Presence.sync", nil, ["since": "2100-01-01T00:00:00.000Z"])
            f.equal(none["changes"], [])
        },
        Rule("12.8", "presence ends some time after the last connection", slow: true) { f in
            let (ana, _, anas, bens, _) = try await followers(f)
            try await setStatus(anas, "busy")
            _ = try await seen(bens, "busy", of: ana)
            await anas.abort()
            _ = try await bens.nextPacket("offline", deadline: .now + .seconds(100)) {
                $0.isChange("update", of: "Identity", id: ana.id) && $0.data.has("set", "presence.status", value: "offline")
            }
            f.equal(try await status(bens, of: ana), "offline")
        },
    ]

    // MARK: 12.9

    /// Asks for everything since a time over a new socket.
    private static func replay(
        _ user: User, from time: String, version: ProtocolVersion? = nil
    ) async throws -> (packets: [ReceivedPacket], answer: SocketAnswer) {
        let socket = try await user.silentSocket(gateway: 1, version: version)
        let answer = try await socket.ask("Event.replay", nil, ["from_timestamp": .string(time)])
        return (socket.history.filter { $0.index < answer.packet.index }, answer)
    }

    private static let longAgo = "2019-01-01T00:00:00.000Z"

    /// Replayed changes of an object, in few words.
    private static func summaries(_ packets: [ReceivedPacket], of id: String) -> [String] {
        packets.filter { $0.objectID == id }.map(\.summary)
    }

    private static let recovery: [Rule] = [
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
                guard let index = rest.firstIndex(of: summary) else { return f.fail("\(summary) is missing or out of order in \(told)") }
                rest = rest[(index + 1)...]
            }
            // A conversation that is told whole has what was set since already.
            let created = packets.first { $0.isChange("create", of: "Conversation") }
            f.check(created?.data["metadata"] == ["a": "1"] || told.contains("C update set metadata.a"), "the metadata is missing in \(told)")
            f.check(rest.contains("M create"), "the second message is missing in \(told)")
        },
        Rule("12.9", "the answer to a replay names the epoch that conversations carry, also where the log does not reach back far enough", .doc) {
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
            f.check(packets.contains { $0.isChange("create", of: "Message") && $0.data["parts"][0]["body"] == "meanwhile" }, "\(told)")
            let isTold = packets.contains { $0.isChange("create", of: "Conversation") && $0.data["metadata"] == ["a": "1"] }
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
            let texts = socket.history.filter { $0.isChange("create", of: "Message") }.compactMap { $0.data["parts"][0]["body"].string }
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
                f.refused(try await socket.ask("Event.replay", nil, ["from_timestamp": time]), "invalid_property", property: "from_timestamp")
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
        Rule("12.9", "a user's own deletions on their devices are replayed to all of their devices, and to no other user") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let message = try await users[0].sendID("x", to: id)
            try await users[1].does("DELETE", Layer.path(message) + "?mode=my_devices")
            let bens = try await replay(users[1], from: longAgo).packets
            f.equal(summaries(bens, of: message).last, "M delete my_devices")
            let anas = try await replay(users[0], from: longAgo).packets
            f.check(!summaries(anas, of: message).contains { $0.hasPrefix("M delete") }, "\(summaries(anas, of: message))")
        },
        Rule("12.9", "operation packets are replayed") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            try await users[0].send("x", to: id)
            try await users[1].does("POST", Layer.path(id) + "/mark_all_read", [:])
            let (packets, _) = try await replay(users[0], from: longAgo)
            f.check(packets.contains { $0.type == "operation" && $0.data["identity"]["id"].string == users[1].id }, "\(packets.map(\.summary))")
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
            f.check(isOut || last?.data.has("remove", "participants", id: users[1].id) == true, "\(last?.json ?? .null)")
            f.check(!packets.contains { $0.objectType == "Message" }, "a later message")
        },
        Rule("12.9", "what a former participant keeps, and was deleted for all while they were away, is told", .doc) { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            let gone = try await users[0].converse(users[1])
            let messages = [try await users[0].sendID("1", to: id), try await users[0].sendID("2", to: id)]
            for conversation in [id, gone] { try await users[0].patch(conversation, remove(users[1])) }
            try await users[0].does("DELETE", Layer.path(messages[0]) + "?mode=all_participants")
            try await users[0].does("DELETE", Layer.path(gone) + "?mode=all_participants")
            let (packets, _) = try await replay(users[1], from: longAgo)
            f.check(packets.contains { $0.isChange("delete", of: "Message", id: messages[0]) }, "\(packets.map(\.summary))")
            let update = packets.last { $0.isChange("update", of: "Conversation", id: id) && $0.data.operation("total_message_count") != nil }
            f.check(update?.data.has("set", "total_message_count", value: 1) == true, "\(update?.data ?? .null)")
            f.check(packets.last { $0.objectID == gone }?.isChange("delete", of: "Conversation") == true, "\(packets.map(\.summary))")
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
        Rule("12.9", "a replay asked for while one runs takes its place: both are answered, the later one with success") { f in
            let users = try await f.users("ana", "ben")
            try await users[0].converse(users[1])
            // Not checked: timestamps go back for each replay.
            let socket = try await users[1].silentSocket(isChecked: false)
            for id in ["a", "b"] {
                let body: JSONValue = ["request_id": .string(id), "method": "Event.replay", "data": ["from_timestamp": .string(longAgo)]]
                try await socket.sendPacket(["type": "request", "body": body])
            }
            _ = try await socket.nextPacket("the first answer", deadline: Fixture.deadline) { $0.requestID == "a" }
            let second = try await socket.nextPacket("the second answer", deadline: Fixture.deadline) { $0.requestID == "b" }
            f.equal(second.body["success"], true)
            f.check(socket.history.contains { $0.isChange("create", of: "Conversation") }, "nothing was replayed")
        },
    ]

    // MARK: 12.10

    private static let closing: [Rule] = [
        Rule("12.10", "the end of the session closes with 4401, and the session check answers 401 then") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket(gateway: 1)
            try await ana.does("DELETE", "/sessions/\(ana.session)")
            f.equal(try await socket.waitForClose(deadline: Fixture.deadline).code, 4401)
            f.refused(try await ana.call("GET", "/?action=validateConnectionForWebsocket&client=4.0.6"), "authentication_required")
        },
        Rule("12.10", "a client that closes is answered in kind") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            await socket.close(code: 1000)
            f.equal(socket.closure?.code, 1000)
        },
    ]

    // MARK: 12.11

    private static let ordering: [Rule] = [
        Rule("12.11", "the create of an object comes before any update of it") { f in
            let users = try await f.users("ana", "ben")
            let socket = try await users[1].socket()
            for number in 0..<5 {
                let id = try await users[0].converse(users[1])
                let message = try await users[0].sendID("\(number)", to: id)
                try await users[0].patch(id, set("metadata.a", "\(number)"))
                try await users[1].receipt("read", message)
            }
            for _ in 0..<5 { try await socket.change("update", "Message") }
            var known: Set<String> = []
            for packet in socket.history where packet.type == "change" {
                let id = packet.objectID ?? ""
                if packet.operation == "create" { known.insert(id) } else { f.check(known.contains(id), "\(packet.summary) before its create") }
            }
        },
        Rule("12.11", "the Message create comes right before the Conversation update that names it as last_message") { f in
            let scene = try await Scene(f)
            for text in ["1", "2", "3"] { try await scene.sent(text) }
            for socket in scene.all {
                var known: Set<String> = []
                for packet in socket.history {
                    if packet.isChange("create", of: "Message") { known.insert(packet.objectID ?? "") }
                    if let id = packet.data.operation("last_message")?["id"].string { f.check(known.contains(id), "unknown last_message") }
                }
            }
        },
        Rule("12.11", "messages come in the order of their positions, however many send at once") { f in
            let scene = try await Scene(f)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    let sender = number % 2 == 0 ? scene.ana : scene.ben
                    group.addTask { try await sender.send("\(number)", to: scene.conversation) }
                }
                try await group.waitForAll()
            }
            try await scene.sent("last")
            for socket in scene.all {
                let positions = socket.history.filter { $0.isChange("create", of: "Message") }.compactMap { $0.data["position"].int }
                f.equal(positions.count, 21)
                f.equal(positions, positions.sorted())
            }
        },
        Rule("12.11", "the response to a create comes before its change packet on the requesting connection") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            for number in 0..<5 {
                let conversation = try await socket.ask("Conversation.create", nil, User.conversation([]))
                let id = conversation.data["id"].string ?? ""
                let created = try await socket.change("create", "Conversation", id)
                f.check(conversation.packet.index < created.index, "conversation \(number)")
                let message = try await socket.ask("Message.create", id, User.message("\(number)"))
                let sent = try await socket.change("create", "Message", message.data["id"].string)
                f.check(message.packet.index < sent.index, "message \(number)")
            }
        },
        Rule("12.11", "replayed packets come before the answer to the replay") { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse(users[1])
            for number in 0..<10 { try await users[0].send("\(number)", to: id) }
            let (packets, _) = try await replay(users[1], from: longAgo)
            f.equal(packets.filter { $0.isChange("create", of: "Message") }.count, 10)
        },
    ]
}
