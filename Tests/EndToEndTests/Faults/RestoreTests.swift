// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    /// A database that is restored to an earlier state while all services run.
    @Suite("database restore")
    struct RestoreTests {
        @Test(
            "restoring an older database state closes open sockets, and reconnecting clients receive the changes from there"
        )
        func putBack() async throws {
            try await Cluster.with(Cluster.Size(gateways: 2)) { cluster in
                let users = try await cluster.app().signIn(["ana", "ben"])
                let conversation = try await users[0].converse(with: [users[1]])
                let sockets = [try await users[0].open(via: 0), try await users[1].open(via: 1)]
                try await users[0].send("kept", to: conversation)
                for socket in sockets { try await socket.message("kept") }
                let copy = try await copyOfDatabase(cluster)
                for number in 0..<3 { try await send("lost \(number)", by: users[0], to: conversation) }
                for socket in sockets { try await socket.message("lost 2") }
                let before = try await view(of: conversation, by: users[1])
                try await putBack(copy, cluster)
                for socket in sockets {
                    #expect(try await socket.waitForClose(deadline: Waiting.deadline).code == 1001)
                }
                let last = try #require(sockets[1].history.last?.timestamp)
                let ben = try await users[1].openSilent(via: 1)
                try await eventually("the replay succeeds") {
                    try await ben.request(
                        "Event.replay", data: ["from_timestamp": .string(last)], deadline: Waiting.deadline
                    )
                    .isSuccess
                }
                let after = try await view(of: conversation, by: users[1])
                #expect(after["epoch"].string != before["epoch"].string)
                let (now, then) = (try #require(after["position"].int), try #require(before["position"].int))
                #expect(now < then)
                // The conversations service alone answers this request, and it has answered above.
                let listed = try await users[1].call("GET", conversation.path + "/messages").json.array ?? []
                let texts = listed.map { $0["parts"][0]["body"].string }
                #expect(texts == ["kept"])
                // Send as many messages as were lost, so that their positions repeat with other content.
                for number in 0..<5 {
                    try await send("new \(number)", by: users[0], to: conversation)
                    try await ben.message("new \(number)")
                }
                #expect(ben.closure == nil)
                #expect(ben.faults == [])
            }
        }

        /// Returns the conversation as the user sees it. Both services involved reconnect to the database, each in its
        /// own time. Until both have, the answer is 503.
        private func view(of conversation: Conversation, by user: TestUser) async throws -> JSONValue {
            var view = JSONValue.null
            try await eventually("the conversation can be read") {
                let answer = try await user.call("GET", conversation.path)
                view = answer.json
                return answer.isSuccess
            }
            return view
        }

        private func send(_ text: String, by user: TestUser, to conversation: Conversation) async throws {
            let id = "layer:///messages/\(UUID().uuidString.lowercased())"
            try await eventually("a message can be sent") {
                let answer = try await user.call(
                    "POST", conversation.path + "/messages", TestUser.message(text, id: id))
                return answer.isSuccess || answer.status == 409
            }
        }

        /// Stops the database, copies its files, and starts it again. The copy has the timeline and the identifier of
        /// the original. Only the services' knowledge of a newer state distinguishes them.
        private func copyOfDatabase(_ cluster: Cluster) async throws -> String {
            await cluster.postgres.stop()
            let data = data(of: cluster)
            try await run("cp", ["-a", data, data + ".copy"])
            try await cluster.postgres.restart()
            return data + ".copy"
        }

        private func putBack(_ copy: String, _ cluster: Cluster) async throws {
            // The services read the database's write-ahead log position every two seconds.
            let service = cluster.instances(of: .conversations)[0]
            let checks = try await service.metric("strata_conversations_epoch_checks_total")
            try await eventually("the service has seen the newer state") {
                try await service.metric("strata_conversations_epoch_checks_total") >= checks + 2
            }
            await cluster.postgres.stop()
            let data = data(of: cluster)
            try await run("rm", ["-r", data])
            try await run("mv", [copy, data])
            try await cluster.postgres.restart()
        }

        private func data(of cluster: Cluster) -> String {
            String(cluster.postgres.log.dropLast("/log".count)) + "/data"
        }

        private func run(_ program: String, _ words: [String]) async throws {
            let exit = try await ChildProcess.run(Launch("/bin/" + program, arguments: words))
            guard exit.isSuccess else { throw Problem("\(program): \(exit.output)") }
        }
    }
}
