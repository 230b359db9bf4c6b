// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Postgres

struct PoolStateMachineTests {
    typealias Machine = PoolStateMachine<String, Int>
    typealias Instant = ContinuousClock.Instant

    let now = ContinuousClock.now

    func limits(workers: Int = 1, queue: Int = 100, bytes: Int = 1000, group: Int = 64) -> Machine.Limits {
        Machine.Limits(
            workers: workers, queueStatements: queue, queueBytes: bytes, groupStatements: group, groupBytes: 1000)
    }

    /// A reference to the machine, so that expectations can contain events.
    final class Box {
        var machine: Machine
        init(_ machine: Machine) { self.machine = machine }
    }

    /// Returns a running pool whose workers are connected and asleep.
    func running(_ limits: Machine.Limits) -> Box {
        let box = Box(Machine(limits: limits))
        #expect(box.machine.start() == true)
        for worker in 0..<limits.workers {
            #expect(box.machine.connected(worker) == false)
            guard case .sleep = box.machine.take(worker: worker, now: now) else {
                Issue.record("an empty queue should put the worker to sleep")
                continue
            }
        }
        return box
    }

    @discardableResult
    func submit(
        _ box: Box, _ waiter: Int, key: UInt64? = nil, user: UInt64? = nil, bytes: Int = 1,
        after: Duration = .seconds(10)
    ) -> (id: RequestID, action: Machine.SubmitAction) {
        let id = box.machine.reserve()
        let action = box.machine.submit(
            id, payload: "r\(waiter)", waiter: waiter, bytes: bytes, lockKey: key, user: user,
            deadline: now.advanced(by: after), now: now)
        return (id, action)
    }

    func taken(_ action: Machine.TakeAction) -> [Machine.Taken] {
        if case .run(let group, _, _) = action { group } else { [] }
    }

    func names(_ action: Machine.TakeAction) -> [String] { taken(action).map(\.payload) }

    func refusal(_ action: Machine.SubmitAction) -> PostgresError.Code? {
        if case .refused(let answer) = action { answer.code } else { nil }
    }

