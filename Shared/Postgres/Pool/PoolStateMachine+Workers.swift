// SPDX-License-Identifier: Apache-2.0

extension PoolStateMachine {
    // MARK: Serving

    /// Returns the next group for a connected worker without statements in flight: its share of the queue, ordered by
    /// lock keys.
    mutating func take(worker: Int, now: Instant) -> TakeAction {
        setActivity(of: worker, to: .busy)
        var expired: [Answer] = []
        let group = gather(worker, now: now, expired: &expired)
        if !group.isEmpty {
            return .run(order(group), expired: expired, wake: queue.isEmpty || waking > 0 ? nil : wakeOne())
        }
        if lifecycle == .draining, queue.isEmpty, expired.isEmpty {
            return .stop(wake: idle)
        }
        setActivity(of: worker, to: .idle)
        return .sleep(expired: expired)
    }

    private mutating func gather(_ worker: Int, now: Instant, expired: inout [Answer]) -> [Taken] {
        var group: [Taken] = []
        guard !queue.isEmpty else { return group }
        let helpers = limits.groupStatements == 1 ? 0 : idle.count + waking
        let share = min(limits.groupStatements, (queue.count + helpers) / (helpers + 1))
        var bytes = 0
        var examined = 0
        var cursor = limits.groupStatements == 1 ? fairest(worker) : queue.head
        while cursor >= 0, group.count < limits.groupStatements, examined < limits.scan {
            let slot = cursor
            cursor = table[slot].next
            examined += 1
            if table[slot].deadline <= now {
                if let answer = answer(slot, with: .deadlineExceeded) { expired.append(answer) }
                continue
            }
            let owner = table[slot].lockKey.flatMap { owners[$0]?.worker }
            if let owner, owner != worker { continue }
            // Beyond the share, take only requests whose lock key this worker owns: no other worker can run them.
            if group.count >= share, owner == nil { continue }
            if !group.isEmpty, bytes + table[slot].bytes > limits.groupBytes { break }
            bytes += table[slot].bytes
            guard let payload = table[slot].payload else { continue }
            markSent(slot, by: worker)
            acquireKey(of: slot, for: worker)
            group.append(
                Taken(
                    id: table.id(of: slot), payload: payload, deadline: table[slot].deadline,
                    lockKey: table[slot].lockKey))
        }
        return group
    }

    /// Returns the slot of the longest waiting request among the users with the fewest statements in flight. A user
    /// with many concurrent requests therefore delays only their own. -1: this worker can take none.
    private func fairest(_ worker: Int) -> Int {
        var (best, fewest, examined) = (-1, Int.max, 0)
        var cursor = queue.head
        while cursor >= 0, fewest > 0, examined < limits.scan {
            let request = table[cursor]
            let owner = request.lockKey.flatMap { owners[$0]?.worker }
            let count = request.user.flatMap { inFlightByUser[$0] } ?? 0
            if count < fewest, owner == nil || owner == worker { (best, fewest) = (cursor, count) }
            cursor = request.next
            examined += 1
        }
        return best
    }

    /// Sorts a group by lock keys. All groups of all processes lock in this order, so that they cannot deadlock.
    /// Requests without a key come first. Requests without a key, or with equal keys, keep their order of arrival.
    private func order(_ group: [Taken]) -> [Taken] {
        guard group.contains(where: { $0.lockKey != nil }) else { return group }
        return group.enumerated()
            .sorted { left, right in
                switch (left.element.lockKey, right.element.lockKey) {
                case (nil, nil): left.offset < right.offset
                case (nil, _): true
                case (_, nil): false
                case (let first?, let second?): first != second ? first < second : left.offset < right.offset
                }
            }
            .map(\.element)
    }

    /// Holds the members of a rolled-back group, which then run individually. Cancelled and expired members are
    /// answered.
    mutating func hold(_ ids: [RequestID], worker: Int, now: Instant) -> (answers: [Answer], wakeTimer: Bool) {
        var answers: [Answer] = []
        var wakeTimer = false
        for id in ids {
            guard let slot = table.slot(of: id), case .sent(worker, let cancelled) = table[slot].phase else { continue }
            let deadline = table[slot].deadline
            if cancelled || deadline <= now {
                if let answer = answer(slot, with: cancelled ? .cancelled : .deadlineExceeded) {
                    answers.append(answer)
                }
                continue
            }
            unlist(slot)
            table[slot].phase = .held(worker: worker)
            table.append(slot, to: &held)
            if moveTimer(to: deadline) { wakeTimer = true }
        }
        return (answers, wakeTimer)
    }

