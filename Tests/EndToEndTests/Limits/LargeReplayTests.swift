// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    /// Large replays, and conversations that are too large to be shown. Each test has its own system.
    @Suite("large replays", .timeLimit(.minutes(10)))
    struct LargeReplayTests {
        private static let longAgo: JSONValue = ["from_timestamp": "2020-01-01T00:00:00.000Z"]

        /// Returns the peak resident memory of a process so far, in MB.
        private func peak(of process: ServiceProcess) async throws -> Int {
            let pid = try #require(await process.pid)
            let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
            return try #require(line.split(separator: " ").dropLast().last.flatMap { Int($0) }) / 1024
        }

        @Test(
            "a long replay returns 60 conversations of 0.8 MB each, while the gateway holds only a few in memory", .long
        )
        func many() async throws {
            try await Cluster.with(Cluster.Size()) { cluster in
                let users = try await LargeAnswerTests.conversations(60, leaves: 400, in: cluster)
                let gateway = cluster.instances(of: .gateway)[0]
                let socket = try await users[1].openSilent()
                let before = try await peak(of: gateway)
                let answer = try await socket.request(
                    "Event.replay", data: Self.longAgo, deadline: .now + .seconds(300))
                #expect(answer.isSuccess)
                let shown = socket.history.filter { $0.isChange("create", of: "Conversation") }
                #expect(Set(shown.compactMap { $0.data["id"].string }).count == 60 && shown.count == 60)
                #expect(shown.allSatisfy { $0.data["metadata"]["key400"].string?.utf8.count == 2000 })
                #expect(try await peak(of: gateway) - before < 100)
                #expect(socket.faults == [])
            }
        }

        /// Gives a conversation a tree of 80 MB, which exceeds the limit of any answer.
        /// - Parameter isCounted: True to record the tree's size, as the service does.
        private func inflate(_ conversation: Conversation, _ cluster: Cluster, isCounted: Bool) async throws {
            let id = conversation.id.suffix(36)
            try await cluster.sql(
                """
                INSERT INTO metadata.leaf (conversation_id, path, value, position)
                SELECT c.id, 'key' || g, repeat('x', 2000), c.position FROM conversations.conversation c CROSS JOIN generate_series(1, 40000) g
                WHERE c.id = '\(id)'
                """)
            let count =
                "(SELECT sum(octet_length(path) + octet_length(value)) FROM metadata.leaf WHERE conversation_id = '\(id)')"
            try await cluster.sql(
                """
                INSERT INTO metadata.tree AS t (conversation_id, bytes) VALUES ('\(id)', \(isCounted ? count : "NULL"))
                ON CONFLICT (conversation_id) DO UPDATE SET bytes = excluded.bytes
                """)
        }

        private func deflate(_ conversation: Conversation, _ cluster: Cluster) async throws {
            let id = conversation.id.suffix(36)
            for table in ["leaf", "tree"] {
                try await cluster.sql("DELETE FROM metadata.\(table) WHERE conversation_id = '\(id)'")
            }
        }

        @Test(
            "a conversation that is too large to show affects neither the list nor the replay nor live changes",
            arguments: [true, false])
        func tooLarge(isCounted: Bool) async throws {
            try await Cluster.with(Cluster.Size(settings: ["STRATA_METADATA_MAX_BYTES": "0"])) { cluster in
                let users = try await cluster.app().signIn(["ana", "ben", "cleo"])
                let (ana, ben, cleo) = (users[0], users[1], users[2])
                let small = try await ana.converse(with: [ben], metadata: ["title": "small"], distinct: false)
                let large = try await ana.converse(with: [ben], distinct: false)
                let other = try await ana.converse(with: [ben], distinct: false)
                try await inflate(large, cluster, isCounted: isCounted)
                let gateway = cluster.instances(of: .gateway)[0]

                let list = try await ben.does("GET", "/conversations")
                #expect(list.json.array?.compactMap { $0["id"].string } == [other.id, small.id])
                let single = try await ben.call("GET", large.path)
                #expect(single.status == 500 && single.errorID == "internal_server_error")

                let socket = try await ben.openSilent()
                let answer = try await socket.ask("Event.replay", nil, Self.longAgo)
                #expect(answer.isSuccess)
                let shown = socket.history.filter { $0.isChange("create", of: "Conversation") }
                    .compactMap { $0.data["id"].string }
                #expect(Set(shown) == [small.id, other.id])
                #expect(try await gateway.metric("strata_gateway_unshown_conversations_total") == 2)
                try await ana.send("live", to: small)
                try await socket.message("live")

                // Ben is added to a large conversation while connected. The other conversations go on, and it is shown
                // once it fits.
                let late = try await ana.converse(with: [cleo], distinct: false)
                try await inflate(late, cluster, isCounted: isCounted)
                try await ana.patch(late, add(ben))
                try await eventually("it is found that it cannot be shown") {
                    try await gateway.metric("strata_gateway_unshown_conversations_total") == 3
                }
                try await ana.send("still live", to: small)
                try await socket.message("still live")
                #expect(socket.packets(of: late).isEmpty)

                for conversation in [large, late] { try await deflate(conversation, cluster) }
                for conversation in [large, late] { try await socket.change("create", "Conversation", conversation.id) }
                try await ana.send("at last", to: late)
                try await socket.message("at last")
                #expect(try await ben.view(of: large)["id"].string == large.id)
                #expect(try await gateway.metric("strata_gateway_unshown_conversations_total") == 3)
                #expect(gateway.lines(containing: "cannot be shown").count == 3)
                #expect(socket.faults == [])
            }
        }
    }
}