    @Test("a submitted request wakes an idle worker, is taken, and completes once")
    func submitTakeFinish() {
        let box = running(limits())
        let (id, action) = submit(box, 7)
        guard case .queued(let wake, let wakeTimer) = action else { return #expect(Bool(false)) }
        #expect(wake == 0)
        #expect(wakeTimer)
        #expect(names(box.machine.take(worker: 0, now: now)) == ["r7"])
        let first = box.machine.finish([id], worker: 0)
        #expect(first.count == 1)
        #expect(first[0]?.waiter == 7)
        #expect(box.machine.finish([id], worker: 0)[0] == nil)
        #expect(box.machine.queueDepth == 0)
    }

    @Test("a queued request that is cancelled leaves the queue at once and never returns")
    func cancelQueued() {
        let box = running(limits())
        let (id, _) = submit(box, 1)
        submit(box, 2)
        guard case .answer(let answer) = box.machine.cancel(id) else { return #expect(Bool(false)) }
        #expect(answer.waiter == 1)
        #expect(answer.code == .cancelled)
        #expect(box.machine.queueDepth == 1)
        guard case .none = box.machine.cancel(id) else { return #expect(Bool(false)) }
        #expect(names(box.machine.take(worker: 0, now: now)) == ["r2"])
    }

    @Test("a task cancelled before it submits is refused")
    func cancelReserved() {
        let box = running(limits())
        let id = box.machine.reserve()
        guard case .none = box.machine.cancel(id) else { return #expect(Bool(false)) }
        let action = box.machine.submit(
            id, payload: "x", waiter: 1, bytes: 1, lockKey: nil, deadline: now.advanced(by: .seconds(1)), now: now)
        #expect(refusal(action) == .cancelled)
    }

    @Test("a late cancellation does not affect the slot's next user")
    func cancelAfterReuse() {
        let box = running(limits())
        let (old, _) = submit(box, 1)
        _ = box.machine.take(worker: 0, now: now)
        _ = box.machine.finish([old], worker: 0)
        let (new, _) = submit(box, 2)
        #expect(new.slot == old.slot)
        guard case .none = box.machine.cancel(old) else { return #expect(Bool(false)) }
        #expect(box.machine.queueDepth == 1)
    }

    @Test("a sent group is interrupted only when no caller waits for any of its requests")
    func cancelSent() {
        let box = running(limits())
        let (first, _) = submit(box, 1)
        let (second, _) = submit(box, 2)
        #expect(taken(box.machine.take(worker: 0, now: now)).count == 2)
        guard case .none = box.machine.cancel(first) else { return #expect(Bool(false)) }
        #expect(!box.machine.shouldInterrupt(0))
        guard case .interrupt(worker: 0) = box.machine.cancel(second) else { return #expect(Bool(false)) }
        #expect(box.machine.shouldInterrupt(0))
        let finished = box.machine.finish([first, second], worker: 0)
        #expect(finished.map { $0?.isCancelled } == [true, true])
        #expect(!box.machine.shouldInterrupt(0))
    }

    @Test("in an exclusive pool, the user with fewer running statements goes first")
    func fairness() {
        let box = running(limits(workers: 2, group: 1))
        let busy = (1...4).map { submit(box, $0, user: 1).id }
        submit(box, 5, user: 2)
        submit(box, 6)
        #expect(names(box.machine.take(worker: 0, now: now)) == ["r1"])
        #expect(names(box.machine.take(worker: 1, now: now)) == ["r5"])
        _ = box.machine.finish([busy[0]], worker: 0)
        // The first user has no running statement now, and has waited longest.
        #expect(names(box.machine.take(worker: 0, now: now)) == ["r2"])
        _ = box.machine.finish([busy[1]], worker: 0)
        #expect(names(box.machine.take(worker: 0, now: now)) == ["r3"])
        let late = submit(box, 7, user: 3).id
        _ = box.machine.finish([busy[2]], worker: 0)
        #expect(names(box.machine.take(worker: 0, now: now)) == ["r4"])
        _ = box.machine.finish([busy[3]], worker: 0)
        #expect(names(box.machine.take(worker: 0, now: now)) == ["r6"])
        #expect(box.machine.inFlightByUser == [2: 1])
        _ = box.machine.cancel(late)
        #expect(box.machine.queueDepth == 0)
    }

    @Test("in an exclusive pool only, a user with a running statement goes after all users without one")
    func fairnessOfGroups() {
        let alone = running(limits(workers: 2, group: 1))
        for waiter in 1...2 { submit(alone, waiter, user: 1) }
        for waiter in 3...4 { submit(alone, waiter, user: 2) }
        #expect(names(alone.machine.take(worker: 0, now: now)) == ["r1"])
        #expect(names(alone.machine.take(worker: 1, now: now)) == ["r3"])
        let grouped = running(limits())
        for waiter in 1...3 { submit(grouped, waiter, user: 1) }
        #expect(names(grouped.machine.take(worker: 0, now: now)) == ["r1", "r2", "r3"])
    }

    @Test("the timer answers expired requests, keeps the rest, and returns the next deadline")
    func expire() {
        let box = running(limits())
        submit(box, 1, after: .seconds(1))
        submit(box, 2, after: .seconds(5))
        let (expired, next) = box.machine.expire(now: now.advanced(by: .seconds(2)))
        #expect(expired.map(\.waiter) == [1])
        #expect(expired.map(\.code) == [.deadlineExceeded])
        #expect(next == now.advanced(by: .seconds(5)))
        guard case .queued(_, let wakeTimer) = submit(box, 3, after: .seconds(3)).action else {
            return #expect(Bool(false))
        }
        #expect(wakeTimer)
        guard case .queued(_, let again) = submit(box, 4, after: .seconds(4)).action else {
            return #expect(Bool(false))
        }
        #expect(!again)
    }

    @Test("a request that has expired when a worker takes it is answered, not sent")
    func expiredAtTake() {
        let box = running(limits())
        submit(box, 1, after: .seconds(1))
        guard case .sleep(let expired) = box.machine.take(worker: 0, now: now.advanced(by: .seconds(2))) else {
            return #expect(Bool(false))
        }
        #expect(expired.map(\.waiter) == [1])
    }

    @Test("the queue is limited in statements and bytes")
    func queueLimits() {
        let byCount = running(limits(queue: 2))
        #expect(refusal(submit(byCount, 1).action) == nil)
        let got8 = refusal(submit(byCount, 2).action)
        #expect(got8 == nil)
        #expect(refusal(submit(byCount, 3).action) == .queueFull)
        let byBytes = running(limits(bytes: 100))
        #expect(refusal(submit(byBytes, 1, bytes: 500).action) == nil)
        let got11 = refusal(submit(byBytes, 2, bytes: 1).action)
        #expect(got11 == .queueFull)
        _ = byBytes.machine.take(worker: 0, now: now)
        #expect(refusal(submit(byBytes, 3, bytes: 60).action) == nil)
        let got13 = refusal(submit(byBytes, 4, bytes: 60).action)
        #expect(got13 == .queueFull)
    }

    @Test("without a connection, new and queued requests fail at once")
    func unavailable() {
        let box = running(limits(workers: 2))
        _ = box.machine.disconnected(0)
        submit(box, 1)
        #expect(box.machine.connectFailed(0).answers.isEmpty)
        _ = box.machine.disconnected(1)
        let (answers, isNews) = box.machine.connectFailed(1)
        #expect(answers.map(\.waiter) == [1])
        #expect(answers.map(\.code) == [.connectionUnavailable])
        #expect(isNews)
        #expect(box.machine.connectFailed(0).becameUnavailable == false)
        let got16 = refusal(submit(box, 2).action)
        #expect(got16 == .connectionUnavailable)
        #expect(box.machine.connected(1) == true)
        let got18 = refusal(submit(box, 3).action)
        #expect(got18 == nil)
    }

    @Test("each idle worker is woken for its share of the queue")
    func fairShare() {
        let box = running(limits(workers: 4))
        for waiter in 0..<8 { submit(box, waiter) }
        let first = box.machine.take(worker: 3, now: now)
        #expect(names(first) == ["r0", "r1"])
        guard case .run(_, _, let wake) = first, let wake else { return #expect(Bool(false)) }
        let second = box.machine.take(worker: wake, now: now)
        #expect(names(second) == ["r2", "r3"])
    }

    @Test("an exclusive pool hands out one request at a time")
    func exclusive() {
        let box = running(limits(workers: 2, group: 1))
        for waiter in 0..<3 { submit(box, waiter) }
        #expect(names(box.machine.take(worker: 0, now: now)) == ["r0"])
        let got20 = names(box.machine.take(worker: 1, now: now))
        #expect(got20 == ["r1"])
    }

    @Test("a group is limited in statements and bytes")
    func groupLimits() {
        let byCount = running(limits(group: 3))
        for waiter in 0..<5 { submit(byCount, waiter) }
        #expect(names(byCount.machine.take(worker: 0, now: now)).count == 3)
        let byBytes = running(limits(bytes: 10_000))
        for waiter in 0..<5 { submit(byBytes, waiter, bytes: 400) }
        #expect(names(byBytes.machine.take(worker: 0, now: now)).count == 2)
        submit(byBytes, 9, bytes: 5000)
        #expect(names(byBytes.machine.take(worker: 0, now: now)).count == 2)
    }

    @Test("a group is ordered by lock key, statements without a key first, equal keys by arrival")
    func lockOrder() {
        let box = running(limits())
        for (waiter, key) in [(0, 5), (1, 3), (2, nil), (3, 5), (4, nil), (5, 1)] as [(Int, UInt64?)] {
            submit(box, waiter, key: key)
        }
        #expect(names(box.machine.take(worker: 0, now: now)) == ["r2", "r4", "r5", "r1", "r0", "r3"])
    }

    @Test("other workers leave a lock key to the worker that is running it")
    func keyOwnership() {
        let box = running(limits(workers: 2))
        let (first, _) = submit(box, 0, key: 9)
        #expect(names(box.machine.take(worker: 0, now: now)) == ["r0"])
        guard case .queued(wake: nil, _) = submit(box, 1, key: 9).action else {
            return #expect(Bool(false), "no worker can take it yet")
        }
        submit(box, 2, key: 4)
        #expect(names(box.machine.take(worker: 1, now: now)) == ["r2"])
        _ = box.machine.finish([first], worker: 0)
        #expect(names(box.machine.take(worker: 0, now: now)) == ["r1"])
    }

    @Test("a worker takes requests beyond its share if they would have to wait for it")
    func sameKeyTogether() {
        let box = running(limits(workers: 4))
        for waiter in 0..<6 { submit(box, waiter, key: 9) }
        #expect(names(box.machine.take(worker: 0, now: now)).count == 6)
        #expect(box.machine.owners[9]?.count == 6)
    }

    @Test("members of a refused group wait, can be cancelled and expire, and run individually")
    func heldMembers() {
        let box = running(limits())
        for waiter in 0..<5 { submit(box, waiter, key: UInt64(waiter), after: .seconds(waiter == 3 ? 2 : 10)) }
        let ids = taken(box.machine.take(worker: 0, now: now)).map(\.id)
        _ = box.machine.cancel(ids[0])
        _ = box.machine.expire(now: now)
        let (answers, wakeTimer) = box.machine.hold(ids, worker: 0, now: now.advanced(by: .seconds(1)))
        #expect(answers.map(\.waiter) == [0])
        #expect(answers.map(\.code) == [.cancelled])
        #expect(wakeTimer)
        #expect(box.machine.send(ids[0], worker: 0) == false)
        let got30 = box.machine.send(ids[1], worker: 0)
        #expect(got30)
        #expect(box.machine.finish([ids[1]], worker: 0)[0]?.waiter == 1)
        guard case .answer(let cancelled) = box.machine.cancel(ids[2]) else { return #expect(Bool(false)) }
        #expect(cancelled.waiter == 2)
        #expect(box.machine.expire(now: now.advanced(by: .seconds(3))).expired.map(\.waiter) == [3])
        let got33 = box.machine.send(ids[3], worker: 0)
        #expect(got33 == false)
        #expect(box.machine.send(ids[4], worker: 0) == true)
        let got35 = box.machine.finish([ids[4]], worker: 0)[0]?.waiter
        #expect(got35 == 4)
        #expect(box.machine.owners.isEmpty)
    }

    @Test("requests without effect return to the head of the queue in order, a limited number of times")
    func requeue() {
        let box = running(limits(workers: 2))
        for waiter in 0..<2 { submit(box, waiter, key: 1) }
        let ids = taken(box.machine.take(worker: 0, now: now)).map(\.id)
        submit(box, 2)
        for attempt in 1...4 {
            let (answers, _) = box.machine.requeue(ids, worker: 0, now: now)
            if attempt == 4 {
                #expect(answers.map(\.waiter).sorted() == [0, 1])
                #expect(answers.map(\.code) == [.connectionUnavailable, .connectionUnavailable])
                break
            }
            #expect(answers.isEmpty)
            _ = box.machine.disconnected(0)
            _ = box.machine.connected(0)
            #expect(names(box.machine.take(worker: 0, now: now)).prefix(2) == ["r0", "r1"])
            box.machine.setActivity(of: 1, to: .idle)
        }
        #expect(box.machine.owners.isEmpty)
    }

    @Test("a requeued request that was cancelled meanwhile is answered as cancelled")
    func requeueCancelled() {
        let box = running(limits())
        let (id, _) = submit(box, 1)
        _ = box.machine.take(worker: 0, now: now)
        _ = box.machine.cancel(id)
        let (answers, _) = box.machine.requeue([id], worker: 0, now: now)
        #expect(answers.map(\.code) == [.cancelled])
    }

    @Test("a graceful shutdown refuses new requests, serves the queue, then stops every worker")
    func drain() {
        let box = running(limits(workers: 2))
        let (id, _) = submit(box, 1)
        #expect(box.machine.shutDown(immediately: false).isEmpty)
        let got39 = refusal(submit(box, 2).action)
        #expect(got39 == .closed)
        #expect(names(box.machine.take(worker: 0, now: now)) == ["r1"])
        _ = box.machine.finish([id], worker: 0)
        guard case .stop(wake: [0]) = box.machine.take(worker: 1, now: now) else {
            guard case .stop = box.machine.take(worker: 0, now: now) else { return #expect(Bool(false)) }
            return
        }
    }

    @Test("an immediate shutdown answers all queued requests")
    func shutDownImmediately() {
        let box = running(limits())
        submit(box, 1)
        #expect(box.machine.shutDown(immediately: true).map(\.code) == [.closed])
        guard case .stop = box.machine.take(worker: 0, now: now) else { return #expect(Bool(false)) }
        #expect(box.machine.stopped(0).isLast)
        #expect(box.machine.lifecycle == .closed)
    }

    @Test(
        "each request is answered exactly once after any sequence of events",
        arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
    func exactlyOnce(seed: UInt64) {
        var script = RandomScript(seed: seed, limits: limits(workers: 3, queue: 20, group: 4), start: now)
        for _ in 0..<5000 { script.step() }
        script.finish()
        #expect(script.submitted > 100)
        #expect(script.answers.count == script.submitted, "seed \(seed)")
        #expect(script.answers.values.allSatisfy { $0 == 1 }, "seed \(seed)")
        #expect(script.machine.queueDepth == 0)
        #expect(script.machine.queueBytes == 0)
        #expect(script.machine.owners.isEmpty)
    }
}
