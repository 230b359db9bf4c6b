// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestCluster
import TestSupport
import Testing

/// The promises of ARCHITECTURE §3, kept while things break: many clients write, something happens, and afterwards ``Checker`` judges what they did and saw.
///
/// `STRATA_FAULT_SEED` repeats a run, as far as machines repeat anything. `STRATA_FAULT_MINUTES` makes the run of random faults longer, and has its table written to
/// `docs/faults.md`.
@Suite("faults under load", .serialized)
struct FaultTests {
    private static let size = Cluster.Size(
        gateways: 2, conversations: 2, metadata: 2, presence: 2,
        // So that a reader that stops is noticed within a few seconds.
        settings: ["STRATA_SOCKET_BACKLOG_BYTES": "65536"])

    private static let environment = ProcessInfo.processInfo.environment
    private static let seed = environment["STRATA_FAULT_SEED"].flatMap(UInt64.init) ?? 20_180_504
    private static let minutes = environment["STRATA_FAULT_MINUTES"].flatMap(Int.init)

    @Test("nothing is lost, told twice or out of order", arguments: Fault.allCases)
    func one(_ fault: Fault) async throws {
        try await Cluster.with(Self.size) { cluster in
            let row = try await Self.trial([fault], seed: Self.seed, on: cluster)
            print(row)
        }
    }

    @Test("nor when several things break at once, again and again, at random")
    func several() async throws {
        var generator = SeededGenerator(seed: Self.seed)
        print("random faults, STRATA_FAULT_SEED=\(Self.seed)")
        var table = FaultTable(seed: Self.seed)
        try await Cluster.with(Self.size) { cluster in
            let end = ContinuousClock.now + .seconds(60 * (Self.minutes ?? 0))
            var number = 0
            repeat {
                number += 1
                // One of each kind: what is killed already cannot be killed again.
                let faults = Fault.groups.shuffled(using: &generator).prefix(generator.int(2...3)).map { generator.pick($0) }
                let row = try await Self.trial(faults, seed: generator.next(), on: cluster)
                print("\(number). \(row)")
                table.add(row)
            } while ContinuousClock.now < end || number < 3
        }
        if Self.minutes != nil { try table.write() }
    }

    /// Load, faults, and the judgement of what came of it.
    private static func trial(_ faults: [Fault], seed: UInt64, on cluster: Cluster) async throws -> FaultTable.Row {
        let load = try await Load.start(Load.Size(), seed: seed, on: cluster)
        try await load.run {
            try await Task.sleep(for: .seconds(1))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, fault) in faults.enumerated() {
                    group.addTask {
                        var generator = SeededGenerator(seed: seed &+ UInt64(index))
                        try await fault.happen(to: cluster, under: load, for: .seconds(2), &generator)
                    }
                }
                try await group.waitForAll()
            }
            try await Task.sleep(for: .seconds(1))
        }
        let healed = ContinuousClock.now
        let history = try await load.settle(cluster, within: .seconds(90))
        let recovery = ContinuousClock.now - healed
        let name = faults.map(\.testDescription).joined(separator: "; ")
        let violations = Checker.violations(of: history)
        for violation in violations.prefix(20) { Issue.record("\(name), seed \(seed): \(violation)") }
        let counts = load.recorder.counts
        #expect(counts.acknowledged > 30)
        return FaultTable.Row(
            faults: name, clients: load.clients.count, acknowledged: counts.acknowledged, unknown: counts.unknown,
            violations: Dictionary(grouping: violations, by: \.kind).mapValues(\.count), recovery: recovery)
    }
}
