// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import NetKit
import Testing

@Suite("budgets and durations")
struct ValueTests {
    @Test("releasing frees all bytes, both reserved and added ones")
    func budget() {
        let budget = ByteBudget(limit: 10)
        #expect(budget.reserve(6))
        #expect(!budget.reserve(5))
        #expect(budget.reserve(4))
        budget.release(6)
        budget.add(20)
        #expect(!budget.reserve(1))
        budget.release(24)
        #expect(budget.inUse == 0)
        #expect(budget.reserve(11))
    }

    @Test("durations convert to integers, rounded towards zero, and to NIO's amounts without overflow")
    func durations() {
        #expect(Duration.microseconds(1_999).wholeMilliseconds == 1)
        #expect(Duration.microseconds(-1_999).wholeMilliseconds == -1)
        #expect(Duration.seconds(3).wholeNanoseconds == 3_000_000_000)
        #expect(Duration.milliseconds(5).timeAmount == .milliseconds(5))
        #expect(Duration.seconds(-5).timeAmount == .zero)
        #expect(Duration.seconds(Int64.max).timeAmount == .nanoseconds(1_000_000_000_000_000_000))
    }

    @Test("deferred work uses the loop's clock")
    func after() {
        let loop = EmbeddedEventLoop()
        var hasRun = false
        loop.after(.seconds(5)) { hasRun = true }
        loop.advanceTime(by: .seconds(4))
        #expect(!hasRun)
        loop.advanceTime(by: .seconds(1))
        #expect(hasRun)
    }
}
