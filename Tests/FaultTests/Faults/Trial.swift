// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import TestCluster
import TestSupport
import Testing

@testable import Soak

/// A trial: load, faults, and the judgement of the histories.
struct Trial: Sendable {
    /// Injects the faults under the load of a trial, waits, and ends them.
    typealias Injection = @Sendable (Cluster, Load) async throws -> Void

    let name: String
    let faults: [Fault]
    let seed: UInt64
    let period: Duration
    /// The load, by default that of all faults.
    var size = Load.Size()
    private let injection: Injection

    init(_ faults: [Fault], seed: UInt64, period: Duration) {
        name = faults.map(\.testDescription).joined(separator: "; ")
        (self.faults, self.seed, self.period) = (faults, seed, period)
        injection = { cluster, load in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, fault) in faults.enumerated() {
                    group.addTask {
                        var generator = SeededGenerator(seed: seed &+ UInt64(index))
                        try await fault.inject(into: cluster, under: load, for: period, &generator)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    /// Creates a trial with faults that are no ``Fault``.
    init(_ name: String, seed: UInt64, period: Duration, injection: @escaping Injection) {
        (self.name, faults, self.seed, self.period) = (name, [], seed, period)
        self.injection = injection
    }

    /// Parses a name such as `gatewayHangs+readersStop:1:20`; nil if it is malformed.
    init?(named text: String) {
        let parts = text.split(separator: ":").map(String.init)
        guard parts.count == 3, let seed = UInt64(parts[1]), let seconds = Int(parts[2]) else { return nil }
        let faults = parts[0].split(separator: "+").compactMap { name in Fault.allCases.first { "\($0)" == name } }
        guard !faults.isEmpty else { return nil }
        self.init(faults, seed: seed, period: .seconds(seconds))
    }

    /// Runs the trial and records an issue for each violation.
    func run(on cluster: Cluster) async throws -> FaultTable.Row {
        let outcome = try await judge(cluster)
        for violation in outcome.violations.prefix(20) { Issue.record("\(name), seed \(seed): \(violation)") }
        // Little is done while a database is unavailable. But a trial without operations would prove nothing.
        #expect(outcome.row.acknowledged > 10)
        return outcome.row
    }

    /// Waits until the clients have had three operations acknowledged on average, but at most a second, because faults
    /// may prevent it.
    private static func awaitWork(_ load: Load) async {
        await load.recorder.hasAcknowledged(3 * load.clients.count, within: .seconds(1))
    }

    /// Runs the trial and returns the violations to the caller.
    /// - Parameter patience: the maximum time for the clients to receive everything.
    func judge(
        _ cluster: Cluster, patience: Duration = .seconds(90)
    ) async throws -> (row: FaultTable.Row, violations: [Violation]) {
        let deadlocks = try? await ServerState.deadlocks(cluster)
        let load = try await Load.start(size, seed: seed, on: cluster)
        let begun = ContinuousClock.now
        try await load.run {
            await Self.awaitWork(load)
            try await injection(cluster, load)
            await Self.awaitWork(load)
        }
        let healed = ContinuousClock.now
        var history = try await load.settle(cluster, within: patience)
        let recovery = ContinuousClock.now - healed
        if faults == [.hostileUsers] {
            history.isUndisturbed = true
            history.faults += load.recorder.untriedHarm
        }
        history.faults += load.recorder.harm
        // PostgreSQL resets its statistics at a restart.
        if let deadlocks, let after = try? await ServerState.deadlocks(cluster), after > deadlocks {
            history.faults.append("PostgreSQL had to end \(after - deadlocks) deadlocks")
        }
        let violations = Checker.violations(of: history)
        let counts = load.recorder.counts
        let row = FaultTable.Row(
            faults: name, clients: load.clients.count, duration: healed - begun, acknowledged: counts.acknowledged,
            refused: counts.refused,
            unknown: counts.unknown, violations: Dictionary(grouping: violations, by: \.kind).mapValues(\.count),
            recovery: recovery)
        return (row, violations)
    }
}
