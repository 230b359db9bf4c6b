// SPDX-License-Identifier: Apache-2.0
import Foundation
import Postgres
import Schema
import StrataModel
import TestSupport
import Testing

@testable import Conversations

/// The conversations' tables can be partitioned by conversation (docs/architecture.md §11). With such partitions, every
/// statement about one conversation or one of its messages must touch one partition only.
@Suite struct ShardingTests {
    private static let parts = 8
    private static let tables = [
        "conversations.conversation": "id", "conversations.roster": "conversation_id",
        "conversations.participant": "conversation_id",
        "conversations.message": "conversation_id", "conversations.receipt_block": "conversation_id",
        "metadata.leaf": "conversation_id",
        "metadata.tree": "conversation_id", "metadata.kept_leaf": "conversation_id",
    ]

    /// Returns the migrations, with these tables partitioned.
    private static func migrations() -> [Migration] {
        Schema.migrations.map { migration in
            var sql = migration.sql
            for (table, key) in tables {
                guard let start = sql.range(of: "CREATE TABLE \(table) ("),
                    let close = sql.range(of: "\n)", range: start.upperBound..<sql.endIndex),
                    let end = sql.range(of: ";", range: close.upperBound..<sql.endIndex)
                else { continue }
                let partitions = (0..<parts)
                    .map {
                        "CREATE TABLE \(table)_p\($0) PARTITION OF \(table) FOR VALUES WITH (MODULUS \(parts), REMAINDER \($0));"
                    }
                sql.replaceSubrange(
                    close.upperBound..<end.upperBound,
                    with: " PARTITION BY HASH (\(key));\n\(partitions.joined(separator: "\n"))")
            }
            return Migration(version: migration.version, name: migration.name, sql: sql)
        }
    }

    /// A function that runs a statement and returns the partitions that it read or wrote. It compares cumulative
    /// counters, which several transactions update.
    private static let touched = """
        CREATE OR REPLACE FUNCTION conversations.range_limit() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 2;
        CREATE FUNCTION counters() RETURNS text[] LANGUAGE sql VOLATILE AS $$
            SELECT array_agg(t.relname || ' ' || t.seq_scan + coalesce(t.idx_scan, 0) + t.n_tup_ins + t.n_tup_upd + t.n_tup_del)
            FROM pg_stat_xact_user_tables t WHERE t.relname ~ '_p[0-9]+$'
        $$;
        CREATE FUNCTION touched(statement text) RETURNS text[] LANGUAGE plpgsql VOLATILE AS $$
        DECLARE
            before text[] := counters();
        BEGIN
            EXECUTE statement;
            RETURN ARRAY(SELECT split_part(c, ' ', 1) FROM unnest(counters()) c WHERE c <> ALL (before) ORDER BY 1);
        END
        $$
        """

