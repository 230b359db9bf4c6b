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

    @Test("keys take turns, however many of their own requests wait")
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

    @Test("the key with the lowest cost is next, before all that wait longer")
    func least() {
        var queue = TurnQueue<String, Int>(limit: 1)
        _ = queue.begin()
        for (id, key) in ["ana", "ben", "cleo", "dora", "ana"].enumerated() {
            queue.wait(key, id: UInt64(id), waiter: id)
        }
        let costs = ["ana": 1, "ben": 2, "cleo": 1, "dora": 0]
        var served: [Int] = []
        while let next = queue.end(cost: { costs[$0] ?? 0 }) { served.append(next) }
        #expect(served == [3, 0, 2, 4, 1])
        #expect(queue.running == 0)
        #expect(queue.waiting == 0)
    }

    private final class Order: Sendable {
        let users = Mutex<[UserKey]>([])
    }

    /// Returns the caller that gets the next free place. The first one begins to wait before the second.
    private func next(_ answers: LongAnswers, of first: UserKey, and second: UserKey) async throws -> UserKey? {
        let turn = try await answers.turn(of: first)
        let served = Order()
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (count, user) in [first, second].enumerated() {
                tasks.addTask {
                    let turn = try await answers.turn(of: user)
                    served.users.withLock { $0.append(user) }
                    turn.end()
                }
                await waits(answers, count + 1)
            }
            turn.end()
            try await tasks.waitForAll()
            return served.users.withLock { $0.first }
        }
    }

    @Test("a user who received few bytes precedes one who received many and has waited longer")
    func fewest() async throws {
        let answers = LongAnswers(limit: 1)
        answers.recordBytes(100 << 20, for: ana)
        answers.recordBytes(LongAnswers.longBytes, for: ben)
        #expect(try await next(answers, of: ana, and: ben) == ben)
        // Short pieces count for a user who takes turns, too.
        for _ in 0..<4 << 10 { answers.recordBytes(32 << 10, for: ben) }
        #expect(try await next(answers, of: ben, and: ana) == ana)
    }

    @Test("bytes sent long ago count less")
    func halved() async throws {
        let answers = LongAnswers(limit: 1)
        answers.recordBytes(100 << 20, for: ana, now: ContinuousClock.now.advanced(by: LongAnswers.memory * -10))
        answers.recordBytes(LongAnswers.longBytes, for: ana)
        answers.recordBytes(1 << 20, for: ben)
        #expect(try await next(answers, of: ben, and: ana) == ana)
    }

    @Test("many bytes still count after the period in which their user takes turns")
    func remembered() async throws {
        let answers = LongAnswers(limit: 1)
        answers.recordBytes(100 << 20, for: ana)
        // The period has passed. The next long answer, of any user, removes users with few bytes.
        let later = ContinuousClock.now + LongAnswers.memory
        answers.recordBytes(1 << 20, for: ben, now: later)
        answers.recordBytes(LongAnswers.longBytes, for: ana, now: later)
        #expect(try await next(answers, of: ana, and: ben) == ben)
    }

    @Test("a caller that cancels keeps the order of the others and takes no turn")
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

    private func waits(_ answers: LongAnswers, _ count: Int) async {
        while answers.waitingCount < count { await Task.yield() }
    }

    @Test("users with recent long answers take turns; other users do not wait")
    func turns() async throws {
        let answers = LongAnswers(limit: 1)
        answers.recordBytes(LongAnswers.longBytes, for: ana)
        answers.recordBytes(LongAnswers.longBytes - 1, for: ben)
        let first = try await answers.turn(of: ana)
        let second = Task { try await answers.turn(of: ana) }
        await waits(answers, 1)
        // A user with short answers takes no turn, even while others wait.
        for _ in 0..<3 { try await answers.turn(of: ben).end() }
        #expect(answers.waitingCount == 1)
        first.end()
        first.end()
        let turn = try await second.value
        #expect(answers.waitingCount == 0)
        turn.end()
        try await answers.turn(of: ana).end()
    }

    @Test("after a period of short answers a user takes no turns")
    func forgets() async throws {
        let answers = LongAnswers(limit: 1)
        answers.recordBytes(LongAnswers.longBytes, for: ana)
        let turn = try await answers.turn(of: ana)
        answers.recordBytes(LongAnswers.longBytes, for: ben, now: .now - LongAnswers.memory)
        try await answers.turn(of: ben).end()
        turn.end()
    }

    @Test("a caller cancelled while waiting is answered unavailable, and the next caller gets its turn")
    func cancelled() async throws {
        let answers = LongAnswers(limit: 1)
        answers.recordBytes(LongAnswers.longBytes, for: ana)
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

    @Test("a long turn does not delay the others")
    func longTurn() async throws {
        let answers = LongAnswers(limit: 1)
        answers.recordBytes(LongAnswers.longBytes, for: ana)
        let turn = try await answers.turn(of: ana)
        try await answers.turn(of: ana).end()
        turn.end()
        // Ending a turn twice frees one place only.
        let other = try await answers.turn(of: ana)
        let third = Task { try await answers.turn(of: ana) }
        await waits(answers, 1)
        other.end()
        try await third.value.end()
    }
}
