// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import ProtocolClient
import TestCluster
import TestSupport
import TestTiers
import Testing

@testable import Soak

/// Verifies the tests themselves: each test breaks a promise deliberately, from outside, and expects the violation to
/// be detected.
@Suite("deliberately broken promises", .serialized, .long)
struct SabotageTests {
    private static let sound = Cluster.Size(gateways: 2, conversations: 2, metadata: 1, presence: 1)

    private static func trial(
        _ faults: [Fault] = [], on cluster: Cluster, patience: Duration = .seconds(90)
    ) async throws -> [Violation] {
        let (row, violations) = try await Trial(faults, seed: 7, period: .seconds(2)).judge(cluster, patience: patience)
        print(row)
        return violations
    }

    /// Returns the number of repairs: reads of the log by gateways, because changes were not published.
    private static func repairs(_ cluster: Cluster) async throws -> Double {
        var sum = 0.0
        for gateway in cluster.instances(of: .gateway) {
            sum += try await gateway.metric("strata_gateway_gap_repairs_total")
        }
        return sum
    }

    @Test("gap repair compensates for the loss of one publication in twenty, and the gateways count it")
    func publicationsLost() async throws {
        var size = Self.sound
        size.lostPublications = 20
        try await Cluster.with(size) { cluster in
            #expect(try await Self.trial(on: cluster).isEmpty)
            let lost = try #require(cluster.lossy).lost
            #expect(lost > 0)
            // Two consecutive losses need only one repair, and the last change of a conversation is found by its head.
            #expect(try await Self.repairs(cluster) > 0)
        }
    }

    @Test("the checker finds losses if one publication in a hundred is lost and no gap repaired")
    func gapsUnrepaired() async throws {
        var size = Self.sound
        size.lostPublications = 100
        size.settings = ["STRATA_GAP_PATIENCE": "10m", "STRATA_HEADS_INTERVAL": "60s"]
        try await Cluster.with(size) { cluster in
            // On a slow machine a trial may have fewer than a hundred publications.
            var isFound = false
            for _ in 1...5 where !isFound {
                isFound = try await Self.trial(on: cluster, patience: .seconds(5)).contains { $0.kind == .lost }
            }
            #expect(isFound)
        }
    }

    @Test("the checker finds losses after a PostgreSQL crash if answers and publications precede the durable commit")
    func publishedBeforeCommit() async throws {
        var size = Self.sound
        // Allows the test to replace the function with which the services enable synchronous commits.
        size.postgresSettings = ["allow_system_table_mods": "on"]
        try await Cluster.with(size) { cluster in
            let database = String(cluster.databaseURL.split(separator: "/").last ?? "")
            try await cluster.postgres.runSQL(
                """
                ALTER FUNCTION pg_catalog.set_config(text, text, boolean) RENAME TO set_config_soundly;
                CREATE FUNCTION pg_catalog.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS $$
                    SELECT pg_catalog.set_config_soundly($1, CASE WHEN $1 = 'synchronous_commit' THEN 'off' ELSE $2 END, $3) $$;
                """, database: database)
            // Stop the WAL writer, which would otherwise write these commits a moment later.
            let writer = try await cluster.postgres.runSQL(
                "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
            kill(try #require(Int32(writer.trimmingCharacters(in: .whitespacesAndNewlines))), SIGSTOP)
            for process in cluster.instances(of: .conversations) + cluster.instances(of: .metadata) {
                await process.end()
                try await process.start()
            }
            let violations = try await Self.trial([.postgresKilled], on: cluster, patience: .seconds(10))
            #expect(violations.contains { $0.kind == .lost })
        }
    }

    @Test("the checker finds typing that the server does not end", arguments: [false, true])
    func typingForgotten(isSabotaged: Bool) async throws {
        var size = Self.sound
        let period = isSabotaged ? "10m" : "1s"
        // The limit in seconds. On a busy machine the server may end typing late.
        let limit = isSabotaged ? 5 : 20
        size.settings = ["STRATA_TYPING_PAUSE": period, "STRATA_TYPING_FINISH": period]
        try await Cluster.with(size) { cluster in
            let recorder = Recorder()
            let users = try await cluster.app().signIn(["typist", "reader", "other"])
            let conversation = try await users[0].converse(with: [users[1], users[2]])
            let clients = users.map { FaultClient($0, recorder) }
            for client in clients {
                client.start()
                #expect(await client.caughtUp(within: Waiting.limit))
            }
            // Typing indicators are only sent to present users.
            try await users[0].send("here", to: conversation)
            for client in clients { #expect(await client.hasRead("here", within: Waiting.limit)) }
            try await clients[0].socket?.typing("started", in: conversation.id)
            #expect(await recorder.hasTyping("started", by: "typist", within: Waiting.limit))
            // An event can be awaited; its absence can only be observed by waiting. The typing of another user then
            // shows the delay of the system.
            if isSabotaged {
                try await Task.sleep(for: .seconds(limit + 1))
            } else {
                #expect(await recorder.hasTyping("finished", by: "typist", within: Waiting.limit))
            }
            try await clients[2].socket?.typing("started", in: conversation.id)
            #expect(await recorder.hasTyping("started", by: "other", within: Waiting.limit))
            for client in clients { await client.stop() }
            let violations = Checker.violations(
                of: recorder.history(views: [], conversations: []), typingLimit: Double(limit))
            #expect(violations.contains { $0.kind == .stuck } == isSabotaged)
        }
    }
}