    @Test("each statement about one conversation touches one partition of each table, with any cached plan")
    func oneConversation() async throws {
        let url = try await TestServers.postgres()
        var configuration = try PostgresConfiguration(url: url)
        configuration.connections = 1
        _ = try await Migrator(configuration: configuration)
            .migrate(Self.migrations(), functions: Schema.functions, logger: ServiceFixture.quietLogger)
        try await Migrator(configuration: configuration).execute(script: Self.touched)
        let pool = PostgresPool(configuration: configuration, mode: .exclusive, logger: ServiceFixture.quietLogger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await pool.run() }
            defer { group.cancelAll() }
            var seen: Set<String> = []
            for round in 0..<12 {
                for (what, statement) in statements(round) {
                    let rows = try await pool.query(
                        Statement("touched", sql: "SELECT touched($1)"), with: [.text(statement)], deadline: .soon)
                    let touched: [String] = try #require(rows.first).get(0)
                    let numbers = Set(touched.map { $0.split(separator: "_p").last ?? "" })
                    #expect(numbers.count == 1, "\(what), round \(round): \(touched)")
                    seen.formUnion(numbers.map(String.init))
                }
            }
            #expect(seen.count > 1)
            let blocks = try await pool.query(
                Statement("blocks", sql: "SELECT count(*) FROM conversations.receipt_block"), deadline: .soon)
            #expect(try #require(blocks.first).get(0, as: Int64.self) > 0)
            // A statement that names no conversation touches all partitions.
            let rows = try await pool.query(
                Statement("touched", sql: "SELECT touched($1)"),
                with: [.text("SELECT count(*) FROM conversations.message")], deadline: .soon)
            #expect(try #require(rows.first).get(0, as: [String].self).count == Self.parts)
        }
    }

    /// Returns statements for everything that can happen to one conversation, in order.
    private func statements(_ round: Int) -> [(String, String)] {
        let (app, id) = (AppID.random(), ConversationID.random())
        let messages = (0..<5).map { _ in MessageID.random() }
        func call(_ function: String, _ actor: String, _ arguments: String) -> String {
            "SELECT * FROM \(function)('\(app)', '\(actor)', \(arguments))"
        }
        func receipt(_ message: MessageID, _ status: Int) -> String {
            "SELECT * FROM conversations.give_receipts('\(app)', '\(id)', ARRAY['ben'], ARRAY['\(message)']::uuid[], ARRAY[\(status)::int8], 1, NULL, NULL)"
        }
        let create = "'\(id)', ARRAY['ben'], \(round % 2 == 0), ARRAY['t'], ARRAY['1'], 250, NULL, NULL"
        let sends = messages.map {
            ("send", call("conversations.send_message", "ana", "'\(id)', '\($0)', '', NULL, NULL, NULL"))
        }
        return [("create", call("conversations.create_conversation", "ana", create))] + sends + [
            ("read", receipt(messages[0], 2)), ("delivery", receipt(messages[1], 1)),
            ("read another", receipt(messages[2], 2)),
            ("read one that is too many for a row", receipt(messages[4], 2)),
            (
                "edit a part",
                call("conversations.edit_parts", "ana", "'\(messages[1])', '', 'x', '[]', now(), '{}', NULL, NULL")
            ),
            ("mark some read", call("conversations.mark_all_read", "ben", "'\(id)', 4, 1, NULL, NULL")),
            ("mark all read", call("conversations.mark_all_read", "ben", "'\(id)', NULL, 1, NULL, NULL")),
            (
                "hide a message",
                call("conversations.delete_message", "ben", "'\(messages[4])', 'my_devices', NULL, NULL")
            ),
            (
                "delete a message",
                call("conversations.delete_message", "ana", "'\(messages[4])', 'all_participants', NULL, NULL")
            ),
            (
                "patch",
                call(
                    "conversations.patch_participants", "ana",
                    #"'\#(id)', '[{"kind":"set","users":["ana","cleo"]}]', 250, '[{"path":"u.v","set":[["u.v","2"]]}]', NULL, NULL"#
                )
            ),
            (
                "add again",
                call(
                    "conversations.patch_participants", "ana",
                    #"'\#(id)', '[{"kind":"add","users":["ben"]}]', 250, NULL, NULL, NULL"#)
            ),
            ("get", call("conversations.get_conversation", "ben", "'\(id)', metadata.largest_tree()")),
            ("get a message", call("conversations.get_message", "cleo", "'\(messages[1])'")),
            (
                "a page of messages",
                call("conversations.list_messages_page", "ben", "'\(id)', 2, '\(messages[3])', 100000")
            ),
            ("loaded messages", "SELECT * FROM conversations.messages_at('\(id)', ARRAY[3, 2, 1]::int8[])"),
            ("repair", "SELECT * FROM conversations.read_changes('\(id)', 0, 100, ARRAY['ana', 'ben'], 100000)"),
            (
                "catch-up",
                call("conversations.read_logs", "ben", "ARRAY['\(id)']::uuid[], ARRAY[0::int8], 0, 100, 100000")
            ),
            (
                "metadata",
                #"""
                SELECT * FROM metadata.patch(
                    '\#(app)', '\#(id)', 'ana', '[{"path":"u","set":[["u","3"]]},{"path":"t","delete":true}]', NULL, NULL, 100)
                """#
            ),
            (
                "delete from devices",
                call("conversations.delete_conversation", "ben", "'\(id)', 'my_devices', false, NULL, NULL, NULL")
            ),
            (
                "leave",
                call("conversations.delete_conversation", "cleo", "'\(id)', 'my_devices', true, NULL, NULL, NULL")
            ),
            (
                "delete",
                call("conversations.delete_conversation", "ana", "'\(id)', 'all_participants', false, NULL, NULL, NULL")
            ),
        ]
    }
}
