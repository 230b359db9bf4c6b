// SPDX-License-Identifier: Apache-2.0
import Contracts
import CoreMetrics
import DequeModule
import FanOut
import Metrics
import StrataModel
import Synchronization

/// Limits the number of long answers that are fetched and rendered at the same time. Users take turns.
///
/// A user who requests many long answers cannot occupy the processors and database connections that other users need.
/// Another user waits for one piece of the first user's answers, not for all of them.
///
/// The length of an answer is known only after its first piece. Turns therefore apply to users who recently received a
/// long answer. Among waiting users, the one with the fewest bytes is next. A replay of a few megabytes thus does not
/// wait behind every piece of a user who requests hundreds.
final class LongAnswers: Sendable {
    /// The size from which an answer is long, in bytes of service responses to one request or one catch-up step.
    static let longBytes = 256 << 10
    /// The time for which a user must take turns after a long answer.
    static let memory = Duration.seconds(10)
    /// The maximum duration of a turn. A longer one probably waits for something else, so the next turn may begin.
    static let longestTurn = Duration.seconds(1)
    /// The maximum time that a client waits for a turn, by default.
    static let patience = Duration.seconds(10)

    /// The bytes that a user has received, with exponential decay: they are halved after each ``LongAnswers/memory``.
    private struct Share {
        /// The time until which the user must take turns.
        var until: ContinuousClock.Instant
        private var bytes = 0
        private var halvedAt: ContinuousClock.Instant

        init(since now: ContinuousClock.Instant) {
            until = now
            halvedAt = now
        }

        private func periods(until now: ContinuousClock.Instant) -> Int {
            max(0, Int((now - halvedAt) / LongAnswers.memory))
        }

        func bytes(at now: ContinuousClock.Instant) -> Int { bytes >> periods(until: now) }

        mutating func add(_ count: Int, at now: ContinuousClock.Instant) {
            let periods = periods(until: now)
            bytes = (bytes >> periods) + count
            halvedAt += LongAnswers.memory * periods
        }
    }

    private struct State {
        var queue: TurnQueue<UserKey, CheckedContinuation<Bool, Never>>
        /// The users who must take turns, or recently did.
        var users: [UserKey: Share] = [:]
        var nextSweep: ContinuousClock.Instant
        var lastID: UInt64 = 0
    }

    private let state: Mutex<State>
    private let refused = Counter(label: "strata_gateway_refused_requests_total", dimensions: [("by", "turns")])
    private let waiting = Gauge(label: "strata_gateway_long_answers_waiting")

    /// - Parameter limit: the maximum number of turns at the same time.
    init(limit: Int) { state = Mutex(State(queue: TurnQueue(limit: limit), nextSweep: .now + Self.memory)) }

    var waitingCount: Int { state.withLock { $0.queue.waiting } }

    /// A turn. It ends with ``end()``, or with its last reference.
    final class Turn: Sendable {
        private let answers: Mutex<LongAnswers?>

        fileprivate init(_ answers: LongAnswers?) { self.answers = Mutex(answers) }

        deinit { end() }

        func end() {
            let answers = answers.withLock { answers in
                defer { answers = nil }
                return answers
            }
            answers?.beginNext()
        }
    }

    /// Counts the bytes of service responses to the calls that use it.
    final class Account: CallAnswers {
        private let count = Atomic<Int>(0)

        var bytes: Int { count.load(ordering: .relaxed) }

        func answerReceived(byteCount count: Int) { self.count.wrappingAdd(count, ordering: .relaxed) }
    }

    /// Records the bytes of service responses to one request of a user, or to one catch-up step.
    func recordBytes(_ bytes: Int, for user: UserKey, now: ContinuousClock.Instant = .now) {
        let isLong = bytes >= Self.longBytes
        state.withLock { state in
            guard isLong || state.users[user] != nil else { return }
            state.users[user, default: Share(since: now)].add(bytes, at: now)
            guard isLong else { return }
            state.users[user]?.until = now + Self.memory
            if state.nextSweep <= now {
                state.users = state.users.filter { $0.value.until > now || $0.value.bytes(at: now) >= Self.longBytes }
                state.nextSweep = now + Self.memory
            }
        }
    }

