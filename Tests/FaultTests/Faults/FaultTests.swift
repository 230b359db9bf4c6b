// SPDX-License-Identifier: Apache-2.0

import Foundation
import SeededRandom
import TestCluster
import TestSupport
import TestTiers
import Testing

@testable import Soak

/// Tests the promises of docs/architecture.md §3 under faults. Many clients write while a fault is injected; afterwards
/// ``Checker`` judges their histories.
///
/// `STRATA_FAULT_SEED` repeats a run, as far as a run is reproducible. `STRATA_FAULT_MINUTES` continues with random
/// faults for this time, each lasting up to 20 s. `STRATA_FAULT_TABLE` writes the table to `docs/faults.md`.
@Suite("faults under load", .serialized)
struct FaultTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seed = environment["STRATA_FAULT_SEED"].flatMap(UInt64.init) ?? 20_180_504
    private static let minutes = environment["STRATA_FAULT_MINUTES"].flatMap(Int.init)
    /// The faults of the short tier, one of each kind: killed process, hanging process, Redis failure, PostgreSQL
    /// failure, network failure.
    private static let smoke: Set<Fault> = [
        .gatewayKilled, .conversationsHangs, .redisKilled, .postgresKilled, .connectionsCut,
    ]
    /// The faults to test. `STRATA_FAULT_ONLY` selects those whose description contains its text.
    private static let chosen = Fault.possible.filter { fault in
        environment["STRATA_FAULT_ONLY"].map(fault.testDescription.contains)
            ?? (TestTier.current == .long || smoke.contains(fault))
    }
    private static let begun = ContinuousClock.now
    private static let system = SystemUnderFaults()
    private static let table = FaultTable(seed: seed, isLong: minutes != nil)

    @Test("a single fault loses, duplicates or reorders no change", arguments: chosen)
    func one(_ fault: Fault) async throws {
        _ = Self.begun
        // Each trial has its own seed: on one system, the same seed would reuse message ids.
        let seed = Self.seed &+ UInt64(1000 * (Fault.allCases.firstIndex(of: fault) ?? 0))
        try await Self.system.with { cluster in
            let row = try await Trial([fault], seed: seed, period: Self.minutes == nil ? .seconds(2) : .seconds(20))
                .run(on: cluster)
            print(row)
            Self.table.add(row)
        }
    }

    /// The trial in `STRATA_FAULT_TRIAL`, for example `gatewayHangs+readersStop:11938117622984043661:20`: the faults,
    /// the seed, and the duration of the faults in seconds. It runs `STRATA_FAULT_TIMES` times on one system; later
    /// runs have other seeds.
    private static let repeated = environment["STRATA_FAULT_TRIAL"].flatMap(Trial.init(named:))

    @Test("the trial in STRATA_FAULT_TRIAL runs again", .enabled(if: repeated != nil))
    func again() async throws {
        guard let trial = Self.repeated else { return }
        let times = Self.environment["STRATA_FAULT_TIMES"].flatMap(UInt64.init) ?? 1
        for number in 0..<times {
            let again = Trial(trial.faults, seed: trial.seed &+ 1_000_000 * number, period: trial.period)
            try await Self.system.with { cluster in print(try await again.run(on: cluster)) }
        }
    }

    @Test("several random concurrent faults lose, duplicate or reorder no change", .long)
    func several() async throws {
        for fault in Fault.allCases {
            if let obstacle = fault.obstacle { print("not tried, since it \(obstacle): \(fault.testDescription)") }
        }
        var generator = SeededGenerator(seed: Self.seed)
        print("random faults, STRATA_FAULT_SEED=\(Self.seed)")
        let end = Self.begun + .seconds(60 * (Self.minutes ?? 0))
        var number = 0
        repeat {
            number += 1
            // At most one fault of each group, because a killed process cannot be killed again.
            let groups = Fault.groups.map { $0.filter { $0.obstacle == nil } }.filter { !$0.isEmpty }
            let faults = groups.shuffled(using: &generator).prefix(generator.int(2...3)).map { generator.pick($0) }
            let period = Self.minutes == nil ? 2 : generator.pick([2, 5, 20])
            let trial = Trial(faults, seed: generator.next(), period: .seconds(period))
            print("\(number). \(trial.name) …")
            try await Self.system.with { cluster in
                let row = try await trial.run(on: cluster)
                print("\(number). \(row)")
                Self.table.add(row)
            }
        } while ContinuousClock.now < end || number < 3
        if Self.environment["STRATA_FAULT_TABLE"]?.isEmpty == false { try Self.table.write() }
    }
}

/// The system for all trials. It is shared because it must recover from each fault anyway, and replaced after a trial
/// that could not be executed.
private actor SystemUnderFaults {
    private var cluster: Cluster?

    func with(_ body: (Cluster) async throws -> Void) async throws {
        var size = Cluster.Size(
            gateways: 2, conversations: 2, metadata: 2, presence: 2, webhooks: 2,
            // A small backlog, so that a client that stops reading is detected within a few seconds.
            settings: ["STRATA_SOCKET_BACKLOG_BYTES": "65536"])
        size.facilities = Facility.available
        let cluster = if let cluster { cluster } else { try await Cluster.start(size) }
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
