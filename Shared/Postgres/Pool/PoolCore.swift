// SPDX-License-Identifier: Apache-2.0

import Logging
import Synchronization

/// A statement in the pool. A class, because passing a reference through queues and groups is cheaper than copying a
/// dozen fields.
final class Request: Sendable {
    let statement: Statement
    let parameters: EncodedParameters
    let submittedAt: ContinuousClock.Instant

    init(statement: Statement, parameters: EncodedParameters, submittedAt: ContinuousClock.Instant) {
        self.statement = statement
        self.parameters = parameters
        self.submittedAt = submittedAt
    }
}

/// The state shared by a pool's threads and callers: the state machine with its lock, and the means to perform its
/// actions.
final class PoolCore: Sendable {
    typealias Answering = Result<Rows, PostgresError>
    /// A continuation, resumed exactly once by the code that takes it out of the state machine.
    typealias Waiter = UnsafeContinuation<Answering, Never>
    typealias Machine = PoolStateMachine<Request, Waiter>
    typealias Instant = ContinuousClock.Instant

    private struct State {
        var machine: Machine
        var wakes: [WakeSignal] = []
        var timerWake: WakeSignal?
        var stopWaiter: CheckedContinuation<Void, Never>?
        var threads = 0
    }

    let configuration: PostgresConfiguration
    let metrics: PoolMetrics
    let logger: Logger
    private let state: Mutex<State>

    init(configuration: PostgresConfiguration, limits: Machine.Limits, label: String, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        metrics = PoolMetrics(pool: label)
        state = Mutex(State(machine: Machine(limits: limits)))
    }

    // MARK: Callers

    var queueDepth: Int { state.withLock { $0.machine.queueDepth } }

    var lifecycle: Machine.Lifecycle { state.withLock { $0.machine.lifecycle } }

    /// Reserves a request id. Returns nil if the pool has not been started.
    func reserve() -> RequestID? {
        state.withLock { state in
            guard state.machine.lifecycle != .initial else { return nil }
            return state.machine.reserve()
        }
    }

    func submit(_ id: RequestID, request: Request, waiter: Waiter, lockKey: UInt64?, user: UInt64?, deadline: Instant) {
        let bytes = request.parameters.bytes.count
        let (action, wake, timer, depth) = state.withLock { state in
            let action = state.machine.submit(
                id, payload: request, waiter: waiter, bytes: bytes, lockKey: lockKey, user: user, deadline: deadline,
                now: request.submittedAt)
            switch action {
            case .queued(let worker, let wakeTimer):
                return (
                    action, worker.map { state.wakes[$0] }, wakeTimer ? state.timerWake : nil,
                    (state.machine.queueDepth, state.machine.queueBytes)
                )
            case .refused:
                return (action, nil, nil, (state.machine.queueDepth, state.machine.queueBytes))
            }
        }
        wake?.signal()
        timer?.signal()
        metrics.queued(depth.0, bytes: depth.1)
        if case .refused(let answer) = action { resume(answer) }
    }

    func cancel(_ id: RequestID) {
        let (action, wake) = state.withLock { state in
            let action = state.machine.cancel(id)
            if case .interrupt(let worker) = action { return (action, state.wakes[worker] as WakeSignal?) }
            return (action, nil)
        }
        wake?.signal()
        if case .answer(let answer) = action { resume(answer) }
    }

    func resume(_ answers: [Machine.Answer]) {
        for answer in answers { resume(answer) }
    }

    private func resume(_ answer: Machine.Answer) {
        metrics.failed(answer.payload.statement.name, with: answer.code)
        answer.waiter.resume(
            returning: .failure(PostgresError(code: answer.code, statement: answer.payload.statement.name)))
    }

    // MARK: Lifecycle

    /// Starts the threads, which end after ``shutDown(immediately:)``. Throws if the pool was started before, or if
    /// resources are lacking.
    func start() throws(PostgresError) {
        try configuration.validate()
        var wakes: [WakeSignal] = []
        for _ in 0..<configuration.connections { wakes.append(try WakeSignal()) }
        let timerWake = try WakeSignal()
        let isFirst = state.withLock { state in
            guard state.machine.start() else { return false }
            state.wakes = wakes
            state.timerWake = timerWake
            state.threads = wakes.count + 1
            return true
        }
        guard isFirst else { throw PostgresError(code: .closed, reason: "the pool has been started before") }
        for (index, wake) in wakes.enumerated() {
            startThread(worker: index) { ConnectionWorker(core: self, index: index, wake: wake).run() }
        }
        startThread(worker: nil) { self.runTimer(timerWake) }
    }

    /// Starts a thread. If that fails, the thread counts as ended: the pool works with fewer connections, or shuts down
    /// if none is left.
    private func startThread(worker: Int?, _ body: @escaping @Sendable () -> Void) {
        do throws(PostgresError) {
            try OwnThread.start {
                body()
                self.threadEnded(worker: worker)
            }
        } catch {
            logger.error("connection thread cannot be started")
            threadEnded(worker: worker)
        }
    }

