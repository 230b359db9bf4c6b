// SPDX-License-Identifier: Apache-2.0

import LocalServers
import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    /// Any process may die at any moment. Each test breaks its system and therefore has its own.
    @Suite("faults")
    struct FaultTests {
        @Test("acknowledged changes reach all clients even if the process was killed before publishing them")
        func killedBeforePublishing() async throws {
            try await Cluster.with(Cluster.Size(gateways: 2)) { cluster in
                let app = try await cluster.app()
                let users = try await app.signIn(["ana", "ben"])
                let sockets = [try await users[0].open(), try await users[1].open()]
                let conversation = try await users[0].converse(with: [users[1]])
                for socket in sockets { try await socket.change("create", "Conversation", conversation.id) }
                let service = cluster.instances(of: .conversations)[0]
                var acknowledged: Set<String> = []
                for round in 0..<4 {
                    acknowledged.formUnion(try await sendAtOnce(round, by: users[0], to: conversation))
                    await service.kill()
                    try await service.start()
                }
                #expect(!acknowledged.isEmpty)
                try await sendWhenPossible("end", by: users[0], to: conversation)
                let head = try #require(try await users[0].view(of: conversation)["position"].int)
                for (user, socket) in zip(users, sockets) {
                    try await socket.positions(upTo: head, of: conversation)
                    let seen = Set(
                        socket.history.filter { $0.isChange("create", of: "Message") }.compactMap(\.objectID))
                    #expect(acknowledged.subtracting(seen) == [])
                    #expect(socket.ledger.missing(of: conversation.id, upTo: head) == [])
                    #expect(socket.faults == [])
                    try await eventually("the server lists the same") {
                        // The user's gateway must find the new process first, too.
                        let listed = try await user.call("GET", conversation.path + "/messages").json.array ?? []
                        return Set(listed.compactMap { $0["id"].string }) == seen
                    }
                }
                try await erase(users[0], of: app, in: conversation, seenBy: users[1], on: cluster)
            }
        }

        /// Kills the service in the middle of an erasure. After the restart, the rest of the erasure is carried out and
        /// announced.
        private func erase(
            _ user: TestUser, of app: TestApp, in conversation: Conversation, seenBy other: TestUser,
            on cluster: Cluster
        ) async throws {
            let id = conversation.id.suffix(36)
            try await cluster.sql(
                """
                DO $load$ BEGIN FOR n IN 1..3000 LOOP
                    PERFORM conversations.send_message(
                        '\(app.app.id)', '\(user.user)', '\(id)', gen_random_uuid(), '\\x01', NULL, NULL, NULL, NULL, true);
                END LOOP; END $load$
                """)
            let service = cluster.instances(of: .conversations)[0]
            #expect(try await AppServer(app).call("DELETE", "/users/\(user.user)").status == 202)
            await service.kill()
            try await service.start()
            try await sendWhenPossible("before the end of the erasure", by: other, to: conversation)
            let socket = try await other.open()
            try await eventually("all of the user's messages have lost their parts") {
                try await cluster.sql(
                    "SELECT count(*) FROM conversations.message WHERE sender = '\(user.user)' AND octet_length(parts) > 0"
                )
                .hasPrefix("0")
            }
            // Succeeds once the gateway has found the restarted service. The next position shows the gap that the
            // unpublished changes left.
            try await sendWhenPossible("after the erasure", by: other, to: conversation)
            let head = try #require(try await other.view(of: conversation)["position"].int)
            try await socket.positions(upTo: head, of: conversation)
            #expect(socket.faults == [])
        }

        /// Sends twelve messages concurrently.
        /// - Returns: The ids of the first few acknowledged messages. The other requests are still pending.
        private func sendAtOnce(_ round: Int, by user: TestUser, to conversation: Conversation) async throws -> [String]
        {
            let answers = try await withThrowingTaskGroup(of: RESTResponse?.self) { group in
                for number in 0..<12 {
                    group.addTask {
                        try? await user.call(
                            "POST", conversation.path + "/messages", TestUser.message("\(round).\(number)"))
                    }
                }
                var answers: [RESTResponse?] = []
                for try await answer in group { answers.append(answer) }
                return answers
            }
            return answers.compactMap { $0 }.filter(\.isSuccess).compactMap { $0.json["id"].string }
        }

        /// Sends a message, retrying until the caller has found the restarted process.
        private func sendWhenPossible(_ text: String, by user: TestUser, to conversation: Conversation) async throws {
            try await eventually("a message can be sent again") {
                try await user.call("POST", conversation.path + "/messages", TestUser.message(text)).isSuccess
            }
        }

        @Test("every connected client gets every change although Redis dies, stays away and returns empty")
        func redisKilled() async throws {
            try await Cluster.with(Cluster.Size(gateways: 2)) { cluster in
                let users = try await cluster.app().signIn(["ana", "ben", "cleo"])
                let sockets = [try await users[0].open(), try await users[1].open(), try await users[2].open()]
                let conversation = try await users[0].converse(with: [users[1]])
                try await users[0].send("before", to: conversation)
                for socket in sockets.prefix(2) { try await socket.message("before") }
                await cluster.redis.kill()
                for number in 0..<10 { try await users[0].send("away \(number)", to: conversation) }
                try await users[1].patch(conversation, set("metadata.redis", "away"))
                // Add a user whose gateway cannot be notified.
                try await users[0].patch(conversation, add(users[2]))
                for socket in sockets {
                    if socket !== sockets[2] { try await socket.message("away 9") }
                    _ = try await socket.nextPacket("the addition", deadline: Waiting.deadline) {
                        $0.isChange("create", of: "Conversation", id: conversation.id)
                            || ($0.isChange("update", of: "Conversation", id: conversation.id)
                                && $0.data.has("set", property: "distinct", value: false))
                    }
                }
                try await cluster.redis.restart()
                for number in 0..<10 { try await users[1].send("back \(number)", to: conversation) }
                let view = try await users[1].view(of: conversation)
                let head = try #require(view["position"].int)
                for socket in sockets {
                    try await socket.message("back 9")
                    if socket !== sockets[2] { #expect(socket.ledger.missing(of: conversation.id, upTo: head) == []) }
                    #expect(socket.faults == [])
                }
            }
        }

        @Test("typing works again after Redis has returned")
        func typingAfterRedis() async throws {
            try await Cluster.with(Cluster.Size(settings: ["STRATA_TYPING_PAUSE": "1s", "STRATA_TYPING_FINISH": "1s"]))
            { cluster in
                let users = try await cluster.app().signIn(["ana", "ben"])
                let (anas, bens) = (try await users[0].open(), try await users[1].open())
                let conversation = try await users[0].converse(with: [users[1]])
                for socket in [anas, bens] { try await socket.change("create", "Conversation", conversation.id) }
                await cluster.redis.kill()
                try await cluster.redis.restart()
                try await eventually("typing is heard again") {
                    try await anas.typing("started", in: conversation.id)
                    return bens.history.contains { $0.isTyping("started") }
                }
                for action in ["paused", "finished"] {
                    _ = try await bens.nextPacket(action, deadline: Waiting.deadline) {
                        $0.isTyping(action, conversation: conversation.id)
                    }
                }
            }
        }

        @Test("presence lasts as long as the connection, for any lease, and ends with a gateway that dies", .long)
        func gatewayOfPresenceKilled() async throws {
            let settings = ["STRATA_PRESENCE_LEASE": "9s", "STRATA_PRESENCE_GRACE": "9s"]
            try await Cluster.with(Cluster.Size(gateways: 2, settings: settings)) { cluster in
                let app = try await cluster.app()
                let (ana, ben) = (try await app.signIn("ana", via: 1), try await app.signIn("ben", via: 0))
                let (anas, bens) = (try await ana.open(), try await ben.open())
                let conversation = try await ana.converse(with: [ben])
                try await bens.change("create", "Conversation", conversation.id)
                #expect(try await bens.ask("Presence.subscribe").isSuccess)
                #expect(try await anas.ask("Presence.update", nil, [set("status", "busy")]).isSuccess)
                try await bens.change("update", "Identity", ana.identity) {
                    $0.has("set", property: "presence.status", value: "busy")
                }
                // The lease is renewed every 3 s. Four renewals take longer than one lease lasts.
                let presence = cluster.instances(of: .presence)[0]
                try await eventually("the lease is renewed again and again") {
                    try await presence.metric("strata_rpc_server_calls_total", #"method="renewPresence""#) >= 4
                }
                #expect(
                    !bens.history.contains {
                        $0.objectID == ana.identity && $0.data.has("set", property: "presence.status", value: "offline")
                    })
                await cluster.instances(of: .gateway)[1].kill()
                try await bens.change("update", "Identity", ana.identity) {
                    $0.has("set", property: "presence.status", value: "offline")
                }
                #expect(bens.faults == [])
            }
        }

        @Test("an instance that hangs, neither answering nor closing, does not stop the others")
        func hanging() async throws {
            try await Cluster.with(Cluster.Size(conversations: 2)) { cluster in
                let users = try await cluster.app().signIn(["ana", "ben"])
                let socket = try await users[1].open()
                let conversation = try await users[0].converse(with: [users[1]])
                await cluster.instances(of: .conversations)[0].suspend()
                for number in 0..<4 { try await sendWhenPossible("message \(number)", by: users[0], to: conversation) }
                for number in 0..<4 { try await socket.message("message \(number)") }
                await cluster.instances(of: .conversations)[0].resume()
                try await sendWhenPossible("end", by: users[0], to: conversation)
                try await socket.message("end")
                #expect(socket.faults == [])
            }
        }

        @Test("a killed gateway's clients reconnect through the other gateway and miss nothing")
        func gatewayKilled() async throws {
            try await Cluster.with(Cluster.Size(gateways: 2)) { cluster in
                let users = try await cluster.app().signIn(["ana", "ben"])
                let lost = try await users[1].open(via: 1)
                let conversation = try await users[0].converse(with: [users[1]])
                let since = try #require(try await lost.change("create", "Conversation", conversation.id).timestamp)
                await cluster.instances(of: .gateway)[1].kill()
                _ = try await lost.waitForClose(deadline: Waiting.deadline)
                for number in 0..<5 { try await users[0].send("missed \(number)", to: conversation) }
                let socket = try await users[1].openSilent(via: 0)
                #expect(try await socket.ask("Event.replay", nil, ["from_timestamp": .string(since)]).isSuccess)
                for number in 0..<5 { try await socket.message("missed \(number)") }
                #expect(socket.faults == [])
            }
        }
    }
}
