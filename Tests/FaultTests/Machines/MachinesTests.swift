// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestCluster
import TestSupport
import TestTiers
import Testing

@testable import Soak

/// Tests a system of many machines, which are network namespaces, under the load and by the judge of ``FaultTests``.
///
/// `STRATA_FAULT_SEED` and `STRATA_FAULT_ONLY` are those of ``FaultTests``, `STRATA_FAULT_TABLE` writes the table.
@Suite("many machines under load", .serialized, .long, .enabled(if: VirtualNetwork.obstacle == nil))
struct MachinesTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seed = environment["STRATA_FAULT_SEED"].flatMap(UInt64.init) ?? 20_180_504
    private static let period = Duration.seconds(10)
    private static let events = MachineEvent.allCases.filter { event in
        environment["STRATA_FAULT_ONLY"].map(event.description.contains) ?? true
    }

    private static var size: Cluster.Size {
        var size = Cluster.Size(gateways: 3, conversations: 2, metadata: 2, presence: 2, webhooks: 2)
        size.facilities = [.network]
        size.machines = Cluster.Size.Machines(redis: 3)
        size.databases = 2
        return size
    }

    @Test("updates, lost machines and partitions lose, duplicate or reorder no change")
    func events() async throws {
        let table = MachineTable()
        try await Cluster.with(Self.size) { cluster in
            for (number, event) in Self.events.enumerated() {
                let row = try await Self.run(event, seed: Self.seed &+ UInt64(1000 * (200 + number)), on: cluster)
                print(row)
                for pause in row.interruption.pauses { print("    \(pause)") }
                table.add(row)
            }
        }
        if Self.environment["STRATA_FAULT_TABLE"]?.isEmpty == false { try table.write() }
    }

    private static func run(_ event: MachineEvent, seed: UInt64, on cluster: Cluster) async throws -> MachineTable.Row {
        let seen = Mutex<(Interruption, Recorder)?>(nil)
        var trial = Trial(event.description, seed: seed, period: period) { cluster, load in
            let begun = ContinuousClock.now
            try await event.inject(into: cluster, for: period)
            let ended = ContinuousClock.now
            for client in load.clients {
                let isServed = await client.isServed(after: ended, within: Waiting.limit)
                #expect(isServed, "\(client.user.user) \(client.status)")
            }
            // Connections may still be lost that the event has broken.
            try await Task.sleep(for: .seconds(3))
            seen.withLock { $0 = (Interruption(load, since: begun), load.recorder) }
        }
        trial.size.silence = .seconds(2)
        let row = try await trial.run(on: cluster)
        let (interruption, recorder) = try #require(seen.withLock { $0 })
        return MachineTable.Row(trial: row, interruption: interruption, openAttempts: recorder.openAttempts)
    }
}
