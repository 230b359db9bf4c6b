// SPDX-License-Identifier: Apache-2.0
import Contracts
import CoreMetrics
import FanOut
import Metrics
import StrataModel
import Synchronization

/// Few long answers are fetched and rendered at one time, and users take turns. A user who asks for many long answers takes no processor and no connection to the
/// database from users who ask for little, and another user who needs a long answer waits for one piece of the first user's answers, not for all of them.
///
/// That an answer is long is known when its first piece has come. So it is users who take turns: those who were given something long lately. Of those who wait, the
/// user who was given the fewest bytes is next: a replay of some megabytes does not wait behind each piece of users who ask for a hundred.
final class LongAnswers: Sendable {
    /// Bytes that services answered one request, or one step of a catch-up, with.
    static let longBytes = 256 << 10
    /// How long a user takes turns after that.
    static let memory = Duration.seconds(10)
    /// A turn that takes longer waits for something else, and lets the next turn begin.
    static let longestTurn = Duration.seconds(1)
    /// What a client is ready to wait for.
    static let patience = Duration.seconds(10)

    /// Bytes that a user was given. They count for half after ``LongAnswers/memory``, for a quarter after twice that, and so on.
    private struct Share {
        /// Until when the user takes turns.
        var until: ContinuousClock.Instant
        private var bytes = 0
        private var halvedAt: ContinuousClock.Instant

        init(since now: ContinuousClock.Instant) {
            until = now
            halvedAt = now
        }

        private func periods(until now: ContinuousClock.Instant) -> Int { max(0, Int((now - halvedAt) / LongAnswers.memory)) }

        func bytes(at now: ContinuousClock.Instant) -> Int { bytes >> periods(until: now) }

        mutating func add(_ count: Int, at now: ContinuousClock.Instant) {
            let periods = periods(until: now)
            bytes = (bytes >> periods) + count
            halvedAt += LongAnswers.memory * periods
        }
    }

    private struct State {
        var queue: TurnQueue<UserKey, CheckedContinuation<Bool, Never>>
        /// Users who take turns.
        var users: [UserKey: Share] = [:]
        var nextSweep: ContinuousClock.Instant
        var lastID: UInt64 = 0
    }

    private let state: Mutex<State>
    private let refused = Counter(label: "strata_gateway_refused_requests_total", dimensions: [("by", "turns")])
    private let waiting = Gauge(label: "strata_gateway_long_answers_waiting")

    /// - Parameter limit: turns at one time.
    init(limit: Int) { state = Mutex(State(queue: TurnQueue(limit: limit), nextSweep: .now + Self.memory)) }

    /// How many wait for a turn.
    var waitingCount: Int { state.withLock { $0.queue.waiting } }

    /// A turn, which ends when it is told to, at the latest when nothing refers to it.
    final class Turn: Sendable {
        private let answers: Mutex<LongAnswers?>

        fileprivate init(_ answers: LongAnswers?) { self.answers = Mutex(answers) }

        deinit { end() }

        func end() {
            let answers = answers.withLock { answers in
                defer { answers = nil }
                return answers
            }
            answers?.next()
        }
    }

    /// Counts what services answer the calls that it is given with.
    final class Account: CallAnswers {
        private let count = Atomic<Int>(0)

        var bytes: Int { count.load(ordering: .relaxed) }

        func answerReceived(byteCount count: Int) { self.count.wrappingAdd(count, ordering: .relaxed) }
    }

    /// Services have answered a request of this user, or a step of a catch-up, with so much.
    func gave(_ bytes: Int, to user: UserKey, now: ContinuousClock.Instant = .now) {
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

    /// Waits until it is this user's turn, if the user has to take turns.
    /// - Parameter patience: nil waits however long it takes.
    /// - Throws: `service_unavailable` if the client does not wait for the answer any more, or had to wait for longer than `patience`.
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

    private func wait(_ user: UserKey, id: UInt64, continuation: CheckedContinuation<Bool, Never>) {
        let isMine: Bool? = state.withLock { state in
            // Cancelled before it waited: `giveUp` found no waiter.
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

    private func next() {
        let waiter = state.withLock { state in
            let now = ContinuousClock.now
            let waiter = state.queue.end { [users = state.users] in users[$0]?.bytes(at: now) ?? 0 }
            waiting.record(state.queue.waiting)
            return waiter
        }
        waiter?.resume(returning: true)
    }
}
