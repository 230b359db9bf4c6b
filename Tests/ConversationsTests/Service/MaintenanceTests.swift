// SPDX-License-Identifier: Apache-2.0
import Foundation
import Logging
import StrataModel
import Synchronization
import Testing

@testable import Conversations

@Suite struct MaintenanceTests {
    /// A log handler that records levels and the names of steps.
    private final class Lines: LogHandler, Sendable {
        let all = Mutex<[String]>([])
        var metadata: Logger.Metadata {
            get { [:] }
            set {}
        }
        var logLevel: Logger.Level {
            get { .trace }
            set {}
        }
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { nil }
            set {}
        }
        func log(event: LogEvent) {
            all.withLock { $0.append("\(event.level) \(event.metadata?["maintenance.steps"] ?? "")") }
        }
    }

    private func maintenance(_ service: ServiceFixture, logger: Logger = ServiceFixture.quietLogger) -> Maintenance {
        Maintenance(database: service.database, retention: .seconds(48 * 3600), interval: .seconds(600), logger: logger)
    }

    @Test("a sweep deletes exactly the expired rows, in batches")
    func sweeping() async throws {
        try await ServiceFixture.run { service in
            try await service.execute(
                """
                INSERT INTO conversations.used_nonce SELECT sha256(n::text::bytea), now() - interval '2 hours' FROM generate_series(1, 4500) n;
                INSERT INTO conversations.used_nonce SELECT sha256(n::text::bytea), now() - interval '30 minutes' FROM generate_series(5001, 5003) n;
                INSERT INTO conversations.session (digest, app_id, user_id, expires_at)
                SELECT sha256(n::text::bytea), gen_random_uuid(), 'ana', now() + (n - 3) * interval '1 hour' - interval '1 minute'
                FROM generate_series(1, 5) n;
                """)
            #expect(try await maintenance(service).sweep(deadline: .soon) == 4503)
            #expect(try await service.number("SELECT count(*) FROM conversations.used_nonce") == 3)
            #expect(
                try await service.number("SELECT count(*) FROM conversations.session WHERE expires_at > now()") == 2)
            #expect(try await service.number("SELECT count(*) FROM conversations.session") == 2)
            #expect(try await maintenance(service).sweep(deadline: .soon) == 0)
        }
    }

    @Test("a failing step does not stop other steps, and one log line lists all failures")
    func failingSteps() async throws {
        try await ServiceFixture.run { service in
            try await service.execute(
                """
                CREATE OR REPLACE FUNCTION conversations.maintain_partitions(keep interval) RETURNS bigint LANGUAGE plpgsql AS $$
                BEGIN RAISE EXCEPTION 'this fails' USING ERRCODE = 'check_violation'; END
                $$;
                CREATE OR REPLACE FUNCTION conversations.sweep_deleted(keep interval, p_limit bigint) RETURNS bigint LANGUAGE plpgsql AS $$
                BEGIN RAISE EXCEPTION 'this fails' USING ERRCODE = 'check_violation'; END
                $$;
                INSERT INTO conversations.used_nonce SELECT sha256('1'), now() - interval '2 hours';
                INSERT INTO conversations.mutation (app_id, user_id, id, fingerprint, outcome, created_at)
                VALUES (gen_random_uuid(), 'ana', gen_random_uuid(), 1, 'ok', now() - interval '60 days');
                """)
            let lines = Lines()
            await maintenance(service, logger: Logger(label: "test") { _ in lines }).turn()
            #expect(try await service.number("SELECT count(*) FROM conversations.used_nonce") == 0)
            #expect(try await service.number("SELECT count(*) FROM conversations.mutation") == 0)
            #expect(lines.all.withLock { $0 } == ["warning partitions,deleted"])
        }
    }

    @Test("a deleted conversation of an app is removed while another app has many earlier deletions")
    func fair() async throws {
        try await ServiceFixture.run { service in
            let id = UUID()
            try await service.execute(
                """
                INSERT INTO conversations.conversation (
                    id, app_id, created_at, created_by, is_distinct, position, last_change_at, deleted_position, deleted_at)
                SELECT gen_random_uuid(), '\(UUID())'::uuid, now(), 'ana', false, 1, now(), 1, now() - interval '60 days' FROM generate_series(1, 300)
                UNION ALL SELECT '\(id)', '\(UUID())', now(), 'ana', false, 1, now(), 1, now() - interval '40 days'
                -- These are not due.
                UNION ALL SELECT gen_random_uuid(), gen_random_uuid(), now(), 'ana', false, 1, now(), 1, now() FROM generate_series(1, 100);
                """)
            var calls = 0
            while try await service.number(
                "SELECT count(*) FROM conversations.conversation WHERE id = '\(id)' AND deleted_at IS NOT NULL") > 0
            {
                #expect(try await service.number("SELECT conversations.sweep_deleted('30 days', 1000)") > 0)
                calls += 1
            }
            // It takes two calls on average.
            #expect(calls < 50)
        }
    }

    @Test(
        "participants of a deleted conversation are removed in batches, and those who met there keep following each other"
    )
    func manyParticipants() async throws {
        try await ServiceFixture.run { service in
            let (app, id, users) = (UUID(), UUID(), 200)
            try await service.execute(
                """
                DO $$ BEGIN
                    PERFORM conversations.create_conversation('\(app)', 'u1', '\(id)', ARRAY['u2'], false, NULL, NULL, 25, NULL, NULL);
                END $$;
                INSERT INTO conversations.participant (
                    conversation_id, user_id, app_id, first_joined, joined, left_position, left_ordinal, uncounted, hidden_count, left_deleted)
                SELECT '\(id)', 'u' || n, '\(app)', 1, 1, n, 0, 0, 0, 0 FROM generate_series(3, \(users + 50)) n;
                INSERT INTO conversations.user_conversation (app_id, user_id, conversation_id, created_at)
                SELECT '\(app)', 'u' || n, '\(id)', now() FROM generate_series(3, \(users + 50)) n;
                INSERT INTO conversations.identity AS i (app_id, user_id, display_name)
                SELECT '\(app)', 'u' || n, CASE WHEN n <= \(users) THEN 'Name' END FROM generate_series(1, \(users + 50)) n
                ON CONFLICT (app_id, user_id) DO UPDATE SET display_name = excluded.display_name;
                UPDATE conversations.conversation SET deleted_position = position, deleted_at = now() - interval '40 days' WHERE id = '\(id)';
                """)
            let rows = "SELECT count(*) FROM conversations.follow WHERE app_id = '\(app)'"
            // Check some of the pairs; checking all would take long.
            let unfollowed = """
                SELECT count(*) FROM unnest('{1,2,3,100,200}'::int[]) a CROSS JOIN generate_series(1, \(users)) b
                WHERE a <> b AND NOT (conversations.is_followed('\(app)', 'u' || a, 'u' || b) AND conversations.is_followed('\(app)', 'u' || b, 'u' || a))
                """
            #expect(try await service.number(unfollowed) == 0)
            var (calls, written): (Int, Int64) = (0, 0)
            while try await service.number("SELECT conversations.sweep_deleted('30 days', 1000)") > 0 {
                calls += 1
                let count = try await service.number(rows)
                #expect(count - written <= 10_000)
                written = count
                #expect(try await service.number(unfollowed) == 0)
            }
            #expect(calls > 3 && written == Int64(users * (users - 1)))
            let left =
                "(SELECT count(*) FROM conversations.participant) + (SELECT count(*) FROM conversations.user_conversation)"
            #expect(try await service.number("SELECT \(left)") == 0)
        }
    }

    @Test("several instances may run maintenance concurrently")
    func atOnce() async throws {
        try await ServiceFixture.run { service in
            try await service.execute(
                "INSERT INTO conversations.used_nonce SELECT sha256(n::text::bytea), now() - interval '2 hours' FROM generate_series(1, 6000) n"
            )
            let maintenance = maintenance(service)
            let total = try await withThrowingTaskGroup(of: Int64.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await maintenance.maintainPartitions(deadline: .soon)
                        return try await maintenance.sweep(deadline: .soon)
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(total == 6000)
        }
    }

    @Test("partitions exist for the coming days, and partitions older than the retention time are dropped")
    func partitions() async throws {
        try await ServiceFixture.run { service in
            let partitions = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'conversations.change'::regclass"
            let before = try await service.number(partitions)
            try await service.execute(
                """
                CREATE TABLE conversations.change_20200106 PARTITION OF conversations.change FOR VALUES FROM ('2020-01-06 00:00Z') TO ('2020-01-13 00:00Z');
                """)
            try await maintenance(service).maintainPartitions(deadline: .soon)
            #expect(try await service.number(partitions) == before)
            #expect(
                try await service.number(
                    "SELECT count(*) FROM pg_class WHERE relname = 'change_' || to_char(date_trunc('week', now() + interval '7 days'), 'YYYYMMDD')"
                )
                    == 1)
        }
    }
}
