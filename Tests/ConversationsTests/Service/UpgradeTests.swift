// SPDX-License-Identifier: Apache-2.0
import Postgres
import Schema
import TestSupport
import Testing

@testable import Conversations

/// What a database holds before the migrations that pack sets of messages is shown the same after them.
@Suite struct UpgradeTests {
    private static let app = "11111111-0000-4000-8000-000000000000"
    private static let conversation = "22222222-0000-4000-8000-000000000000"
    private static func message(_ ordinal: String) -> String { "('33333333-0000-4000-8000-' || lpad(\(ordinal)::text, 12, '0'))::uuid" }

    /// As an older version would have left it: 3,000 messages of ana, every other one read by ben, every third delivered to cleo and every fifth hidden, and dora,
    /// who left when ben had read half. Eve was removed and added again. Of finn there is so much that it is stored compressed, and is short then.
    private static var past: String {
        func receipts(_ user: String, _ status: Int, _ ordinals: String) -> String {
            """
            PERFORM FROM (SELECT array_agg(\(message("o")) ORDER BY o) AS ids, count(*)::int AS n FROM generate_series(\(ordinals)) o) g
            CROSS JOIN LATERAL conversations.give_receipts('\(app)', '\(conversation)', array_fill('\(user)'::text, ARRAY[g.n]), g.ids,
                array_fill(\(status)::int8, ARRAY[g.n]), 25, NULL, NULL) r;
            """
        }
        func patch(_ kind: String, _ user: String) -> String {
            """
            PERFORM conversations.patch_participants('\(app)', 'ana', '\(conversation)', '[{"kind":"\(kind)","users":["\(user)"]}]', 250, NULL, NULL, NULL);
            """
        }
        return """
            DO $$ BEGIN
            PERFORM conversations.create_conversation('\(app)', 'ana', '\(conversation)', ARRAY['ben','cleo','dora','eve','finn'], false, NULL, NULL, 250, NULL, NULL);
            INSERT INTO conversations.message (conversation_id, ordinal, id, position, sender, sent_at, parts)
            SELECT '\(conversation)', g, \(message("g")), g + 1, 'ana', now(), '' FROM generate_series(1, 3000) g;
            INSERT INTO conversations.message_place (message_id, app_id, conversation_id, ordinal)
            SELECT \(message("g")), '\(app)', '\(conversation)', g FROM generate_series(1, 3000) g;
            UPDATE conversations.conversation SET message_count = 3000, last_ordinal = 3000, position = 3001;
            UPDATE conversations.participant SET uncounted = 3000 WHERE user_id = 'ana';
            \(receipts("ben", 2, "1, 1500, 2"))
            \(patch("remove", "eve"))
            \(patch("remove", "dora"))
            \(receipts("ben", 2, "1501, 3000, 2"))
            \(receipts("cleo", 1, "1, 3000, 3"))
            \(receipts("finn", 2, "1, 169, 2"))
            \(receipts("finn", 1, "171, 228, 3"))
            PERFORM FROM generate_series(1, 1000, 5) o
            CROSS JOIN LATERAL conversations.delete_message('\(app)', 'cleo', \(message("o")), 'my_devices', NULL, NULL) d;
            PERFORM FROM generate_series(2, 20, 3) o
            CROSS JOIN LATERAL conversations.delete_message('\(app)', 'ana', \(message("o")), 'all_participants', NULL, NULL) d;
            \(patch("add", "eve"))
            END $$
            """
    }

    /// What every user is shown, in one text: counts, and recipients with statuses of every message.
    private static func shown(_ users: [String]) -> String {
        """
        SELECT string_agg(u || ' ' || (v.view).uncounted || ' ' || (v.view).hidden || ' ' || md5((
            SELECT string_agg((m.message).ordinal || (m.message).recipients::text || (m.message).statuses::text, ';' ORDER BY (m.message).ordinal)
            FROM conversations.list_messages('\(app)', u, '\(conversation)', 5000, NULL) m WHERE m.outcome IS NULL)), chr(10) ORDER BY u)
        FROM unnest(ARRAY[\(users.map { "'\($0)'" }.joined(separator: ","))]) u
        CROSS JOIN LATERAL (SELECT conversations.find_view('\(app)', u, '\(conversation)') AS view) v
        """
    }

    @Test(
        "statuses, counts and hidden messages stay the same, for who is in it and for who left; who had been added again has read everything before")
    func upgraded() async throws {
        var configuration = try PostgresConfiguration(url: try await TestServers.postgres())
        configuration.connections = 1
        let migrator = Migrator(configuration: configuration)
        _ = try await migrator.migrate(Array(Schema.migrations.prefix { $0.version < 20 }), logger: ServiceFixture.quietLogger)
        try await migrator.execute(script: Self.past)
        let pool = PostgresPool(configuration: configuration, mode: .exclusive, logger: ServiceFixture.quietLogger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await pool.run() }
            defer { group.cancelAll() }
            func ask(_ sql: String) async throws -> String? {
                try await pool.query(Statement("test.\(sql.hashValue)", sql: sql), deadline: .soon).first?.get(0)
            }
            // Afterwards all participants see another status of Eve.
            let who = ["dora"]
            let before = try await ask(Self.shown(who))
            let counts =
                "SELECT string_agg(user_id || ' ' || uncounted || ' ' || hidden_count, ', ' ORDER BY user_id) FROM conversations.participant WHERE user_id <> 'eve'"
            let countsBefore = try await ask(counts)
            func statuses(_ of: String) -> String {
                """
                SELECT md5(string_agg(m.ordinal || ':' || (x.message).statuses[array_position((x.message).recipients, '\(of)')], ',' ORDER BY m.ordinal))
                FROM conversations.message m CROSS JOIN LATERAL (SELECT conversations.message_at(m.conversation_id, m.ordinal) AS message) x
                """
            }
            var statusesBefore: [String?] = []
            for user in ["ana", "ben", "cleo", "dora", "finn"] { statusesBefore.append(try await ask(statuses(user))) }

            _ = try await migrator.migrate(Schema.migrations, functions: Schema.functions, logger: ServiceFixture.quietLogger)
            #expect(try await ask(Self.shown(who)) == before && before != nil)
            #expect(try await ask(counts) == countsBefore && countsBefore != nil)
            var statusesAfter: [String?] = []
            for user in ["ana", "ben", "cleo", "dora", "finn"] { statusesAfter.append(try await ask(statuses(user))) }
            #expect(statusesAfter == statusesBefore)
            func most(_ sets: String, in rows: String) async throws -> Int? {
                try await ask("SELECT max((SELECT count(*) FROM unnest(s)))::text FROM \(rows) CROSS JOIN LATERAL (VALUES \(sets)) v(s)")
                    .flatMap { Int($0) }
            }
            #expect(try await most("(p.read), (p.delivered), (p.hidden)", in: "conversations.participant p") ?? 99 <= 32)
            #expect(
                try await most("(u.read), (u.delivered)", in: "conversations.kept_receipts k, unnest(k.reads, k.delivereds) u(read, delivered)") ?? 99
                    <= 32)
            #expect(try await ask("SELECT deleted_count::text FROM conversations.conversation") == "7")
            #expect(try await ask("SELECT left_deleted::text FROM conversations.participant WHERE user_id = 'dora'") == "7")
            #expect(try await ask("SELECT uncounted::text FROM conversations.participant WHERE user_id = 'eve'") == "3000")
        }
    }
}
