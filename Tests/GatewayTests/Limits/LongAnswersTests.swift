// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Synchronization
import Testing

@testable import FanOut
@testable import Gateway

@Suite(.timeLimit(.minutes(3)))
struct LongAnswersTests {
    private let ana = UserKey(app: Fixture.app, user: Fixture.ana)
    private let ben = UserKey(app: Fixture.app, user: Fixture.ben)

    @Test("each has one turn after the other, however many of their own wait behind it")
    func fairness() {
        var queue = TurnQueue<String, Int>(limit: 1)
        var id: UInt64 = 0
        func wait(_ key: String, _ waiter: Int) {
            id += 1
            queue.wait(key, id: id, waiter: waiter)
        }
        let isFirst = queue.begin()
        #expect(isFirst)
        let isSecond = queue.begin()
        #expect(!isSecond)
        for waiter in 1...4 { wait("ana", waiter) }
        wait("ben", 11)
        wait("cleo", 21)
        wait("ben", 12)
        var served: [Int] = []
        while let next = queue.end() { served.append(next) }
        #expect(served == [1, 11, 21, 2, 12, 3, 4])
        #expect(queue.running == 0)
        #expect(queue.waiting == 0)
    }

    @Test("a caller that gives up leaves the others their order, and takes no turn")
    func givingUp() {
        var queue = TurnQueue<String, Int>(limit: 1)
        _ = queue.begin()
        queue.wait("ana", id: 1, waiter: 1)
        queue.wait("ben", id: 2, waiter: 2)
        queue.wait("ana", id: 3, waiter: 3)
        #expect(queue.giveUp("ben", id: 2) == 2)
        #expect(queue.giveUp("ben", id: 2) == nil)
        #expect(queue.giveUp("ana", id: 1) == 1)
        #expect(queue.end() == 3)
        #expect(queue.end() == nil)
        let isFree = queue.begin()
        #expect(isFree)
    }

    /// Lets the task begin to wait.
    private func waits(_ answers: LongAnswers, _ count: Int) async {
        while answers.waitingCount < count { await Task.yield() }
    }

    @Test("users who got a long answer lately take turns; other users do not wait")
    func turns() async throws {
        let answers = LongAnswers(limit: 1)
        answers.gave(LongAnswers.longBytes, to: ana)
        answers.gave(LongAnswers.longBytes - 1, to: ben)
        let first = try await answers.turn(of: ana)
        let second = Task { try await answers.turn(of: ana) }
        await waits(answers, 1)
        // A user who is given short answers takes no turn, also while others wait.
        for _ in 0..<3 { try await answers.turn(of: ben).end() }
        #expect(answers.waitingCount == 1)
        first.end()
        first.end()
        let turn = try await second.value
        #expect(answers.waitingCount == 0)
        turn.end()
        try await answers.turn(of: ana).end()
    }

    @Test("after a while of short answers a user takes no turns any more")
    func forgets() async throws {
        let answers = LongAnswers(limit: 1)
        answers.gave(LongAnswers.longBytes, to: ana)
        let turn = try await answers.turn(of: ana)
        answers.gave(LongAnswers.longBytes, to: ben, now: .now - LongAnswers.memory)
        try await answers.turn(of: ben).end()
        turn.end()
    }

    @Test("a caller that is cancelled while it waits is answered unavailable, and the next caller gets its turn")
    func cancelled() async throws {
        let answers = LongAnswers(limit: 1)
        answers.gave(LongAnswers.longBytes, to: ana)
        let turn = try await answers.turn(of: ana)
        let given = Task { try await answers.turn(of: ana) }
        await waits(answers, 1)
        let waiting = Task { try await answers.turn(of: ana) }
        await waits(answers, 2)
        given.cancel()
        await #expect(throws: Failure.unavailable) { try await given.value }
        turn.end()
        try await waiting.value.end()
    }

    @Test("a turn that takes long does not hold up the others")
    func longTurn() async throws {
        let answers = LongAnswers(limit: 1)
        answers.gave(LongAnswers.longBytes, to: ana)
        let turn = try await answers.turn(of: ana)
        try await answers.turn(of: ana).end()
        turn.end()
        // It has ended once only: there is one place, and not two.
        let other = try await answers.turn(of: ana)
        let third = Task { try await answers.turn(of: ana) }
        await waits(answers, 1)
        other.end()
        try await third.value.end()
    }
}
