// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Testing

@testable import Gateway

@Suite("memory of input")
struct InputBudgetTests {
    private let budget = InputBudget(limit: 1 << 20)

    @Test("releasing a share releases its bytes")
    func end() {
        do {
            let share = InputBudget.Share(budget)
            #expect(share.reserve(1000) && share.reserve(500))
            share.release(200)
            #expect(share.held == 1300 && budget.inUse == 1300)
        }
        #expect(budget.inUse == 0)
    }

    @Test("large shares leave a quarter to small ones, which may use the whole limit")
    func room() {
        let large = InputBudget.Share(budget)
        #expect(large.reserve(768 << 10) && !large.reserve(1) && !InputBudget.Share(budget).reserve(20 << 10))
        let short = (0..<17).map { _ in InputBudget.Share(budget) }
        #expect(short.prefix(16).allSatisfy { $0.reserve(InputBudget.shortBytes) })
        #expect(!short[16].reserve(1) && budget.inUse == budget.limit)
        large.release(1)
        #expect(short[16].reserve(1) && budget.isTight)
    }

    @Test("large shares of one address may use a quarter; its small ones and other addresses are not limited by that")
    func addresses() throws {
        let (here, elsewhere) = (try #require(RateKey(address: "10.0.0.1")), try #require(RateKey(address: "10.0.0.2")))
        do {
            let first = InputBudget.Share(budget, of: here)
            let second = InputBudget.Share(budget, of: here)
            #expect(first.reserve(200 << 10) && !second.reserve(57 << 10) && second.reserve(56 << 10))
            #expect(InputBudget.Share(budget, of: here).reserve(InputBudget.shortBytes))
            #expect(!InputBudget.Share(budget, of: here).reserve(20 << 10))
            #expect(InputBudget.Share(budget, of: elsewhere).reserve(256 << 10))
        }
        #expect(budget.inUse == 0)
        #expect(InputBudget.Share(budget, of: here).reserve(256 << 10))
    }

    @Test("a body has fifteen seconds plus time at 500 bytes/s; under pressure five seconds, or 50,000 bytes/s")
    func time() {
        let time = ArrivalTime(timeout: .seconds(15))
        #expect(time.nextCheck(after: .seconds(5), bytes: 1, isTight: false) == .seconds(5))
        #expect(time.nextCheck(after: .seconds(14), bytes: 1, isTight: false) == .milliseconds(1001))
        #expect(time.nextCheck(after: .seconds(15), bytes: 7000, isTight: false) == nil)
        #expect(time.nextCheck(after: .seconds(15), bytes: 8000, isTight: false) == .milliseconds(1001))
        #expect(time.nextCheck(after: .seconds(5), bytes: 200_000, isTight: true) == nil)
        #expect(time.nextCheck(after: .seconds(5), bytes: 1_000_000, isTight: true) == .seconds(5))
    }
}
