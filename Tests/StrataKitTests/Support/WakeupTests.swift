// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import StrataKit

@Suite("waking a task")
struct WakeupTests {
    private let wakeup = Wakeup()

    @Test("a signal that came before is kept, and several are one", .timeLimit(.minutes(3)))
    func kept() async {
        wakeup.signal()
        wakeup.signal()
        await wakeup.wait()
        let waiting = Task { await wakeup.wait() }
        wakeup.signal()
        await waiting.value
    }

    @Test("a cancelled task does not wait", .timeLimit(.minutes(3)))
    func cancelled() async {
        let waiting = Task { await wakeup.wait() }
        waiting.cancel()
        await waiting.value
        wakeup.signal()
        await wakeup.wait()
    }

    @Test("a wait ends at its deadline", .timeLimit(.minutes(3)))
    func deadline() async {
        let clock = ManualClock()
        let deadline = clock.now + 5
        async let waiting: Void = wakeup.wait(until: deadline, clock: clock)
        clock.advance(by: .seconds(5))
        await waiting
    }
}
