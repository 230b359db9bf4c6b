// SPDX-License-Identifier: Apache-2.0
import Foundation
import LocalServers
import TestCluster
import TestSupport
import TestTiers
import Testing

@testable import StrataCommand

@Suite("operators of the console, at a terminal")
struct OperatorTerminalTests {
    private static let password = "correct horse battery"

    /// Runs `strata operator create ana` and answers its prompts with these lines.
    private func create(_ answers: [String], at url: String) async throws -> (status: Int32?, output: String) {
        let program = try StrataProgram("terminal")
        let terminal = try PseudoTerminal()
        // A session of its own, whose terminal is this one and not that of the tests.
        let process = try await terminal.start(
            "setsid", ["--ctty", "--wait", try Executables.find("strata"), "operator", "create", "ana"],
            environment: [
                "PATH": "/usr/bin:/bin", "STRATA_HOME": program.directory + "/home", "STRATA_DATABASE_URL": url,
            ], directory: program.directory)
        for (prompt, answer) in zip(["Password: ", "again: "], answers) {
            try await eventually { terminal.output.contains(prompt) }
            terminal.press(answer + "\n")
        }
        let status = await process.waitForExit()?.status
        return (status, terminal.output)
    }

    @Test("the terminal asks twice for the password and does not show it", .timeLimit(.minutes(1)))
    func asking() async throws {
        let url = try await TestServers.postgres()
        _ = try await DatabaseMigration.run(url: url, passwords: [:])
        let wrong = try await create([Self.password, "another password"], at: url)
        #expect(wrong.status == CommandFailure.Status.usage.rawValue)
        #expect(wrong.output.contains("The two passwords differ."))
        #expect(try await OperatorStore(url: url).list() == [])
        let right = try await create([Self.password, Self.password], at: url)
        #expect(right.status == 0)
        #expect(right.output.contains("ana  is created, as viewer"))
        #expect(!wrong.output.contains(Self.password) && !right.output.contains(Self.password))
        #expect(try await OperatorStore(url: url).list().map(\.name) == ["ana"])
    }
}
