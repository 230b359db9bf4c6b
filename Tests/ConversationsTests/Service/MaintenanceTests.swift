// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel
import Testing

@testable import Conversations

@Suite struct MaintenanceTests {
    private func maintenance(_ service: ServiceFixture) -> Maintenance {
        Maintenance(database: service.database, retention: .seconds(48 * 3600), interval: .seconds(600), logger: ServiceFixture.quietLogger)
    }

    @Test("what has expired is swept in batches, and nothing else")
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
            #expect(try await service.number("SELECT count(*) FROM conversations.session WHERE expires_at > now()") == 2)
            #expect(try await service.number("SELECT count(*) FROM conversations.session") == 2)
            #expect(try await maintenance(service).sweep(deadline: .soon) == 0)
        }
    }

    @Test("several instances may do it at once")
    func atOnce() async throws {
        try await ServiceFixture.run { service in
            try await service.execute(
                "INSERT INTO conversations.used_nonce SELECT sha256(n::text::bytea), now() - interval '2 hours' FROM generate_series(1, 6000) n")
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

    @Test("partitions are there for the days to come, and those beyond the retention time go")
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
                    "SELECT count(*) FROM pg_class WHERE relname = 'change_' || to_char(date_trunc('week', now() + interval '7 days'), 'YYYYMMDD')")
                    == 1)
        }
    }
}