    /// Waits for a turn if the user must take turns.
    /// - Parameter patience: the maximum waiting time. nil: no limit.
    /// - Throws: `service_unavailable` if the client has canceled the request, or if the wait exceeded `patience`.
    func turn(of user: UserKey, patience: Duration? = LongAnswers.patience) async throws(Failure) -> Turn {
        let begun = ContinuousClock.now
        let id: UInt64? = state.withLock { state in
            guard let until = state.users[user]?.until, until > begun else { return nil }
            state.lastID += 1
            return state.lastID
        }
        guard let id else { return Turn(nil) }
        let isMine = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in wait(user, id: id, continuation: continuation) }
        } onCancel: {
            giveUp(user, id: id)
        }
        guard isMine else { throw .unavailable }
        let turn = Turn(self)
        if let patience, ContinuousClock.now - begun > patience {
            refused.increment()
            throw .unavailable
        }
        Task { [weak turn] in
            try? await Task.sleep(for: Self.longestTurn)
            turn?.end()
        }
        return turn
    }

    /// Resumes the continuation with true when the turn begins: now, or after those of other waiters.
    private func wait(_ user: UserKey, id: UInt64, continuation: CheckedContinuation<Bool, Never>) {
        let isMine: Bool? = state.withLock { state in
            // The task was canceled before it was queued, so `giveUp` found no waiter.
            if Task.isCancelled { return false }
            if state.queue.begin() { return true }
            state.queue.wait(user, id: id, waiter: continuation)
            waiting.record(state.queue.waiting)
            return nil
        }
        if let isMine { continuation.resume(returning: isMine) }
    }

    private func giveUp(_ user: UserKey, id: UInt64) {
        let waiter = state.withLock { state in
            let waiter = state.queue.giveUp(user, id: id)
            waiting.record(state.queue.waiting)
            return waiter
        }
        waiter?.resume(returning: false)
    }

    /// Ends a turn and begins that of the next waiter.
    private func beginNext() {
        let waiter = state.withLock { state in
            let now = ContinuousClock.now
            let waiter = state.queue.end { [users = state.users] in users[$0]?.bytes(at: now) ?? 0 }
            waiting.record(state.queue.waiting)
            return waiter
        }
        waiter?.resume(returning: true)
    }
}

/// A fair queue of waiters, grouped by key. The key with the lowest cost is next; keys with equal costs alternate,
/// regardless of their numbers of waiters.
///
/// The queue is a plain value without clock, lock, or task. A waiter leaves it exactly once.
struct TurnQueue<Key: Hashable & Sendable, Waiter: Sendable>: Sendable {
    /// The maximum number of turns at the same time.
    let limit: Int
    private(set) var running = 0
    private(set) var waiting = 0
    private var waiters: [Key: Deque<(id: UInt64, waiter: Waiter)>] = [:]
    /// The keys with waiters. The first has waited longest for its turn.
    private var order: Deque<Key> = []

    init(limit: Int) { self.limit = limit }

    /// Begins a turn if one is free. Otherwise returns false, and the caller calls ``wait(_:id:waiter:)``.
    mutating func begin() -> Bool {
        guard running < limit else { return false }
        running += 1
        return true
    }

    mutating func wait(_ key: Key, id: UInt64, waiter: Waiter) {
        if waiters[key, default: []].isEmpty { order.append(key) }
        waiters[key, default: []].append((id, waiter))
        waiting += 1
    }

    /// Ends a turn and begins that of the next waiter.
    /// - Parameter cost: returns the previous usage of a key. The key with the lowest cost is next; keys with equal
    ///   costs alternate.
    /// - Returns: the waiter whose turn begins, if any.
    mutating func end(cost: (Key) -> Int = { _ in 0 }) -> Waiter? {
        let costs = order.map(cost)
        guard let index = costs.indices.min(by: { costs[$0] < costs[$1] }), let next = waiters[order[index]]?.popFirst()
        else {
            running -= 1
            return nil
        }
        let key = order.remove(at: index)
        // A key with more waiters goes to the end, behind all other keys.
        if waiters[key]?.isEmpty == true { waiters[key] = nil } else { order.append(key) }
        waiting -= 1
        return next.waiter
    }

    /// Removes a waiter that no longer waits.
    /// - Returns: the waiter, or nil if it has already left.
    mutating func giveUp(_ key: Key, id: UInt64) -> Waiter? {
        guard let index = waiters[key]?.firstIndex(where: { $0.id == id }),
            let waiter = waiters[key]?.remove(at: index).waiter
        else { return nil }
        waiting -= 1
        if waiters[key]?.isEmpty == true {
            waiters[key] = nil
            order.removeAll { $0 == key }
        }
        return waiter
    }
}
