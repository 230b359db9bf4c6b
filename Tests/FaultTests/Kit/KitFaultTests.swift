// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom
import TestCluster
import TestSupport
import TestTiers
import Testing

@testable import Soak

/// Tests StrataKit's promises under faults of apps, system, networks, clocks, disks and stores.
///
/// `STRATA_KIT_FAULT_SEED` repeats a run, as far as a run is reproducible. `STRATA_KIT_FAULT_MINUTES` continues with
/// random faults for this time. `STRATA_KIT_FAULT_ONLY` selects the faults whose description contains its text.
/// `STRATA_FAULT_TABLE` writes the table to `docs/faults.md`.
@Suite("StrataKit under faults", .serialized, .long)
struct KitFaultTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seed = environment["STRATA_KIT_FAULT_SEED"].flatMap(UInt64.init) ?? 20_180_504
    private static let minutes = environment["STRATA_KIT_FAULT_MINUTES"].flatMap(Int.init)
    private static let chosen = KitFault.possible.filter {
        environment["STRATA_KIT_FAULT_ONLY"].map($0.testDescription.contains) ?? true
    }
    private static let begun = ContinuousClock.now
    private static let system = SystemOfApps()
    private static let table = KitFaultTable(seed: seed, minutes: minutes)

    @Test(
        "each accepted change arrives once or is reported as failed, and every store equals a fresh load",
        arguments: chosen)
    func one(_ fault: KitFault) async throws {
        _ = Self.begun
        let number = UInt64(KitFault.allCases.firstIndex(of: fault) ?? 0)
        try await Self.run(
            KitTrial(
                faults: [fault], seed: Self.seed &+ 1000 * number,
                period: .milliseconds(Self.minutes == nil ? 1500 : 5000)))
    }

    @Test("several random concurrent faults keep the promises of StrataKit")
    func several() async throws {
        for fault in KitFault.allCases {
            if let obstacle = fault.obstacle { print("not tried, since it \(obstacle): \(fault.testDescription)") }
        }
        var generator = SeededGenerator(seed: Self.seed)
        print("random faults of apps, STRATA_KIT_FAULT_SEED=\(Self.seed)")
        let end = Self.begun + .seconds(60 * (Self.minutes ?? 0))
        repeat {
            let groups = KitFault.groups.map { $0.filter(Self.chosen.contains) }.filter { !$0.isEmpty }
            let faults = groups.shuffled(using: &generator).prefix(generator.int(1...3)).map { generator.pick($0) }
            let period = Self.minutes == nil ? 1500 : generator.pick([1500, 4000, 10_000])
            guard !faults.isEmpty else { break }
            try await Self.run(KitTrial(faults: faults, seed: generator.next(), period: .milliseconds(period)))
        } while ContinuousClock.now < end
        if Self.environment["STRATA_FAULT_TABLE"]?.isEmpty == false { try Self.table.write() }
    }

    private static func run(_ trial: KitTrial) async throws {
        try await system.with { cluster in
            let row = try await trial.run(on: cluster)
            print("seed \(trial.seed): \(row)")
            table.add(row)
        }
    }
}

/// The system for all trials. It is shared because it must recover from each fault anyway, and replaced after a trial
/// that could not be executed.
private actor SystemOfApps {
    private var cluster: Cluster?

    func with(_ body: (Cluster) async throws -> Void) async throws {
        let cluster =
            if let cluster { cluster } else {
                try await Cluster.start(Cluster.Size(gateways: 2, conversations: 2, metadata: 2, presence: 2))
            }
        self.cluster = cluster
        do {
            try await body(cluster)
        } catch {
            self.cluster = nil
            await cluster.stop()
            throw error
        }
    }
}
