// SPDX-License-Identifier: Apache-2.0

import StrataCommand
import Synchronization

/// The record of all clients of a run: their operations and the packets they received.
final class Recorder: Sendable {
    private struct State {
        var operations: [History.Operation] = []
        var acknowledged = 0
        var unavailable = 0
        var unanswered = 0
        var typing: [History.Typing] = []
        var faults: [String] = []
        var hostile: [Hostility: Int] = [:]
        var largestTree: Int?
    }

    /// The journal that helps to explain a failure; nil if none is kept.
    let journal: Journal?
    private let moments = Atomic<Int>(0)
    private let state = ObservedState(State())
    private let started = ContinuousClock.now

    init(journal: Journal? = nil) { self.journal = journal }

    /// Returns the next moment, which is greater than all earlier ones.
    func moment() -> Int { moments.add(1, ordering: .sequentiallyConsistent).newValue }

    var seconds: Double {
        let passed = (ContinuousClock.now - started).components
        return Double(passed.seconds) + Double(passed.attoseconds) / 1e18
    }

    func add(_ operation: History.Operation) {
        state.change { state in
            state.operations.append(operation)
            if operation.outcome == .acknowledged { state.acknowledged += 1 }
        }
    }
    /// Records an attempt that left its outcome open.
    func noteOpenAttempt(isAnswered: Bool) {
        state.change { state in
            if isAnswered { state.unavailable += 1 } else { state.unanswered += 1 }
        }
    }
    func add(_ typing: History.Typing) { state.change { $0.typing.append(typing) } }
    func add(faults: [String]) { state.change { $0.faults += faults } }
    /// Records a successful action of a hostile user.
    func note(_ hostility: Hostility) { state.change { $0.hostile[hostility, default: 0] += 1 } }
    /// Records the size of a metadata tree that the server accepted above its limit, in bytes.
    func noteTree(of bytes: Int) { state.change { $0.largestTree = max($0.largestTree ?? 0, bytes) } }
    /// Descriptions of the harm that the server should have prevented.
    var harm: [String] { state.change { $0.largestTree.map { ["metadata of \($0) bytes was accepted"] } ?? [] } }
    /// Descriptions of the hostilities that were never performed. A run without them proves nothing about them.
    var untriedHarm: [String] {
        state.change { state in
            Hostility.allCases.filter { state.hostile[$0] == nil }.map { "hostile users did not get to \($0)" }
        }
    }
    /// Waits until each hostility has been performed.
    func hasAllHostilities(within limit: Duration) async -> Bool {
        await state.first(within: limit) { $0.hostile.count == Hostility.allCases.count ? true : nil } ?? false
    }

    /// Waits until a client receives this typing action of `typist`.
    func hasTyping(_ action: String, by typist: String, within limit: Duration) async -> Bool {
        await state.first(within: limit) {
            $0.typing.contains { $0.typist == typist && $0.action == action } ? true : nil
        } ?? false
    }

    /// Waits until the server has acknowledged `count` further operations.
    @discardableResult
    func hasAcknowledged(_ count: Int, within limit: Duration) async -> Bool {
        let goal = state.change { $0.acknowledged } + count
        return await state.first(within: limit) { $0.acknowledged >= goal ? true : nil } ?? false
    }

    /// The number of operations by outcome.
    var counts: (acknowledged: Int, refused: Int, unknown: Int) {
        state.change { state in
            state.operations.reduce(into: (0, 0, 0)) { counts, operation in
                switch operation.outcome {
                case .acknowledged: counts.0 += 1
                case .refused: counts.1 += 1
                case .unknown: counts.2 += 1
                }
            }
        }
    }

    /// The number of attempts that were answered with "try again", and of those that were not answered.
    var openAttempts: (unavailable: Int, unanswered: Int) { state.change { ($0.unavailable, $0.unanswered) } }

    /// Returns the history of the run, with the final state of the system.
    func history(views: [History.View], conversations: [History.Conversation]) -> History {
        state.change { state in
            History(
                operations: state.operations, views: views, typing: state.typing, conversations: conversations,
                faults: state.faults)
        }
    }
}
