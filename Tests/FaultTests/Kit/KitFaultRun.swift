// SPDX-License-Identifier: Apache-2.0

import Foundation
import KitClient
import SeededRandom
import TestCluster
import TestSupport

/// The trials of a suite, with its results.
struct KitFaultRun: Sendable {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seed = environment["STRATA_KIT_FAULT_SEED"].flatMap(UInt64.init) ?? 20_180_504
    private static let minutes = environment["STRATA_KIT_FAULT_MINUTES"].flatMap(Int.init)
    private static let system = SystemOfApps()

    private let begun = ContinuousClock.now
    private let table: KitFaultTable

    init(_ library: KitLibrary) { table = KitFaultTable(library, seed: Self.seed, minutes: Self.minutes) }

    /// Returns the possible faults whose description contains the text in the environment; without it, those that
    /// `isDefault` selects.
    static func chosen(_ isDefault: (KitFault) -> Bool = { _ in true }) -> [KitFault] {
        let text = environment["STRATA_KIT_FAULT_ONLY"]
        return KitFault.possible.filter { fault in text.map(fault.testDescription.contains) ?? isDefault(fault) }
    }

    /// Runs a trial with one fault.
    func one(_ fault: KitFault, _ libraries: [KitLibrary] = [.strataKit]) async throws {
        let number = UInt64(KitFault.allCases.firstIndex(of: fault) ?? 0)
        try await run(
            KitTrial(
                faults: [fault], seed: Self.seed &+ 1000 * number,
                period: .milliseconds(Self.minutes == nil ? 1500 : 5000), libraries: libraries))
    }

    /// Runs trials with random concurrent faults for the minutes that the environment sets, at least one, and writes
    /// the table if the environment requests it.
    func several(_ libraries: [KitLibrary] = [.strataKit]) async throws {
        var generator = SeededGenerator(seed: Self.seed)
        print("random faults of apps, STRATA_KIT_FAULT_SEED=\(Self.seed)")
        let end = begun + .seconds(60 * (Self.minutes ?? 0))
        repeat {
            let chosen = Self.chosen()
            let groups = KitFault.groups.map { $0.filter(chosen.contains) }.filter { !$0.isEmpty }
            let faults = groups.shuffled(using: &generator).prefix(generator.int(1...3)).map { generator.pick($0) }
            let period = Self.minutes == nil ? 1500 : generator.pick([1500, 4000, 10_000])
            guard !faults.isEmpty else { break }
            try await run(
                KitTrial(
                    faults: faults, seed: generator.next(), period: .milliseconds(period), libraries: libraries))
        } while ContinuousClock.now < end
        if Self.environment["STRATA_FAULT_TABLE"]?.isEmpty == false { try table.write() }
    }

    private func run(_ trial: KitTrial) async throws {
        try await Self.system.with { cluster in
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
