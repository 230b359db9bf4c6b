// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestCluster
import TestTiers
import Testing

/// Tests the failure table of docs/architecture.md §12: which operations work while a dependency is unavailable, which
/// process reports it, and that everything recovers without a restart.
@Suite("degraded modes", .serialized, .long)
struct DegradedTests {
    private static let isWriting = ProcessInfo.processInfo.environment["STRATA_DEGRADED"] == "write"

    @Test("each operation works or answers 503 as docs/degraded.md states, and all work again afterwards")
    func table() async throws {
        var table = DegradedTable()
        // Each state consists mostly of waiting, so two systems each test half of the states concurrently.
        let half = DegradedState.allCases.count / 2
        async let others = Self.passes(DegradedState.allCases.dropFirst(half))
        for (state, cells, seconds) in try await Self.passes(DegradedState.allCases.prefix(half)) + others {
            table.observed(state, cells)
            table.recovered(state, seconds)
        }
        if Self.isWriting { return try table.write() }
        let committed = try DegradedTable.committed()
        #expect(committed.count == DegradedOperation.allCases.count)
        for state in DegradedState.allCases {
            for operation in DegradedOperation.allCases {
                let expected = committed[operation.rawValue]?[state.title] ?? "an empty cell"
                let observed = table.cells[state]?[operation]?.description ?? "nothing"
                #expect(observed == expected, "\(state.title): \(operation.rawValue)")
            }
        }
    }

    private typealias Cells = [DegradedOperation: DegradedOperation.Cell]

    /// Tests states in sequence on a separate system.
    private static func passes(
        _ states: ArraySlice<DegradedState>
    ) async throws -> [(DegradedState, Cells, [DegradedOperation: Double])] {
        var passes: [(DegradedState, Cells, [DegradedOperation: Double])] = []
        try await Cluster.with(Cluster.Size(settings: DegradedServer.settings)) { cluster in
            for state in states {
                let (cells, seconds) = try await pass(state, cluster)
                passes.append((state, cells, seconds))
            }
        }
        return passes
    }

    /// Tests one state, from its begin to the recovery of all operations.
    private static func pass(
        _ state: DegradedState, _ cluster: Cluster
    ) async throws -> (Cells, [DegradedOperation: Double]) {
        let scene = try await DegradedScene.make(cluster)
        let signs = SignWatch(state, cluster)
        await state.begin(cluster)
        if !state.knowsSessions { try await scene.awaitForgottenSessions() }
        let cells = await attemptAll(scene, cluster)
        for (operation, cell) in cells {
            if case .other(let what) = cell { Issue.record("\(state.title): \(operation.rawValue): \(what)") }
        }
        try await signs.gone()
        // Many further requests must not cause many further log lines.
        try await burst(scene)
        try await state.end(cluster)
        let seconds = try await recover(scene, cluster, state)
        let undelivered = await scene.server.undelivered(within: Waiting.limit)
        #expect(
            undelivered.isEmpty, "\(state.title): messages that were accepted, and of which the webhook was not told")
        try await signs.back()
        signs.checkNoise()
        await scene.close()
        let worst = seconds.max { $0.value < $1.value }
        print(
            "\(state.title): all works again after \(String(format: "%.1f", worst?.value ?? 0)) s (\(worst?.key.rawValue ?? ""))"
        )
        return (cells, seconds)
    }

    private static func attemptAll(_ scene: DegradedScene, _ cluster: Cluster) async -> Cells {
        await withTaskGroup(of: (DegradedOperation, DegradedOperation.Cell).self) { group in
            // Run the presence update separately. Otherwise it and the other operation on Ana's presence would observe
            // each other's packets.
            for operation in DegradedOperation.allCases where operation != .presenceUpdate {
                group.addTask { (operation, await operation.attempt(scene, cluster)) }
            }
            var cells = await group.reduce(into: Cells()) { $0[$1.0] = $1.1 }
            cells[.presenceUpdate] = await DegradedOperation.presenceUpdate.attempt(scene, cluster)
            return cells
        }
    }

    private static func burst(_ scene: DegradedScene) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                group.addTask {
                    _ = try await scene.ana.call(
                        number.isMultiple(of: 2) ? "GET" : "DELETE", scene.conversation.path + "/messages")
                }
            }
            try await group.waitForAll()
        }
    }

    private static func recover(
        _ scene: DegradedScene, _ cluster: Cluster, _ state: DegradedState
    ) async throws -> [DegradedOperation: Double] {
        let start = ContinuousClock.now
        return await withTaskGroup(of: (DegradedOperation, Double).self) { group in
            for operation in DegradedOperation.allCases {
                group.addTask {
                    while ContinuousClock.now - start < Waiting.limit {
                        if await operation.attempt(scene, cluster, patience: .milliseconds(500)) == .works { break }
                        try? await Task.sleep(for: .milliseconds(100))
                    }
                    let seconds = (ContinuousClock.now - start) / .seconds(1)
                    if seconds > Waiting.limit / .seconds(1) {
                        Issue.record("\(state.title): \(operation.rawValue) does not work again")
                    }
                    return (operation, seconds)
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }
}
