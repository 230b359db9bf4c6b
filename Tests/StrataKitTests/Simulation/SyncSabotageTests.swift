// SPDX-License-Identifier: Apache-2.0
import TestTiers
import Testing

@testable import StrataKit

/// Devices that violate a rule are detected, which shows that the simulation can prove the absence of violations.
@Suite("Sabotage of the simulated synchronization")
struct SyncSabotageTests {
    @Test("A device that breaks a rule violates a promise", .long, arguments: Sabotage.allCases)
    func sabotage(_ sabotage: Sabotage) async throws {
        let faultless = Self.history(for: sabotage)
        var history = faultless
        history.sabotage = sabotage
        let seed = try await SimulationSeeds.onThread { [history] in
            try (UInt64(1)...60).first { seed in try !history.run(seed).violations.isEmpty }
        }
        let found = try #require(seed, "no seed shows \(sabotage)")
        let violations = try await SimulationSeeds.onThread { try faultless.run(found).violations }
        #expect(violations == [], "the faults of seed \(found) alone do it")
    }

    @Test("The same seed gives the same history")
    func repeatable() throws {
        let (first, second) = (
            try SyncSimulationTests.hostile.run(5, traces: true), try SyncSimulationTests.hostile.run(5, traces: true)
        )
        #expect(first.digest == second.digest)
        #expect(first.trace == second.trace)
    }

    /// Returns a history with the faults that the rule protects against.
    private static func history(for sabotage: Sabotage) -> SimulatedHistory {
        var faults = SimulatedWorld.Faults()
        faults.delay = 200
        switch sabotage {
        case .forgetsPacketsDuringLoads: (faults.slowness, faults.cut, faults.server.incompleteReplay) = (30_000, 5, 60)
        case .keepsTimeDuringReplays:
            (faults.cut, faults.delay, faults.kill, faults.server.failedReplay) = (60, 2_000, 20, 10)
        case .endsOperationsAtOnce: faults.delay = 2_000
        case .renamesRepeatedChanges: (faults.loss, faults.server.unknownFate) = (40, 30)
        case .ignoresEpoch: (faults.restores, faults.cut) = (1, 5)
        case .neverOrdersCreates: (faults.delay, faults.server.transient) = (2_000, 30)
        }
        return SimulatedHistory(devices: 3, steps: 10, faults: { [faults] _ in faults })
    }
}
