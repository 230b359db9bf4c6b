// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import Logging
import Postgres
import StrataModel
import Synchronization
import TestTiers
import Testing

@Suite("the list of apps with webhooks", .timeLimit(.minutes(2)))
struct RecordedAppsTests {
    private let recorded = AppID.random()
    private let other = AppID.random()

    @Test("the list is read after a use, and not again without another use")
    func uses() async throws {
        let reads = Mutex(0)
        let apps = RecordedApps(interval: .zero, logger: ServiceFixture.quietLogger) {
            [recorded] (_) async throws(PostgresError) -> Set<AppID> in
            reads.withLock { $0 += 1 }
            return [recorded]
        }
        var uses = 0
        func mayHaveHooks(_ app: AppID) -> Bool {
            uses += 1
            return apps.mayHaveHooks(app)
        }
        let running = Task { try await apps.run() }
        #expect(mayHaveHooks(other), "unknown apps may have hooks")
        try await eventually { !mayHaveHooks(other) }
        #expect(mayHaveHooks(recorded))
        for _ in 0..<20 {
            let before = reads.withLock { $0 }
            #expect(!mayHaveHooks(other))
            try await eventually { reads.withLock { $0 } > before }
        }
        #expect(reads.withLock { $0 } <= uses)
        running.cancel()
        try await running.value
    }

    @Test("a failed reading is repeated after the next use")
    func failure() async throws {
        let reads = Mutex(0)
        let apps = RecordedApps(interval: .zero, logger: ServiceFixture.quietLogger) {
            (_) async throws(PostgresError) -> Set<AppID> in
            let count = reads.withLock { reads in
                reads += 1
                return reads
            }
            if count == 1 { throw PostgresError(code: .connectionUnavailable) }
            return []
        }
        let running = Task { try await apps.run() }
        try await eventually { !apps.mayHaveHooks(other) }
        #expect(reads.withLock { $0 } >= 2)
        running.cancel()
        try await running.value
    }
}
