// SPDX-License-Identifier: Apache-2.0

/// The state machine of a pool: its request queue, and the assignment of requests to connections, without threads,
/// sockets and clocks.
///
/// Each submitted request leaves exactly once: through an ``Answer`` in an action, or through ``finish(_:worker:)``.
/// The code that receives it resumes its waiter.
struct PoolStateMachine<Payload: Sendable, Waiter: Sendable>: Sendable {
    typealias Instant = ContinuousClock.Instant

    struct Limits: Sendable {
        var workers: Int
        var queueStatements: Int
        var queueBytes: Int
        var groupStatements: Int
        var groupBytes: Int
        /// The number of times a request may be requeued after a lost connection.
        var attempts = 3
        /// The number of queued requests that are examined to fill one group.
        var scan = 256
    }

    /// The answer to a request that failed without an effect.
    struct Answer: Sendable {
        let waiter: Waiter
        let payload: Payload
        let code: PostgresError.Code
    }

    struct Taken: Sendable {
        let id: RequestID
        let payload: Payload
        let deadline: Instant
        let lockKey: UInt64?
    }

    enum SubmitAction: Sendable {
        /// Accepted. Wake this worker, and wake the timer if the deadline is earlier than its next one.
        case queued(wake: Int?, wakeTimer: Bool)
        case refused(Answer)
    }

    enum TakeAction: Sendable {
        /// Run this group. Wake this worker for the rest of the queue.
        case run([Taken], expired: [Answer], wake: Int?)
        /// Wait until woken: the queue contains nothing that this worker can run.
        case sleep(expired: [Answer])
        /// End this worker, because the pool has drained. Wake these idle workers, so that they end too.
        case stop(wake: [Int])
    }

    enum CancelAction: Sendable {
        case none
        case answer(Answer)
        /// All requests sent by this worker are cancelled. It should send a cancel request to the server.
        case interrupt(worker: Int)
    }

    enum Lifecycle: Sendable { case initial, running, draining, closed }
    /// The state of a worker's connection to PostgreSQL.
    enum Link: Sendable {
        /// The first attempt, or the first after a loss, has not ended.
        case connecting
        case connected
        /// The last attempt failed. The worker keeps trying.
        case down
        /// The worker's thread has ended.
        case stopped
    }
    /// The availability of a worker for a group of requests.
    enum Activity: Sendable {
        /// Not connected.
        case offline
        /// Running a group, or about to take one.
        case busy
        /// Connected and asleep.
        case idle
        /// Woken, but has not yet asked for a group.
        case waking
    }

    struct Worker: Sendable {
        var link = Link.connecting
        var activity = Activity.offline
        /// The number of the worker's requests in flight.
        var inFlight = 0
        /// The number of its requests in flight whose callers have cancelled them.
        var cancelledInFlight = 0
    }

    let limits: Limits
    var lifecycle = Lifecycle.initial
    var table = RequestTable<Payload, Waiter>()
    var queue = RequestTable<Payload, Waiter>.List()
    /// The members of rolled-back groups, which then run individually.
    var held = RequestTable<Payload, Waiter>.List()
    var queueBytes = 0
    var workers: [Worker]
    /// The idle workers. The most recently used one is last and is woken first, because its caches are warm.
    var idle: [Int] = []
    var waking = 0
    /// The worker that holds or has sent requests with a lock key, and their number. Other workers do not take requests
    /// with that key, because they would wait for the lock and delay their group.
    var owners: [UInt64: (worker: Int, count: Int)] = [:]
    /// The number of each user's statements in flight, in a pool that runs each statement alone.
    var inFlightByUser: [UInt64: Int] = [:]
    var timer: Instant?
    /// True from the first failed attempt that leaves the pool without a connection until the next connection. Changes
    /// are logged once.
    var isReportedUnavailable = false

    init(limits: Limits) {
        self.limits = limits
        workers = Array(repeating: Worker(), count: limits.workers)
    }

    /// True if a request can succeed: a connection exists, or a first attempt to connect has not failed yet.
    var isAvailable: Bool {
        workers.contains { $0.link == .connected || $0.link == .connecting }
    }

    /// The number of queued and held requests. Admission counts the queued ones only.
    var queueDepth: Int { queue.count + held.count }

    // MARK: Requests

    mutating func reserve() -> RequestID { table.reserve() }

    mutating func submit(
        _ id: RequestID, payload: Payload, waiter: Waiter, bytes: Int, lockKey: UInt64?, user: UInt64? = nil,
        deadline: Instant, now: Instant
    ) -> SubmitAction {
        let slot = id.slot
        if let code = refusal(slot, bytes: bytes, deadline: deadline, now: now) {
            _ = table.release(slot)
            return .refused(Answer(waiter: waiter, payload: payload, code: code))
        }
        table[slot].phase = .queued
        table[slot].payload = payload
        table[slot].waiter = waiter
        table[slot].deadline = deadline
        table[slot].bytes = bytes
        table[slot].lockKey = lockKey
        table[slot].user = user
        table[slot].attempts = 0
        table.append(slot, to: &queue)
        queueBytes += bytes
        let wakeTimer = moveTimer(to: deadline)
        // A waking worker itself wakes the next one if the queue exceeds its share.
        let isBlocked = lockKey.map { owners[$0] != nil } ?? false
        return .queued(wake: isBlocked || waking > 0 ? nil : wakeOne(), wakeTimer: wakeTimer)
    }

