// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    @Suite("typing and presence")
    struct EphemeralTests {
        private func scene() async throws -> (
            ana: TestUser, ben: TestUser, anas: ProtocolSocket, bens: ProtocolSocket, conversation: Conversation
        ) {
            let users = try await Cluster.shared().app().signIn(["ana", "ben"])
            let sockets = (try await users[0].open(), try await users[1].open())
            let conversation = try await users[0].converse(with: [users[1]])
            try await sockets.0.change("create", "Conversation", conversation.id)
            try await sockets.1.change("create", "Conversation", conversation.id)
            return (users[0], users[1], sockets.0, sockets.1, conversation)
        }

        private func typing(
            _ action: String, _ conversation: Conversation, on socket: ProtocolSocket
        ) async throws -> ReceivedPacket {
            try await socket.nextPacket("typing \(action)", deadline: Waiting.deadline) {
                $0.isTyping(action, conversation: conversation.id)
            }
        }

        /// Starts typing and waits until the other socket sees it. A signal is dropped while its socket is still
        /// joining the conversation, so it is repeated, as clients do.
        private func startTyping(
            _ typist: ProtocolSocket, _ conversation: Conversation, seenOn other: ProtocolSocket
        ) async throws -> ReceivedPacket {
            try await eventually("typing is seen") {
                try await typist.typing("started", in: conversation.id)
                return !other.pending { $0.isTyping("started", conversation: conversation.id) }.isEmpty
            }
            return try await typing("started", conversation, on: other)
        }

        @Test("typing that is not renewed pauses, then finishes, each announced once and to others only")
        func timeouts() async throws {
            let scene = try await scene()
            let begin = ContinuousClock.now
            let started = try await startTyping(scene.anas, scene.conversation, seenOn: scene.bens)
            #expect(started.data["sender"]["id"].string == "layer:///identities/ana")
            let paused = try await typing("paused", scene.conversation, on: scene.bens)
            let finished = try await typing("finished", scene.conversation, on: scene.bens)
            #expect(started.index < paused.index && paused.index < finished.index)
            // It must not be sooner than the configured periods. How much later depends on the machine's load.
            #expect(begin.duration(to: finished.receivedAt) > Cluster.typingPeriod * 1.9)
            // A second round proves that nothing else was pending. If a renewal comes too late, there may be a pause
            // before it.
            _ = try await startTyping(scene.anas, scene.conversation, seenOn: scene.bens)
            let actions = scene.bens.history.filter { $0.isTyping() }.compactMap { $0.data["action"].string }
            let next = ["started": ["paused"], "paused": ["started", "finished"], "finished": ["started"]]
            #expect(actions.first == "started" && actions.filter { $0 == "finished" }.count == 1)
            for (action, following) in zip(actions, actions.dropFirst()) {
                #expect(next[action]?.contains(following) == true, "\(actions)")
            }
            #expect(!scene.anas.history.contains { $0.isTyping() })
            #expect(scene.bens.faults == [])
        }

        @Test("a message ends its sender's typing")
        func messageEndsTyping() async throws {
            var wasFastEnough = false
            // If the message comes too late, the pause comes first.
            for _ in 1...10 where !wasFastEnough {
                let scene = try await scene()
                let begin = ContinuousClock.now
                _ = try await startTyping(scene.anas, scene.conversation, seenOn: scene.bens)
                try await scene.ana.send("done", to: scene.conversation)
                let finished = try await typing("finished", scene.conversation, on: scene.bens)
                wasFastEnough = begin.duration(to: finished.receivedAt) < Cluster.typingPeriod
                if wasFastEnough { #expect(!scene.bens.history.contains { $0.isTyping("paused") }) }
            }
            #expect(wasFastEnough)
        }

        @Test("a message ends its sender's typing, whichever session sends it through whichever gateway")
        func messageElsewhereEndsTyping() async throws {
            var wasFastEnough = false
            for _ in 1...10 where !wasFastEnough {
                let app = try await Cluster.shared().app()
                let (ana, ben) = (try await app.signIn("ana", via: 0), try await app.signIn("ben", via: 0))
                let elsewhere = try await app.signIn("ana", via: 1)
                let (anas, bens) = (try await ana.open(), try await ben.open())
                let conversation = try await ana.converse(with: [ben])
                for socket in [anas, bens] { try await socket.change("create", "Conversation", conversation.id) }
                let begin = ContinuousClock.now
                _ = try await startTyping(anas, conversation, seenOn: bens)
                // The second gateway has no socket in this conversation.
                try await elsewhere.send("done", to: conversation)
                let finished = try await typing("finished", conversation, on: bens)
                wasFastEnough = begin.duration(to: finished.receivedAt) < Cluster.typingPeriod
                if wasFastEnough { #expect(!bens.history.contains { $0.isTyping("paused") }) }
            }
            #expect(wasFastEnough)
        }

        @Test("typing ends although the typist's gateway connection is lost")
        func typistGone() async throws {
            let scene = try await scene()
            _ = try await startTyping(scene.anas, scene.conversation, seenOn: scene.bens)
            await scene.anas.abort(reset: true)
            _ = try await typing("paused", scene.conversation, on: scene.bens)
            _ = try await typing("finished", scene.conversation, on: scene.bens)
        }

        @Test("typing that requests an answer is confirmed; typing of a non-participant is dropped")
        func confirmation() async throws {
            let scene = try await scene()
            let signal: JSONValue = [
                "type": "signal",
                "body": [
                    "type": "typing_indicator", "request_id": "t1", "object": ["id": .string(Conversation.newID())],
                    "data": ["action": "started"],
                ],
            ]
            try await scene.anas.sendPacket(signal)
            let answer = try await scene.anas.nextPacket("the confirmation", deadline: Waiting.deadline) {
                $0.requestID == "t1"
            }
            #expect(answer.body["success"].bool == true)
        }

        @Test("subscribed followers see presence, sync returns it, and it ends with the connection")
        func presence() async throws {
            let scene = try await scene()
            #expect(try await scene.bens.ask("Presence.subscribe").isSuccess)
            let busy: JSONValue = [set("status", "busy")]
            #expect(try await scene.anas.ask("Presence.update", nil, busy).isSuccess)
            try await scene.bens.change("update", "Identity", "layer:///identities/ana") {
                $0.has("set", property: "presence.status", value: "busy")
            }
            let sync = try await scene.bens.ask(
                "Presence.sync", nil, ["ids": ["layer:///identities/ana", "layer:///identities/nobody"]])
            let changes = try #require(sync.data["changes"].array)
            let own = try #require(changes.first { $0["object"]["id"].string == "layer:///identities/ana" })
            #expect(own["data"].has("set", property: "presence.status", value: "busy"))
            let invisible: JSONValue = [set("status", "invisible")]
            #expect(try await scene.anas.ask("Presence.update", nil, invisible).isSuccess)
            try await scene.bens.change("update", "Identity", "layer:///identities/ana") {
                $0.has("set", property: "presence.status", value: "offline")
            }
            #expect(try await scene.anas.ask("Presence.update", nil, [set("status", "available")]).isSuccess)
            try await scene.bens.change("update", "Identity", "layer:///identities/ana") {
                $0.has("set", property: "presence.status", value: "available")
            }
            await scene.anas.abort()
            try await scene.bens.change("update", "Identity", "layer:///identities/ana") {
                $0.has("set", property: "presence.status", value: "offline")
            }
            #expect(scene.bens.faults == [])
        }

        @Test("presence sync returns any number of followed users")
        func manyFollowed() async throws {
            let app = try await Cluster.shared().app()
            let (ana, ben) = (try await app.signIn("ana"), try await app.signIn("ben", via: 1))
            let bens = try await ben.open()
            #expect(try await bens.ask("Presence.update", nil, [set("status", "busy")]).isSuccess)
            // 21 conversations of 250 users exceed what the presence service accepts at once.
            for room in 0..<21 {
                let others = (0..<248).map { JSONValue.string("layer:///identities/\(room).\($0)") }
                try await ana.does(
                    "POST", "/conversations",
                    ["participants": .array(others + [.string(ben.identity)]), "distinct": false])
            }
            let anas = try await ana.open()
            let sync = try await anas.ask("Presence.sync", nil, ["since": "2020-01-01T00:00:00.000Z"])
            #expect(sync.isSuccess)
            let changes = try #require(sync.data["changes"].array)
            #expect(changes.compactMap { $0["object"]["id"].string } == [ben.identity])
            #expect(try await anas.ask("Presence.subscribe").isSuccess)
        }

        @Test("an invalid status is refused, and sync is always answered")
        func badPresence() async throws {
            let scene = try await scene()
            let refused = try await scene.anas.ask("Presence.update", nil, [set("status", "sleeping")])
            #expect(refused.errorID == "invalid_property")
            #expect(refused.data["data"]["property"].string == "status")
            let sync = try await scene.anas.ask("Presence.sync", nil, ["since": "2020-01-01T00:00:00.000Z"])
            #expect(sync.isSuccess)
            #expect(sync.data["changes"].array != nil)
        }
    }
}