    /// Marks a held request as sent. Returns false if it has been answered meanwhile.
    mutating func send(_ id: RequestID, worker: Int) -> Bool {
        guard let slot = table.slot(of: id), case .held(worker) = table[slot].phase else { return false }
        markSent(slot, by: worker)
        return true
    }

    /// Removes sent requests whose outcome is definite, and returns their waiters for the worker to resume.
    mutating func finish(_ ids: [RequestID], worker: Int) -> [(waiter: Waiter, isCancelled: Bool)?] {
        ids.map { id in
            guard let slot = table.slot(of: id), case .sent(worker, let cancelled) = table[slot].phase else {
                return nil
            }
            unlist(slot)
            releaseKey(of: slot)
            return table.release(slot).waiter.map { ($0, cancelled) }
        }
    }

    /// Returns requests to the head of the queue after their connection was lost, if they had no effect or are
    /// idempotent. Cancelled and expired requests, and those with too many attempts, are answered.
    mutating func requeue(_ ids: [RequestID], worker: Int, now: Instant) -> (answers: [Answer], wakeTimer: Bool) {
        var answers: [Answer] = []
        var wakeTimer = false
        for id in ids.reversed() {
            guard let slot = table.slot(of: id) else { continue }
            switch table[slot].phase {
            case .held(worker), .sent(worker, cancelled: false): break
            case .sent(worker, cancelled: true):
                if let answer = answer(slot, with: .cancelled) { answers.append(answer) }
                continue
            case .free, .reserved, .queued, .held, .sent: continue
            }
            table[slot].attempts += 1
            if let code = obstacle(slot, now: now) {
                if let answer = answer(slot, with: code) { answers.append(answer) }
                continue
            }
            releaseKey(of: slot)
            unlist(slot)
            table[slot].phase = .queued
            queueBytes += table[slot].bytes
            table.prepend(slot, to: &queue)
            if moveTimer(to: table[slot].deadline) { wakeTimer = true }
        }
        return (answers, wakeTimer)
    }

    private func obstacle(_ slot: Int, now: Instant) -> PostgresError.Code? {
        if lifecycle != .running { return .closed }
        if table[slot].deadline <= now { return .deadlineExceeded }
        return table[slot].attempts > limits.attempts ? .connectionUnavailable : nil
    }

    // MARK: Connections

    /// Records a new connection. Returns true if PostgreSQL was unavailable before.
    mutating func connected(_ worker: Int) -> Bool {
        workers[worker].link = .connected
        setActivity(of: worker, to: .busy)
        defer { isReportedUnavailable = false }
        return isReportedUnavailable
    }

    /// Records the loss of a connection whose requests have been requeued or answered; the worker will reconnect.
    /// Returns a worker to wake for the queue.
    mutating func disconnected(_ worker: Int) -> Int? {
        workers[worker].link = .connecting
        setActivity(of: worker, to: .offline)
        return queue.isEmpty ? nil : wakeOne()
    }

    /// Records a failed attempt to connect. Without any connection, all queued requests are answered.
    mutating func connectFailed(_ worker: Int) -> (answers: [Answer], becameUnavailable: Bool) {
        workers[worker].link = .down
        guard !isAvailable else { return ([], false) }
        // An attempt abandoned because of a shutdown does not show that the server is unavailable.
        let isNews = !isReportedUnavailable && lifecycle == .running
        isReportedUnavailable = true
        return (answerQueue(.connectionUnavailable), isNews)
    }

    /// Returns true if an unconnected worker should stop. During a shutdown, each worker makes one attempt for the
    /// queued requests.
    func shouldStopConnecting(_ worker: Int) -> Bool {
        switch lifecycle {
        case .initial, .running: false
        case .draining: queue.isEmpty || workers[worker].link == .down
        case .closed: true
        }
    }

    // MARK: Lifecycle

    /// Starts the pool. Returns false if it has been started before.
    mutating func start() -> Bool {
        guard case .initial = lifecycle else { return false }
        lifecycle = .running
        return true
    }

    /// Refuses new requests. Queued ones are still served, or are answered if `immediately` is true. The caller must
    /// wake all workers.
    mutating func shutDown(immediately: Bool) -> [Answer] {
        switch lifecycle {
        case .initial: lifecycle = .closed
        case .running: lifecycle = .draining
        case .draining, .closed: break
        }
        return immediately ? answerQueue(.closed) : []
    }

    /// Records the end of a worker's thread. After the last one, all queued requests are answered.
    mutating func stopped(_ worker: Int) -> (answers: [Answer], isLast: Bool) {
        setActivity(of: worker, to: .offline)
        workers[worker].link = .stopped
        let isLast = workers.allSatisfy { $0.link == .stopped }
        if isLast { lifecycle = .closed }
        return (isLast || !isAvailable ? answerQueue(.closed) : [], isLast)
    }
}
