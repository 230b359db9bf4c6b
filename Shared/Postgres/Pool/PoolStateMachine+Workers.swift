// SPDX-License-Identifier: Apache-2.0

extension PoolStateMachine {
    // MARK: Serving

    /// The next group for a connected worker that has nothing under way: its fair share of what is queued, in the order of lock keys.
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
            // Beyond the share only what has to wait for this worker anyway.
            if group.count >= share, owner == nil { continue }
            if !group.isEmpty, bytes + table[slot].bytes > limits.groupBytes { break }
            bytes += table[slot].bytes
            guard let payload = table[slot].payload else { continue }
            markSent(slot, by: worker)
            ownKey(of: slot, worker)
            group.append(Taken(id: table.id(of: slot), payload: payload, deadline: table[slot].deadline, lockKey: table[slot].lockKey))
        }
        return group
    }

    /// The request that has waited longest of those whose users have the fewest statements under way. A user who asks for much at a time waits behind their own
    /// requests, and other users do not. -1: none that this worker can take.
    private func fairest(_ worker: Int) -> Int {
        var (best, fewest, examined) = (-1, Int.max, 0)
        var cursor = queue.head
        while cursor >= 0, fewest > 0, examined < limits.scan {
            let request = table[cursor]
            let owner = request.lockKey.flatMap { owners[$0]?.worker }
            let count = request.user.flatMap { underWay[$0] } ?? 0
            if count < fewest, owner == nil || owner == worker { (best, fewest) = (cursor, count) }
            cursor = request.next
            examined += 1
        }
        return best
    }

    /// One order of locks in all groups of all processes: no two groups can wait for each other in a circle. Those without a key come first, in the
    /// order of arrival, as do those with equal keys.
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

    /// The group was rolled back and runs again one by one. Its members wait; those that are cancelled or too late are answered.
    mutating func hold(_ ids: [RequestID], worker: Int, now: Instant) -> (answers: [Answer], wakeTimer: Bool) {
        var answers: [Answer] = []
        var wakeTimer = false
        for id in ids {
            guard let slot = table.slot(of: id), case .sent(worker, let cancelled) = table[slot].phase else { continue }
            let deadline = table[slot].deadline
            if cancelled || deadline <= now {
                if let answer = answer(slot, with: cancelled ? .cancelled : .deadlineExceeded) { answers.append(answer) }
                continue
            }
            unlist(slot)
            table[slot].phase = .held(worker: worker)
            table.append(slot, to: &held)
            if moveTimer(to: deadline) { wakeTimer = true }
        }
        return (answers, wakeTimer)
    }

    /// A held request is about to be sent. False: it has been answered meanwhile.
    mutating func send(_ id: RequestID, worker: Int) -> Bool {
        guard let slot = table.slot(of: id), case .held(worker) = table[slot].phase else { return false }
        markSent(slot, by: worker)
        return true
    }

    /// What the worker has sent has a definite outcome: the requests leave, and the worker resumes their waiters.
    mutating func finish(_ ids: [RequestID], worker: Int) -> [(waiter: Waiter, isCancelled: Bool)?] {
        ids.map { id in
            guard let slot = table.slot(of: id), case .sent(worker, let cancelled) = table[slot].phase else { return nil }
            unlist(slot)
            releaseKey(of: slot)
            return table.release(slot).waiter.map { ($0, cancelled) }
        }
    }

    /// The worker has lost its connection and these had no effect, or may be repeated. They go back to the head of the queue, except for those that
    /// are cancelled, too late, or have been through this too often.
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

    /// True: PostgreSQL was away before.
    mutating func connected(_ worker: Int) -> Bool {
        workers[worker].link = .connected
        setActivity(of: worker, to: .busy)
        defer { wasUnavailable = false }
        return wasUnavailable
    }

    /// The worker's connection is gone, and it has given back everything it had; it will now try to connect. Returns whom to wake for the rest.
    mutating func disconnected(_ worker: Int) -> Int? {
        workers[worker].link = .connecting
        setActivity(of: worker, to: .offline)
        return queue.isEmpty ? nil : wakeOne()
    }

    /// An attempt to connect has failed. Without any connection no caller is left waiting.
    mutating func connectFailed(_ worker: Int) -> (answers: [Answer], becameUnavailable: Bool) {
        workers[worker].link = .down
        guard !isAvailable else { return ([], false) }
        // An attempt given up for a shutdown says nothing about the server.
        let isNews = !wasUnavailable && lifecycle == .running
        wasUnavailable = true
        return (answerQueue(.connectionUnavailable), isNews)
    }

    /// Whether a worker that is not connected should stop. During a shutdown one attempt is made for what is still queued.
    func shouldStopConnecting(_ worker: Int) -> Bool {
        switch lifecycle {
        case .initial, .running: false
        case .draining: queue.isEmpty || workers[worker].link == .down
        case .closed: true
        }
    }

    // MARK: Lifecycle

    /// False: it has been started before.
    mutating func start() -> Bool {
        guard case .initial = lifecycle else { return false }
        lifecycle = .running
        return true
    }

    /// No new requests. Those queued are still served, or answered at once if `immediately`. All workers are to be woken.
    mutating func shutDown(immediately: Bool) -> [Answer] {
        switch lifecycle {
        case .initial: lifecycle = .closed
        case .running: lifecycle = .draining
        case .draining, .closed: break
        }
        return immediately ? answerQueue(.closed) : []
    }

    /// The worker's thread ends. When the last one does, what is still queued is answered.
    mutating func stopped(_ worker: Int) -> (answers: [Answer], isLast: Bool) {
        setActivity(of: worker, to: .offline)
        workers[worker].link = .stopped
        let isLast = workers.allSatisfy { $0.link == .stopped }
        if isLast { lifecycle = .closed }
        return (isLast || !isAvailable ? answerQueue(.closed) : [], isLast)
    }
}
