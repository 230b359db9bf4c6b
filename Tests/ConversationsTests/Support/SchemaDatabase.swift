// SPDX-License-Identifier: Apache-2.0
import Foundation
import Postgres
import Schema
import TestSupport

@testable import Conversations

/// A separate database, accessed as its owner, for tests of the schema.
struct SchemaDatabase {
    static let app = "11111111-0000-4000-8000-000000000000"
    static let conversation = "22222222-0000-4000-8000-000000000000"
    private static let messagePrefix = "33333333-0000-4000-8000-00000000000"

    let url: String
    let migrator: Migrator

    init() async throws {
        url = try await TestServers.postgres()
        migrator = Migrator(configuration: try PostgresConfiguration(url: url))
    }

    @discardableResult
    func update(_ functions: FunctionSet = Schema.functions) async throws -> MigrationReport {
        try await migrator.migrate(Schema.migrations, functions: functions, logger: ServiceFixture.quietLogger)
    }

    /// Returns a query's first column.
    func lines(_ sql: String) async throws -> [String] {
        try await withPool { pool in
            try await pool.query(Statement("test.lines", sql: sql), deadline: .soon)
                .map { try $0.get(0, as: String.self) }
        }
    }

    func withPool<Value: Sendable>(
        connections: Int = 1, _ body: @Sendable (PostgresPool) async throws -> Value
    ) async throws -> Value {
        var configuration = try PostgresConfiguration(url: url)
        configuration.connections = connections
        let pool = PostgresPool(configuration: configuration, mode: .exclusive, logger: ServiceFixture.quietLogger)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await pool.run() }
            defer { group.cancelAll() }
            return try await body(pool)
        }
    }

    /// Returns the functions, triggers and views of the catalog, with their owners and grants.
    func catalog() async throws -> [String] {
        try await lines(
            """
            SELECT concat_ws(' | ', p.oid::regprocedure, p.proowner::regrole, p.provolatile, p.proparallel, p.proisstrict, p.prosecdef, p.proleakproof,
                p.procost, p.prorows, p.proconfig, (SELECT array_agg(a::text ORDER BY a::text COLLATE "C") FROM unnest(p.proacl) a), pg_get_functiondef(p.oid))
            FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname IN ('conversations', 'metadata', 'webhooks', 'console')
            UNION ALL
            SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t WHERE NOT t.tgisinternal
            UNION ALL
            SELECT concat_ws(' | ', c.oid::regclass, c.relowner::regrole, c.relacl, pg_get_viewdef(c.oid)) FROM pg_class c
            JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname IN ('conversations', 'metadata', 'webhooks', 'console') AND c.relkind = 'v'
            ORDER BY 1
            """)
    }

    /// Returns the transaction id that last wrote each function.
    func versions() async throws -> [String] {
        try await lines(
            """
            SELECT p.oid || ' ' || p.xmin FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
            WHERE n.nspname IN ('conversations', 'metadata') ORDER BY 1
            """)
    }

    /// Returns every table with its column list for a SELECT.
    func tables() async throws -> [(name: String, columns: String)] {
        try await lines(
            """
            SELECT c.oid::regclass::text || ' ' || string_agg('t.' || quote_ident(a.attname), ', ' ORDER BY a.attnum)
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            WHERE n.nspname IN ('conversations', 'metadata') AND c.relkind = 'r' GROUP BY c.oid ORDER BY 1
            """
        )
        .map { line in
            let words = line.split(separator: " ", maxSplits: 1)
            return (String(words[0]), String(words[1]))
        }
    }

    func rows(of tables: [(name: String, columns: String)]) async throws -> [String] {
        var rows: [String] = []
        for table in tables {
            rows += try await lines(
                "SELECT '\(table.name) ' || ROW(\(table.columns))::text FROM \(table.name) t ORDER BY 1")
        }
        return rows
    }

    func answers() async throws -> [String] {
        let (app, conversation) = (Self.app, Self.conversation)
        var answers: [String] = []
        for user in ["ana", "ben", "cleo", "dora"] {
            for call in [
                "conversations.list_conversations_page('\(app)', '\(user)', false, 10, NULL, 1000000)",
                "conversations.list_messages_page('\(app)', '\(user)', '\(conversation)', 10, NULL, 1000000)",
                "conversations.load_conversations('\(app)', '\(user)', true, 10, NULL, NULL, 10, 1000000)",
                "conversations.read_logs('\(app)', '\(user)', ARRAY['\(conversation)']::uuid[], '{0}', 0, 100, 1000000)",
                "conversations.followed('\(app)', '\(user)')",
                "conversations.list_announcements_page('\(app)', '\(user)', 10, NULL, 1000000)",
                "conversations.views_of('\(app)', '\(user)', ARRAY['\(conversation)']::uuid[], 1000000)",
            ] { answers += try await lines("SELECT '\(user) ' || jsonb_strip_nulls(to_jsonb(r))::text FROM \(call) r") }
        }
        return answers
    }

    func execute(_ script: String) async throws { try await migrator.execute(script: script) }

    private static func send(_ number: Int, by user: String) -> String {
        "conversations.send_message('\(app)', '\(user)', '\(conversation)', '\(messagePrefix)\(number)', '\\x01', NULL, NULL, NULL, NULL, true)"
    }

    static func message(_ number: Int, by user: String) -> String { "SELECT \(send(number, by: user))" }

    /// A statement that creates a conversation with an edited and a deleted message, receipts, metadata, a former
    /// participant, an announcement and a follower.
    static var past: String {
        func message(_ number: Int, by user: String) -> String { "PERFORM \(send(number, by: user));" }
        return """
            DO $$ BEGIN
            PERFORM conversations.ensure_identities('\(app)', ARRAY['ana','ben','cleo','dora']);
            PERFORM conversations.create_conversation('\(app)', 'ana', '\(conversation)', ARRAY['ben','cleo','dora'], false, '{a,b.c}', '{1,2}', 250, NULL, NULL);
            \(message(1, by: "ana")) \(message(2, by: "ben")) \(message(3, by: "ana")) \(message(4, by: "cleo"))
            PERFORM conversations.edit_parts('\(app)', 'ana', '\(messagePrefix)1', '\\x01', '\\x02', '{"edits":[{"kind":3}]}', now(), NULL, NULL, NULL);
            PERFORM conversations.delete_message('\(app)', 'ben', '\(messagePrefix)2', 'all_participants', NULL, NULL);
            PERFORM conversations.delete_message('\(app)', 'ben', '\(messagePrefix)3', 'my_devices', NULL, NULL);
            PERFORM conversations.mark_all_read('\(app)', 'cleo', '\(conversation)', NULL, 25, NULL, NULL);
            PERFORM conversations.patch_participants('\(app)', 'ana', '\(conversation)', '[{"kind":"remove","users":["dora"]}]', 250, NULL, NULL, NULL, NULL, NULL);
            PERFORM metadata.patch('\(app)', '\(conversation)', 'ben', '[{"path":"b","set":[["b.d","3"]]}]', NULL, NULL, NULL, NULL);
            PERFORM conversations.send_announcement('\(app)', '44444444-0000-4000-8000-000000000000', 'admin', 'Admin', ARRAY['ana','ben'], '\\x01', NULL);
            PERFORM conversations.follow_users_within('\(app)', 'dora', ARRAY['eve'], NULL);
            END $$
            """
    }
}
