// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import FanOut
@testable import Gateway

@Suite("budget of answers")
struct AnswerBudgetTests {
    private let budget = AnswerBudget(limit: 30 << 20)

    private func isTaken(_ bytes: Int, by lease: AnswerBudget.Lease) -> Bool {
        (try? lease.answerReceived(byteCount: bytes)) != nil
    }

    @Test("a service answer counts threefold until it is rendered, then once, and not at all after its release")
    func life() throws {
        var lease: AnswerBudget.Lease? = AnswerBudget.Lease(budget)
        try lease?.answerReceived(byteCount: 1 << 20)
        #expect(budget.inUse == 3 << 20)
        lease?.settle(to: 2 << 20)
        #expect(budget.inUse == 2 << 20)
        lease = nil
        #expect(budget.inUse == 0)
    }

    @Test("above the limit long answers are refused as unavailable; short ones and answers to changes are not")
    func refusal() throws {
        let others = AnswerBudget.Lease(budget, holding: 29 << 20)
        let long = AnswerBudget.Lease(budget)
        let failure = #expect(throws: Failure.self) { try long.answerReceived(byteCount: 1 << 20) }
        #expect(failure == .unavailable)
        #expect(long.count == 0)
        #expect(isTaken(20_000, by: AnswerBudget.Lease(budget)))
        #expect(isTaken(1 << 20, by: AnswerBudget.Lease(budget, isRefusable: false)))
        others.settle(to: 0)
        #expect(isTaken(1 << 20, by: long))
        long.isRefusable = false
        others.settle(to: 30 << 20)
        #expect(isTaken(1 << 20, by: long))
    }

    @Test("many short answers to one request count as long together")
    func sum() {
        let others = AnswerBudget.Lease(budget, holding: 30 << 20)
        let lease = AnswerBudget.Lease(budget)
        #expect(isTaken(20_000, by: lease))
        #expect(!isTaken(20_000, by: lease))
        withExtendedLifetime(others) {}
    }

    @Test("an answer above the limit is admitted while almost nothing else is held")
    func alone() {
        let other = AnswerBudget.Lease(budget, holding: 1 << 20)
        #expect(isTaken(20 << 20, by: AnswerBudget.Lease(budget)))
        other.settle(to: 3 << 20)
        #expect(!isTaken(20 << 20, by: AnswerBudget.Lease(budget)))
    }

    @Test("the budget is tight above three quarters, and full above the limit")
    func pressure() {
        budget.add(22 << 20)
        #expect(!budget.isTight)
        budget.add(1 << 20)
        #expect(budget.isTight)
        #expect(!budget.isExceeded(by: 0))
        budget.add(8 << 20)
        #expect(budget.isExceeded(by: 0))
        budget.release(31 << 20)
        #expect(budget.inUse == 0)
    }
}