    private func refusal(_ slot: Int, bytes: Int, deadline: Instant, now: Instant) -> PostgresError.Code? {
        if case .reserved(cancelled: true) = table[slot].phase { return .cancelled }
        switch lifecycle {
        case .initial: return .connectionUnavailable
        case .running: break
        case .draining, .closed: return .closed
        }
        if deadline <= now { return .deadlineExceeded }
        if !isAvailable { return .connectionUnavailable }
        // A request larger than the limit is admitted to an empty queue; otherwise it could never be sent.
        let isFull = queue.count >= limits.queueStatements || (!queue.isEmpty && queueBytes + bytes > limits.queueBytes)
        return isFull ? .queueFull : nil
    }

    /// Cancels a request. A waiting request is answered at once. A sent one stays with its worker, which is interrupted
    /// only if nothing else is in flight there.
    mutating func cancel(_ id: RequestID) -> CancelAction {
        guard let slot = table.slot(of: id) else { return .none }
        switch table[slot].phase {
        case .free:
            return .none
        case .reserved:
            table[slot].phase = .reserved(cancelled: true)
            return .none
        case .queued, .held:
            return answer(slot, with: .cancelled).map { .answer($0) } ?? .none
        case .sent(let worker, let cancelled):
            guard !cancelled else { return .none }
            table[slot].phase = .sent(worker: worker, cancelled: true)
            workers[worker].cancelledInFlight += 1
            return shouldInterrupt(worker) ? .interrupt(worker: worker) : .none
        }
    }

    /// Returns true if all requests in flight on the worker's connection are cancelled, so that interrupting it harms
    /// no other request.
    func shouldInterrupt(_ worker: Int) -> Bool {
        workers[worker].inFlight > 0 && workers[worker].cancelledInFlight == workers[worker].inFlight
    }

    /// Answers the expired requests and returns the time of the next deadline, at which the timer calls again unless
    /// woken earlier.
    mutating func expire(now: Instant) -> (expired: [Answer], next: Instant?) {
        var expired: [Answer] = []
        var next: Instant?
        for list in [queue, held] {
            var cursor = list.head
            while cursor >= 0 {
                let following = table[cursor].next
                let deadline = table[cursor].deadline
                if deadline <= now {
                    if let answer = answer(cursor, with: .deadlineExceeded) { expired.append(answer) }
                } else {
                    next = next.map { min($0, deadline) } ?? deadline
                }
                cursor = following
            }
        }
        timer = next
        return (expired, next)
    }

    /// Moves the timer to an earlier deadline. Returns true if the timer must be woken for it.
    mutating func moveTimer(to deadline: Instant) -> Bool {
        if let timer, timer <= deadline { return false }
        timer = deadline
        return true
    }

    /// Removes a waiting request and returns its answer with `code`.
    mutating func answer(_ slot: Int, with code: PostgresError.Code) -> Answer? {
        unlist(slot)
        releaseKey(of: slot)
        let (payload, waiter) = table.release(slot)
        guard let payload, let waiter else { return nil }
        return Answer(waiter: waiter, payload: payload, code: code)
    }

    /// Answers all queued requests. Held ones stay.
    mutating func answerQueue(_ code: PostgresError.Code) -> [Answer] {
        var answers: [Answer] = []
        while queue.head >= 0 {
            if let answer = answer(queue.head, with: code) { answers.append(answer) }
        }
        return answers
    }

    /// Removes a request from its list or count.
    mutating func unlist(_ slot: Int) {
        switch table[slot].phase {
        case .free, .reserved:
            break
        case .queued:
            table.remove(slot, from: &queue)
            queueBytes -= table[slot].bytes
        case .held:
            table.remove(slot, from: &held)
        case .sent(let worker, let cancelled):
            workers[worker].inFlight -= 1
            if cancelled { workers[worker].cancelledInFlight -= 1 }
            if let user = table[slot].user, let count = inFlightByUser[user] {
                inFlightByUser[user] = count > 1 ? count - 1 : nil
            }
        }
    }

    mutating func markSent(_ slot: Int, by worker: Int) {
        unlist(slot)
        table[slot].phase = .sent(worker: worker, cancelled: false)
        workers[worker].inFlight += 1
        if let user = table[slot].user { inFlightByUser[user, default: 0] += 1 }
    }

    // MARK: Lock keys and waking

    /// Releases a request's share of its lock key. Only held and sent requests own their key.
    mutating func releaseKey(of slot: Int) {
        guard let key = table[slot].lockKey, let owner = owners[key] else { return }
        switch table[slot].phase {
        case .held(let worker), .sent(let worker, _):
            guard owner.worker == worker else { return }
            owners[key] = owner.count > 1 ? (worker, owner.count - 1) : nil
        case .free, .reserved, .queued:
            return
        }
    }

    /// Makes the worker the owner of a request's lock key, or counts one request more if it is already.
    mutating func acquireKey(of slot: Int, for worker: Int) {
        guard let key = table[slot].lockKey else { return }
        owners[key] = (worker, (owners[key]?.count ?? 0) + 1)
    }

    mutating func wakeOne() -> Int? {
        guard let worker = idle.popLast() else { return nil }
        workers[worker].activity = .waking
        waking += 1
        return worker
    }

    mutating func setActivity(of worker: Int, to activity: Activity) {
        switch workers[worker].activity {
        case .waking: waking -= 1
        case .idle: idle.removeAll { $0 == worker }
        case .busy, .offline: break
        }
        workers[worker].activity = activity
        if activity == .idle { idle.append(worker) }
    }
}
