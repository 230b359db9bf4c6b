// SPDX-License-Identifier: Apache-2.0

import NetKit
import Testing

@Suite("waits between attempts")
struct BackoffTests {
    private let backoff = Backoff(initial: .milliseconds(100), maximum: .seconds(1))

    @Test("the wait doubles up to the maximum, half of it is random, and a reset starts over")
    func waits() {
        var low = backoff
        #expect((0..<6).map { _ in low.next(random: 0) } == [50, 100, 200, 400, 500, 500].map { .milliseconds($0) })
        var high = backoff
        #expect((0..<2).map { _ in high.next(random: 0.5) } == [75, 150].map { .milliseconds($0) })
        #expect((0..<3).map { _ in high.next(random: 1) } == [400, 800, 1000].map { .milliseconds($0) })
        high.reset()
        #expect(high.next(random: 0) == .milliseconds(50))
    }

    @Test("the wait never overflows for any number of attempts, and never exceeds its maximum")
    func bounds() {
        #expect(backoff.delay(attempt: .max, random: 0.5) == .milliseconds(750))
        #expect(backoff.delay(attempt: -1, random: 7) == .milliseconds(100))
        #expect(Backoff(initial: .seconds(2), maximum: .seconds(1)).bound(attempt: 0) == .seconds(2))
        #expect(Backoff(initial: .zero, maximum: .seconds(1)).bound(attempt: 1000) == .zero)
        let never = Duration.seconds(Int64.max)
        #expect(Backoff(initial: never, maximum: never).bound(attempt: 1000) == never)
        #expect(Backoff(initial: .seconds(1), maximum: never).bound(attempt: 1000) == .seconds(1) * (Int64(1) << 62))
        var endless = backoff
        for _ in 0..<200 { #expect((.milliseconds(50) ... .seconds(1)).contains(endless.next())) }
    }
}
