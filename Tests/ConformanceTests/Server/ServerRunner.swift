// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

/// Runs the rules of the Server API concurrently. The first test starts all rules, and each test waits for its own.
actor ServerRunner {
    static let shared = ServerRunner()

    private static let patience = Duration.seconds(120)
    private let turns = Turnstile(places: 8)
    private var running: [ServerRuleCase: Task<Outcome, Never>] = [:]
    private var outcomes: [ServerRuleCase: Outcome] = [:]

    /// Waits for a case to end and returns its outcome.
    func outcome(of wanted: ServerRuleCase) async -> Outcome {
        for other in ServerRuleTable.cases where running[other] == nil { start(other) }
        guard let task = running[wanted] else { return Outcome(skipped: "not in the table") }
        return await task.value
    }

    func results() -> [ServerRuleCase: Outcome] { outcomes }

    private func start(_ ruleCase: ServerRuleCase) {
        running[ruleCase] = Task {
            await turns.enter()
            let outcome = await Self.run(ruleCase)
            await turns.leave()
            outcomes[ruleCase] = outcome
            return outcome
        }
    }

    private static func run(_ ruleCase: ServerRuleCase) async -> Outcome {
        let system: TestedSystem
        do {
            system = try await TestedSystem.shared()
        } catch {
            return Outcome(failures: ["the system did not start: \(error)"])
        }
        let fixture = ServerFixture(users: Fixture(system: system, version: .v3), version: ruleCase.version)
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                do {
                    try await ruleCase.rule.check(fixture)
                } catch {
                    fixture.users.fail(error)
                }
                return true
            }
            group.addTask {
                try? await Task.sleep(for: patience)
                return false
            }
            if await group.next() == false { fixture.users.fail("took longer than \(patience)") }
            group.cancelAll()
        }
        await fixture.users.end()
        return fixture.users.outcome
    }
}
