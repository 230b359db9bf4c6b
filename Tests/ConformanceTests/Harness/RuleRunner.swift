// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

/// Runs rules concurrently, even if their tests run sequentially. The first test of a chapter starts all its rules, and
/// each test waits for its own rule.
actor RuleRunner {
    static let shared = RuleRunner()

    /// The maximum number of concurrent rules. They mostly wait for the server.
    private static let atATime = 8
    /// The time limit of a rule. Slow rules wait for two minutes of silence.
    private static let patience = (slow: Duration.seconds(200), other: Duration.seconds(120))

    private let turns = Turnstile(places: atATime)
    private var running: [RuleCase: Task<Outcome, Never>] = [:]
    private var outcomes: [RuleCase: Outcome] = [:]
    private var haveSlowStarted = false

    /// Waits for a case to end and returns its outcome.
    func outcome(of wanted: RuleCase, in chapter: RuleTable.Chapter) async -> Outcome {
        if !haveSlowStarted {
            haveSlowStarted = true
            let chapters = RuleTable.Chapter.allCases
            for slow in chapters.flatMap({ RuleTable.cases($0) }) where slow.rule.isSlow { start(slow) }
        }
        for other in RuleTable.cases(chapter) where running[other] == nil { start(other) }
        guard let task = running[wanted] else { return Outcome(skipped: "not in the table") }
        return await task.value
    }

    func results() -> [RuleCase: Outcome] { outcomes }

    private func start(_ ruleCase: RuleCase) {
        running[ruleCase] = Task {
            let isSlow = ruleCase.rule.isSlow
            if !isSlow { await turns.enter() }
            let outcome = await Self.run(ruleCase)
            if !isSlow { await turns.leave() }
            outcomes[ruleCase] = outcome
            return outcome
        }
    }

    private static func run(_ ruleCase: RuleCase) async -> Outcome {
        let system: TestedSystem
        do {
            system = try await TestedSystem.shared()
        } catch {
            return Outcome(failures: ["the system did not start: \(error)"])
        }
        let fixture = Fixture(system: system, version: ruleCase.version)
        let patience = ruleCase.rule.isSlow ? patience.slow : patience.other
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                do {
                    try await ruleCase.rule.check(fixture)
                } catch {
                    fixture.fail(error)
                }
                return true
            }
            group.addTask {
                try? await Task.sleep(for: patience)
                return false
            }
            if await group.next() == false { fixture.fail("took longer than \(patience)") }
            group.cancelAll()
        }
        await fixture.end()
        return fixture.outcome
    }
}

/// A FIFO semaphore: admits a fixed number of tasks at a time, in the order of their arrival.
actor Turnstile {
    private var places: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(places: Int) { self.places = places }

    func enter() async {
        if places > 0 {
            places -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    func leave() {
        if waiting.isEmpty { places += 1 } else { waiting.removeFirst().resume() }
    }
}