    private func threadEnded(worker: Int?) {
        let (answers, timer, waiter) = state.withLock { state in
            var answers: [Machine.Answer] = []
            var timer: WakeSignal?
            if let worker {
                let action = state.machine.stopped(worker)
                answers = action.answers
                timer = action.isLast ? state.timerWake : nil
            }
            state.threads -= 1
            guard state.threads == 0 else { return (answers, timer, nil as CheckedContinuation<Void, Never>?) }
            defer { state.stopWaiter = nil }
            return (answers, timer, state.stopWaiter)
        }
        timer?.signal()
        resume(answers)
        waiter?.resume()
    }

    func waitUntilStopped() async {
        await withCheckedContinuation { continuation in
            let isStopped = state.withLock { state in
                guard state.threads > 0 else { return true }
                state.stopWaiter = continuation
                return false
            }
            if isStopped { continuation.resume() }
        }
    }

    func shutDown(immediately: Bool) {
        let (answers, wakes) = state.withLock { ($0.machine.shutDown(immediately: immediately), $0.wakes) }
        for wake in wakes { wake.signal() }
        resume(answers)
    }

    // MARK: Deadlines

    /// Runs on the timer's thread. Answers expired requests, even while all connections are busy.
    private func runTimer(_ wake: WakeSignal) {
        while true {
            let (expired, next, depth, isClosed) = state.withLock { state in
                let (expired, next) = state.machine.expire(now: .now)
                return (
                    expired, next, (state.machine.queueDepth, state.machine.queueBytes),
                    state.machine.lifecycle == .closed
                )
            }
            resume(expired)
            metrics.queued(depth.0, bytes: depth.1)
            if isClosed { return }
            _ = wake.wait(until: next)
        }
    }

    // MARK: Workers

    func take(_ worker: Int) -> Machine.TakeAction {
        let (action, wakes, depth) = state.withLock { state in
            let action = state.machine.take(worker: worker, now: .now)
            let wakes: [WakeSignal] =
                switch action {
                case .run(_, _, let other): other.map { [state.wakes[$0]] } ?? []
                case .sleep: []
                case .stop(let others): others.map { state.wakes[$0] }
                }
            return (action, wakes, (state.machine.queueDepth, state.machine.queueBytes))
        }
        for wake in wakes { wake.signal() }
        metrics.queued(depth.0, bytes: depth.1)
        return action
    }

    func finish(_ ids: [RequestID], worker: Int) -> [(waiter: Waiter, isCancelled: Bool)?] {
        state.withLock { $0.machine.finish(ids, worker: worker) }
    }

    func hold(_ ids: [RequestID], worker: Int) {
        let (answers, timer) = state.withLock { state in
            let action = state.machine.hold(ids, worker: worker, now: .now)
            return (action.answers, action.wakeTimer ? state.timerWake : nil)
        }
        timer?.signal()
        resume(answers)
    }

    func send(_ id: RequestID, worker: Int) -> Bool {
        state.withLock { $0.machine.send(id, worker: worker) }
    }

    func requeue(_ ids: [RequestID], worker: Int) {
        let (answers, timer) = state.withLock { state in
            let action = state.machine.requeue(ids, worker: worker, now: .now)
            return (action.answers, action.wakeTimer ? state.timerWake : nil)
        }
        timer?.signal()
        resume(answers)
    }

    func shouldInterrupt(_ worker: Int) -> Bool {
        state.withLock { $0.machine.shouldInterrupt(worker) }
    }

    func shouldStopConnecting(_ worker: Int) -> Bool {
        state.withLock { $0.machine.shouldStopConnecting(worker) }
    }

    func connected(_ worker: Int) {
        let isNews = state.withLock { state in
            metrics.available(true)
            return state.machine.connected(worker)
        }
        if isNews { logger.notice("PostgreSQL is available again", metadata: ["postgres.pool": "\(metrics.pool)"]) }
    }

    func disconnected(_ worker: Int) {
        state.withLock { state in state.machine.disconnected(worker).map { state.wakes[$0] } }?.signal()
    }

    func connectFailed(_ worker: Int, with error: PostgresError) {
        let (answers, isNews) = state.withLock { state in
            let action = state.machine.connectFailed(worker)
            if action.becameUnavailable { metrics.available(false) }
            return (action.answers, action.becameUnavailable)
        }
        if isNews {
            logger.error(
                "PostgreSQL is unavailable",
                metadata: [
                    "postgres.pool": "\(metrics.pool)", "postgres.sqlstate": "\(error.sqlState ?? "none")",
                    "error.message": "\(error.reason ?? "cannot connect")",
                ])
        }
        resume(answers)
    }
}
