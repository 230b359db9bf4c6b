// SPDX-License-Identifier: Apache-2.0
import NetKit
import Testing

@Suite("waking a task")
struct WakeupTests {
    private let wakeup = Wakeup()

    @Test("an early signal is kept, and several signals are one", .timeLimit(.minutes(3)))
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

    @Test("a wait ends at its deadline, and a signal does not end the next wait", .timeLimit(.minutes(3)))
    func deadline() async {
        let clock = ContinuousClock()
        for _ in 0..<20 {
            wakeup.signal()
            await wakeup.wait(until: clock.now + .seconds(3600))
            let deadline = clock.now + .milliseconds(20)
            await wakeup.wait(until: deadline)
            #expect(clock.now >= deadline)
        }
    }
}
