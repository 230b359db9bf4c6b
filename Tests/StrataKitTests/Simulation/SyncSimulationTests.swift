// SPDX-License-Identifier: Apache-2.0
import Foundation
import SeededRandom
import Testing

@testable import StrataKit

@Suite("Synchronization under virtual time")
struct SyncSimulationTests {
    /// No faults; packets and answers are still reordered.
    static let calm = SimulatedHistory(devices: 3, steps: 8, faults: { _ in SimulatedWorld.Faults() })
    /// Random faults of the network and the server.
    static let hostile = SimulatedHistory(devices: 4, steps: 8, faults: { hostility(&$0) })
    /// The database is restored once.
    static let restored = SimulatedHistory(
        devices: 3, steps: 8,
        faults: { random in
            var faults = hostility(&random)
            faults.restores = 1
            return faults
        })

    static func hostility(_ random: inout SeededGenerator) -> SimulatedWorld.Faults {
        var faults = SimulatedWorld.Faults()
        faults.delay = random.anyOne(of: [20, 200, 2_000]) ?? 20
        faults.slowness = random.anyOne(of: [0, 3_000, 20_000]) ?? 0
        func sometimes(_ percent: Int) -> Int { random.chance(60) ? percent : 0 }
        faults.cut = sometimes(12)
        faults.loss = sometimes(15)
        faults.kill = sometimes(15)
        faults.server.transient = sometimes(15)
        faults.server.unknownFate = sometimes(10)
        faults.server.refusal = sometimes(4)
        faults.server.failedReplay = sometimes(25)
        faults.server.incompleteReplay = sometimes(15)
        faults.server.failedLoad = sometimes(20)
        faults.server.repeated = sometimes(10)
        faults.server.garbage = sometimes(15)
        faults.server.emptyPages = random.chance(60)
        return faults
    }

    @Test("Without faults, all devices reach the server's state")
    func withoutFaults() async throws { try await SimulationSeeds.run(Self.calm, count: 20) }

    @Test(
        "With lost answers, cut connections, failed loads and killed devices, all reach the server's state, and each change takes effect once"
    )
    func withFaults() async throws { try await SimulationSeeds.run(Self.hostile, count: 40) }

    @Test("After the database was restored, all devices reach its state")
    func afterRestore() async throws { try await SimulationSeeds.run(Self.restored, count: 20) }
}
