// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import TestSupport

@testable import Postgres

/// Drives a pool's state machine with random actions of threads, callers and the network, and counts the answers to
/// each request.
struct RandomScript {
    typealias Machine = PoolStateMachine<String, Int>

    private enum Phase { case resting, serving([RequestID]), oneByOne([RequestID]), disconnected }

    var machine: Machine
    var submitted = 0
    var answers: [Int: Int] = [:]
    private var generator: SeededGenerator
    private var now: ContinuousClock.Instant
    private var ids: [RequestID] = []
    private var phases: [Phase]

    init(seed: UInt64, limits: Machine.Limits, start: ContinuousClock.Instant) {
        machine = Machine(limits: limits)
        generator = SeededGenerator(seed: seed)
        now = start
        phases = Array(repeating: .resting, count: limits.workers)
        _ = machine.start()
        for worker in phases.indices {
            _ = machine.connected(worker)
            take(worker)
        }
    }

    mutating func step() {
        switch Int.random(in: 0..<10, using: &generator) {
        case 0..<4: submit()
        case 4:
            if let id = ids.randomElement(using: &generator), case .answer(let answer) = machine.cancel(id) {
                count([answer])
            }
        case 5:
            now = now.advanced(by: .milliseconds(Int.random(in: 0...40, using: &generator)))
            count(machine.expire(now: now).expired)
        default: work(Int.random(in: phases.indices, using: &generator))
        }
    }

    /// Shuts down and processes everything to its end.
    mutating func finish() {
        count(machine.shutDown(immediately: false))
        for _ in 0..<1000 {
            for worker in phases.indices { work(worker, calmly: true) }
        }
        for worker in phases.indices { count(machine.stopped(worker).answers) }
    }

    private mutating func submit() {
        let waiter = submitted
        submitted += 1
        let id = machine.reserve()
        if Bool.random(using: &generator), Bool.random(using: &generator) { _ = machine.cancel(id) }
        let action = machine.submit(
            id, payload: "", waiter: waiter, bytes: Int.random(in: 0...200, using: &generator),
            lockKey: Bool.random(using: &generator) ? UInt64.random(in: 0...3, using: &generator) : nil,
            deadline: now.advanced(by: .milliseconds(Int.random(in: 0...200, using: &generator))), now: now)
        if case .refused(let answer) = action { count([answer]) } else { ids.append(id) }
        if ids.count > 50 { ids.removeFirst() }
    }

    private mutating func work(_ worker: Int, calmly: Bool = false) {
        let luck = calmly ? 0 : Int.random(in: 0..<10, using: &generator)
        switch phases[worker] {
        case .resting:
            if luck == 9 { disconnect(worker) } else { take(worker) }
        case .serving(let group):
            if luck == 9 {
                let half = group.count / 2
                finish(Array(group[..<half]), worker)
                count(machine.requeue(Array(group[half...]), worker: worker, now: now).answers)
                disconnect(worker)
            } else if luck >= 7 {
                count(machine.hold(group, worker: worker, now: now).answers)
                phases[worker] = .oneByOne(group)
            } else {
                finish(group, worker)
                take(worker)
            }
        case .oneByOne(let rest):
            guard let next = rest.first else { return take(worker) }
            if luck == 9 {
                count(machine.requeue(rest, worker: worker, now: now).answers)
                disconnect(worker)
            } else {
                if machine.send(next, worker: worker) { finish([next], worker) }
                phases[worker] = .oneByOne(Array(rest.dropFirst()))
            }
        case .disconnected:
            if luck >= 5 {
                count(machine.connectFailed(worker).answers)
            } else {
                _ = machine.connected(worker)
                take(worker)
            }
        }
    }

    private mutating func disconnect(_ worker: Int) {
        _ = machine.disconnected(worker)
        phases[worker] = .disconnected
    }

    private mutating func take(_ worker: Int) {
        switch machine.take(worker: worker, now: now) {
        case .run(let group, let expired, _):
            count(expired)
            phases[worker] = .serving(group.map(\.id))
        case .sleep(let expired):
            count(expired)
            phases[worker] = .resting
        case .stop:
            phases[worker] = .resting
        }
    }

    private mutating func finish(_ ids: [RequestID], _ worker: Int) {
        for entry in machine.finish(ids, worker: worker) {
            if let entry { answers[entry.waiter, default: 0] += 1 }
        }
    }

    private mutating func count(_ list: [Machine.Answer]) {
        for answer in list { answers[answer.waiter, default: 0] += 1 }
    }
}
