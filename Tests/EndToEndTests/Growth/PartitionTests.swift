// SPDX-License-Identifier: Apache-2.0

import LocalServers
import ProtocolClient
import TestCluster
import Testing

extension EndToEnd {
    /// docs/architecture.md §11: durable writes scale by distributing conversations over several servers. The schema is
    /// ready for this if every statement about one conversation touches only one server.
    @Suite("conversations in partitions")
    struct PartitionTests {
        /// Statements about several conversations, recognized by a part of their text, with the reason why they may
        /// touch all partitions.
        private static let about: [(mark: String, reason: String)] = [
            (
                "FROM conversations.change x WHERE x.created_at >= since",
                "the comparison of heads, of all conversations, some times a minute: each server answers for its own"
            ),
            (
                "x.id > coalesce(i.built_up_to",
                "the building of an index of metadata, which looks at all conversations in the background, once"
            ),
            ("-- SPDX-License-Identifier", "a migration, which converts the rows of all conversations, once"),
            ("SELECT x AS participant", "the same, row by row"),
            ("-- Trees that were kept as copies", "a migration, which every server carries out for its own"),
        ]

        @Test("every statement about one conversation touches one partition of each table")
        func one() async throws {
            var size = Cluster.Size(settings: ["STRATA_TYPING_PAUSE": "1s", "STRATA_TYPING_FINISH": "1s"])
            size.migrations = try PartitionedSchema.migrations()
            // `strata migrate`, which names several databases, refuses these migrations.
            size.databases = 1
            size.postgresSettings = [
                "session_preload_libraries": "auto_explain", "auto_explain.log_min_duration": "0",
                "auto_explain.log_nested_statements": "on",
                "auto_explain.log_analyze": "on", "auto_explain.log_timing": "off", "auto_explain.log_verbose": "on",
                "auto_explain.log_format": "json",
            ]
            try await Cluster.with(size) { cluster in
                let app = try await cluster.app()
                let exit = try await ChildProcess.run(
                    Launch(try Executables.find("strata"), arguments: DemoTests.arguments(app, cluster.urls)),
                    timeout: .seconds(240))
                #expect(exit.status == 0, "\(exit.output)")
                let (pat, quin) = (try await app.signIn("pat"), try await app.signIn("quin"))
                let conversation = try await pat.converse(with: [quin], metadata: ["status": "open"])
                try await IndexCommands(app, cluster).make("metadata.status")
                try await pat.patch(conversation, set("metadata.status", "closed"))
                #expect(try await pat.does("GET", "/conversations?metadata.status=closed").json.array?.count == 1)
                // A stopped server has no partly written entry in its log.
                await cluster.postgres.stop()
                let statements = try ExplainedStatement.all(inLog: cluster.postgres.log)
                for (text, tables) in Self.scattered(statements) { Issue.record("\(tables): \(text)") }
                // Each table must have been touched, otherwise nothing was tested. Blocks need more receipts than
                // these: see ShardingTests.
                for table in PartitionedSchema.tables.keys.sorted()
                where !table.contains("kept_") && !table.hasSuffix("receipt_block") {
                    #expect(statements.contains { $0.partitions[table] != nil }, "\(table)")
                }
            }
        }

        /// Returns statements that touched more than one partition without being on the list of those that must.
        private static func scattered(_ statements: [ExplainedStatement]) -> [String: [String]] {
            var found: [String: [String]] = [:]
            for statement in statements {
                let tables = statement.partitions.filter { $0.value.count > 1 }.keys.sorted()
                guard !tables.isEmpty, !about.contains(where: { statement.text.contains($0.mark) }) else { continue }
                found[statement.text] = tables
            }
            return found
        }
    }
}
