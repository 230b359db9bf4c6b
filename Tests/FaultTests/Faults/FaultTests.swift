// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestCluster
import TestSupport
import Testing

/// The promises of ARCHITECTURE §3, kept while things break: many clients write, something happens, and afterwards ``Checker`` judges what they did and saw.
@Suite("faults under load", .serialized)
struct FaultTests {
    private static let size = Cluster.Size(gateways: 2, conversations: 2, metadata: 2, presence: 2)

    /// `STRATA_FAULT_SEED` repeats a run, as far as machines repeat anything.
    private static var seed: UInt64 {
        ProcessInfo.processInfo.environment["STRATA_FAULT_SEED"].flatMap(UInt64.init) ?? 20_180_504
    }

    @Test("nothing is lost, told twice or out of order", arguments: Fault.allCases)
    func one(_ fault: Fault) async throws {
        try await Cluster.with(Self.size) { cluster in
            let load = try await Load.start(Load.Size(), seed: Self.seed, on: cluster)
            var generator = SeededGenerator(seed: Self.seed)
            try await load.run {
                try await Task.sleep(for: .seconds(1))
                try await fault.happen(to: cluster, for: .seconds(2), &generator)
                try await Task.sleep(for: .seconds(1))
            }
            let healed = ContinuousClock.now
            let history = try await load.settle(cluster, within: .seconds(90))
            let counts = load.recorder.counts
            let wait = ContinuousClock.now - healed
            print(
                "\(fault.testDescription): \(counts.acknowledged) acknowledged, \(counts.refused) refused, \(counts.unknown) unknown; all were told "
                    + "all \(wait.formatted(.units(allowed: [.seconds], fractionalPart: .show(length: 1)))) later")
            #expect(counts.acknowledged > 50)
            for violation in Checker.violations(of: history).prefix(20) { Issue.record("\(fault.testDescription): \(violation)") }
        }
    }
}
