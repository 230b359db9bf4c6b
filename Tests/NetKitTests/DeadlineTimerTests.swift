// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import NetKit
import Testing

@Suite("one timer for many deadlines")
struct DeadlineTimerTests {
    private final class Counter {
        var value = 0
    }

    @Test("the timer fires once, after the earliest deadline")
    func earliest() {
        let loop = EmbeddedEventLoop()
        let (now, fired) = (ContinuousClock.now, Counter())
        var timer = DeadlineTimer()
        func arm(_ seconds: Int) { timer.arm(at: now + .seconds(seconds), on: loop) { fired.value += 1 } }
        arm(50)
        arm(10)
        arm(30)
        #expect(timer.covers(now + .seconds(30)) && !timer.covers(now + .seconds(9)))
        loop.advanceTime(by: .seconds(9))
        #expect(fired.value == 0)
        loop.advanceTime(by: .seconds(2))
        #expect(fired.value == 1)
        loop.advanceTime(by: .seconds(100))
        #expect(fired.value == 1, "the deadline that was replaced has no timer")
        timer.fired()
        #expect(!timer.covers(now + .seconds(1000)))
    }

    @Test("no timer is set without a deadline, and a cancelled timer does not fire")
    func cancelled() {
        let loop = EmbeddedEventLoop()
        let fired = Counter()
        var timer = DeadlineTimer()
        timer.arm(at: nil, on: loop) { fired.value += 1 }
        timer.arm(at: .now + .seconds(1), on: loop) { fired.value += 1 }
        timer.cancel()
        loop.advanceTime(by: .seconds(100))
        #expect(fired.value == 0)
        timer.arm(at: .now - .seconds(1), on: loop) { fired.value += 1 }
        loop.advanceTime(by: .milliseconds(1))
        #expect(fired.value == 1, "a deadline that has passed is noticed at once")
    }
}
