// SPDX-License-Identifier: Apache-2.0
import Testing

/// Tests the typing machine (verified against the scripts in Tests/PresenceTests), several sweeping instances and the
/// gateways' tables. Publications and calls are lost, Redis fails or restarts empty, and clocks jump.
@Suite("Typing against a faulty network and clock", .timeLimit(.minutes(10)))
struct TypingSimulationTests {
    private static let suite = "TypingSimulationTests"

    @Test("no user is shown as typing for longer than allowed, and each transition is announced once")
    func promises() {
        Seeds.check(Seeds.chosen(20), suite: Self.suite) { TypingWorld.run($0) }
    }

    @Test("one seed always produces the same run")
    func repeatable() {
        let (first, second) = (TypingWorld.run(3), TypingWorld.run(3))
        #expect(first.digest == second.digest)
        #expect(first.steps == second.steps)
    }

    @Test("the simulation detects an omitted rule", arguments: TypingScenario.Sabotage.allCases)
    func sabotage(rule: TypingScenario.Sabotage) {
        let isNoticed = (1...10 as ClosedRange<UInt64>).contains { !TypingWorld.run($0, sabotage: rule).isGood }
        #expect(isNoticed, "nothing noticed \(rule.rawValue)")
    }
}
