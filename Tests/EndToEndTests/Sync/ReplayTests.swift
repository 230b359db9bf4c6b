// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster
import Testing

@testable import StrataCommand

extension EndToEnd {
    @Suite("reconnecting")
    struct ReplayTests {
        @Test("Counter.read returns the counter of the packet before its answer")
        func counter() async throws {
            let ana = try await Cluster.shared().app().signIn("ana")
            let socket = try await ana.openSilent()
            for _ in 0..<3 {
                let answer = try await socket.ask("Counter.read")
                #expect(answer.data["counter"].int == max(0, answer.packet.index - 1))
            }
            #expect(socket.violations == [])
        }

        @Test("a client that reconnects through another gateway receives all missed changes, then the answer")
        func replay() async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben", "cleo"])
            let (ana, ben, cleo) = (users[0], users[1], users[2])
            let lost = try await ben.open(via: 0)
            let conversation = try await ana.converse(with: [ben], metadata: ["a": "1", "b": ["c": "2"]])
            try await ana.send("known", to: conversation)
            let last = try await lost.message("known")
            await lost.abort(reset: true)
            for number in 0..<5 { try await ana.send("missed \(number)", to: conversation) }
            try await ana.patch(conversation, set("metadata.b.d", "3"), delete("metadata.a"))
            try await ana.patch(conversation, add(cleo))
            let second = try await ana.converse(with: [ben], metadata: ["new": "yes"], distinct: false)
            let socket = try await ben.openSilent(via: 1)
            let answer = try await socket.ask(
                "Event.replay", nil, ["from_timestamp": .string(try #require(last.timestamp))])
            #expect(answer.isSuccess)
            #expect(answer.data["complete"].bool == true)
            let before = socket.history.filter { $0.index < answer.packet.index }
            for number in 0..<5 {
                #expect(before.contains { $0.data["parts"][0]["body"].string == "missed \(number)" })
            }
            #expect(before.contains { $0.isChange("create", of: "Conversation", id: second.id) })
            let start = try #require(
                lost.history.first { $0.isChange("create", of: "Conversation", id: conversation.id) }
            )
            .data
            let view = try await ben.view(of: conversation)
            #expect(socket.replica(of: conversation, from: start) == ConversationReplica(view))
            let head = try #require(view["position"].int)
            let missing = Set(lost.ledger.missing(of: conversation.id, upTo: head))
                .intersection(socket.ledger.missing(of: conversation.id, upTo: head))
            #expect(missing == [])
            #expect(socket.faults == [])
        }

        @Test("an interrupted replay that is repeated from the last received packet omits nothing")
        func cutReplay() async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben"])
            let (ana, ben) = (users[0], users[1])
            let conversations = [
                try await ana.converse(with: [ben], distinct: false),
                try await ana.converse(with: [ben], distinct: false),
            ]
            let first = try await ben.open(via: 0)
            for conversation in conversations { try await first.change("create", "Conversation", conversation.id) }
            var since = try #require(first.history.last?.timestamp)
            await first.abort()
            for number in 0..<60 { try await ana.send("missed \(number)", to: conversations[number % 2]) }
            var seen: Set<String> = []
            // Each time the connection drops after more packets. The client remembers only the last packet's time.
            for cut in [7, 30, 55, 200] {
                let socket = try await ben.openSilent(via: cut)
                let stream = socket.packets()
                let replay = Task { [since] in
                    try await socket.ask("Event.replay", nil, ["from_timestamp": .string(since)])
                }
                var isDone = false
                for await packet in stream {
                    if packet.isChange("create", of: "Message"), let text = packet.data["parts"][0]["body"].string {
                        seen.insert(text)
                    }
                    since = packet.timestamp ?? since
                    isDone = packet.body["method"].string == "Event.replay"
                    if packet.index >= cut || isDone { break }
                }
                await socket.abort(reset: true)
                _ = try? await replay.value
                #expect(socket.faults == [])
                if isDone { break }
            }
            #expect(seen.count == 60)
        }

        @Test("changes during a replay follow it, in order, once")
        func liveDuringReplay() async throws {
            let users = try await Cluster.shared().app().signIn(["ana", "ben"])
            let (ana, ben) = (users[0], users[1])
            let conversation = try await ana.converse(with: [ben])
            for number in 0..<40 { try await ana.send("old \(number)", to: conversation) }
            let socket = try await ben.openSilent(via: 1)
            async let sending: Void = {
                for number in 0..<40 { try await ana.send("new \(number)", to: conversation) }
            }()
            let answer = try await socket.ask("Event.replay", nil, ["from_timestamp": "2020-01-01T00:00:00.000Z"])
            #expect(answer.isSuccess)
            try await sending
            try await socket.message("new 39")
            let texts = socket.history.filter { $0.isChange("create", of: "Message") }
                .compactMap { $0.data["parts"][0]["body"].string }
            #expect(texts == (0..<40).map { "old \($0)" } + (0..<40).map { "new \($0)" })
            #expect(socket.faults == [])
        }

        @Test("a replay from an invalid time is refused, and the error names the time")
        func badTime() async throws {
            let ana = try await Cluster.shared().app().signIn("ana")
            let socket = try await ana.openSilent()
            let answer = try await socket.ask("Event.replay", nil, ["from_timestamp": "yesterday"])
            #expect(answer.errorID == "invalid_property")
            #expect(answer.data["data"]["property"].string == "from_timestamp")
            #expect(try await socket.ask("Counter.read").isSuccess)
        }
    }
}
