// SPDX-License-Identifier: Apache-2.0

import Logging
import Synchronization
import TestTiers
import Testing

@testable import Presence

@Suite("Immediate repetition of sweeps", .timeLimit(.minutes(3)))
struct SweepLoopTests {
    /// A sweepable that returns fixed findings and counts the sweeps.
    private final class Found: Sweepable {
        let name = "found"
        let metricPrefix = "strata_presence_found"
        private let findings: [SweepFinding]
        private let count = Mutex(0)
        var looks: Int { count.withLock { $0 } }

        init(_ findings: [SweepFinding]) { self.findings = findings }

        func sweep(_ shards: [Int]) async -> [SweepFinding] {
            count.withLock { $0 += 1 }
            await Task.yield()
            return shards.map { findings[$0] }
        }
    }

    private static let fullBatch = SweepFinding.work(lateness: .zero, isBatchFull: true)

    /// Runs a sweep loop whose pause exceeds a test's duration.
    private func run(_ found: Found, while body: () async throws -> Void) async throws {
        let loop = SweepLoop(
            found, every: .seconds(3600), shortestPeriod: .seconds(3600), shards: 2,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await loop.run() }
        try await body()
        running.cancel()
        try await running.value
    }

    @Test("a full batch is followed by an immediate sweep")
    func full() async throws {
        let found = Found([Self.fullBatch, .nothing(next: nil)])
        try await run(found) { try await eventually { found.looks >= 100 } }
    }

    @Test(
        "a pause follows any other outcome, and every failure",
        arguments: [
            [.work(lateness: .zero), .nothing(next: nil)], [.failed, .nothing(next: nil)], [.failed, fullBatch],
            [fullBatch, .failed],
        ])
    func pause(findings: [SweepFinding]) async throws {
        let found = Found(findings)
        try await run(found) {
            try await eventually { found.looks > 0 }
            try await Task.sleep(for: .milliseconds(200))
            #expect(found.looks == 1)
        }
    }
}
