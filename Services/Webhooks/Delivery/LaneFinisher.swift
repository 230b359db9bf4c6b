// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import Metrics
import Postgres
import StrataModel
import Synchronization

/// Records the results of lanes in the database. Results that arrive at about the same time share one statement for
/// each claim.
///
/// Results that cannot be recorded before the lease ends are dropped. The lanes are then claimed again, and their
/// receivers get some events twice.
final class LaneFinisher: Sendable {
    /// A result that has not been recorded.
    private struct Waiting: Sendable {
        let result: LaneResult
        let claim: UUID
        /// The end of the lease, after which the result is dropped.
        let until: ContinuousClock.Instant
    }

    private struct State {
        var waiting: [Waiting] = []
        /// True while a task records results.
        var isWorking = false
    }

    private let store: HookStore
    private let logger: Logger
    private let state = Mutex(State())
    /// The number of results dropped at the end of their lease.
    private let dropped = Counter(label: "strata_webhooks_results_lost_total")

    init(store: HookStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Adds a result.
    /// - Parameters:
    ///   - until: the end of the lease.
    ///   - onRecorded: called each time after results have been recorded.
    func add(
        _ result: LaneResult, of claim: UUID, until: ContinuousClock.Instant, onRecorded: @escaping @Sendable () -> Void
    ) {
        let isFirst = state.withLock { state in
            state.waiting.append(Waiting(result: result, claim: claim, until: until))
            defer { state.isWorking = true }
            return !state.isWorking
        }
        if isFirst { Task { await work(onRecorded) } }
    }

    /// True if all results have been recorded.
    var isIdle: Bool { state.withLock { !$0.isWorking } }

    private func work(_ onRecorded: @Sendable () -> Void) async {
        while true {
            let waiting = state.withLock { state in
                defer { state.waiting = [] }
                if state.waiting.isEmpty { state.isWorking = false }
                return state.waiting
            }
            if waiting.isEmpty { return }
            var again: [Waiting] = []
            for (claim, group) in Dictionary(grouping: waiting, by: \.claim) { again += await record(group, of: claim) }
            onRecorded()
            guard !again.isEmpty else { continue }
            let (late, rest) = (again.filter { $0.until < .now }, again.filter { $0.until >= .now })
            if !late.isEmpty {
                dropped.increment(by: late.count)
                logger.warning(
                    "delivery results not recorded, repeating the deliveries",
                    metadata: ["lanes.count": "\(late.count)"])
            }
            state.withLock { $0.waiting += rest }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Records the results of a claim.
    /// - Returns: the results that were not recorded, because the database failed or another transaction had locked
    ///   their lanes. They must be recorded again.
    private func record(_ group: [Waiting], of claim: UUID) async -> [Waiting] {
        do {
            let busy = try await store.finish(group.map(\.result), of: claim, deadline: .now + .seconds(5))
            let keys = Set(busy.map { LaneKey($0) })
            return group.filter { keys.contains(LaneKey($0.result)) }
        } catch {
            try? await Task.sleep(for: .milliseconds(200))
            return group
        }
    }

    private struct LaneKey: Hashable {
        let hook: UUID
        let lane: UUID

        init(_ result: LaneResult) { (hook, lane) = (result.hook.rawValue, result.lane) }
    }
}
