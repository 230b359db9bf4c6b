// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import StrataCommand
import TestCluster
import Testing

extension EndToEnd {
    @Suite("users who may add other users to conversations")
    struct AddingTests {
        /// Returns true if a user may add others, with every kind of request that adds them. A refusal names the
        /// participants and does not change the conversation.
        private func mayAdd(
            _ others: [TestUser], to conversation: Conversation, by user: TestUser, on socket: ProtocolSocket
        ) async throws -> Bool {
            let body: JSONValue = ["participants": .array(others.map { .string($0.identity) }), "distinct": false]
            let before = try await user.view(of: conversation)
            let patch = try await user.call(
                "PATCH", conversation.path, .array(others.map { add($0) } + [set("metadata.a", "1")]))
            let (created, asked) = (
                try await user.call("POST", "/conversations", body),
                try await socket.ask("Conversation.create", nil, body)
            )
            if patch.isSuccess, created.isSuccess, asked.isSuccess { return true }
            for answer in [patch, created] {
                #expect(answer.status == 422 && answer.errorID == "invalid_property", "\(answer.json)")
                #expect(answer.json["data"]["property"].string == "participants")
            }
            #expect(asked.errorID == "invalid_property" && asked.data["data"]["property"].string == "participants")
            #expect(try await user.view(of: conversation) == before)
            return false
        }

        @Test("an app decides who adds users: anyone, users they follow, or only its own server, which has no limit")
        func addedBy() async throws {
            let app = try await Cluster.shared().app()
            let users = try await app.signIn(["ana", "ben", "cleo"])
            let (ana, ben, cleo) = (users[0], users[1], users[2])
            let (server, socket) = (AppServer(app), try await ana.open())
            try await succeeds(server.call("PATCH", "", [set("participants_added_by", "followed")]), 202)
            let own = try await ana.converse(with: [])
            #expect(try await !mayAdd([ben], to: own, by: ana, on: socket))
            try await ben.does("PUT", "/following/users/ana")
            #expect(try await !mayAdd([ben, cleo], to: own, by: ana, on: socket))
            #expect(try await mayAdd([ben], to: own, by: ana, on: socket))

            try await succeeds(server.call("PATCH", "", [set("participants_added_by", "server")]), 202)
            let other = try await ana.converse(with: [], distinct: false)
            #expect(try await !mayAdd([ben], to: other, by: ana, on: socket))
            let body: JSONValue = ["participants": [.string(ben.identity), .string(cleo.identity)], "distinct": false]
            try await server.does("POST", as: "ana", "/conversations", body)
            try await succeeds(server.call("POST", "/conversations", body), 201)
            try await succeeds(server.call("PATCH", "/users/ana\(other.path)", [add(cleo)]), 204)
            #expect(try await cleo.view(of: other)["participants"].array?.count == 2)

            try await succeeds(server.call("PATCH", "", [set("participants_added_by", "anyone")]), 202)
            #expect(try await mayAdd([ben], to: other, by: ana, on: socket))
            #expect(socket.faults == [])
        }

        @Test("an app decides how often a non-followed user adds a user per hour")
        func strangers() async throws {
            let app = try await Cluster.shared().app()
            let users = try await app.signIn(["ana", "ben", "cleo"])
            let (ana, ben, cleo) = (users[0], users[1], users[2])
            let (server, socket) = (AppServer(app), try await ana.open())
            try await cleo.does("PUT", "/following/users/ana")
            try await succeeds(server.call("PATCH", "", [set("stranger_additions_per_hour", 3)]), 202)
            let own = try await ana.converse(with: [], distinct: false)
            #expect(try await mayAdd([ben], to: own, by: ana, on: socket))
            let other = try await ana.converse(with: [], distinct: false)
            #expect(try await !mayAdd([ben], to: other, by: ana, on: socket))
            try await ana.send("hello", to: own)
            #expect(try await mayAdd([cleo], to: other, by: ana, on: socket))
            try await server.does(
                "POST", as: "ana", "/conversations", ["participants": [.string(ben.identity)], "distinct": false])
            for wrong in [-1, 10_001, 1.5, "60", nil] as [JSONValue] {
                let refused = try await server.call("PATCH", "", [set("stranger_additions_per_hour", wrong)])
                #expect(refused.json["data"]["property"].string == "stranger_additions_per_hour", "\(wrong)")
            }
            #expect(socket.faults == [])
        }
    }
}
