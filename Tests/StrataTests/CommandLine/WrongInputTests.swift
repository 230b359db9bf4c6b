// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestCluster
import Testing

@testable import StrataCommand

@Suite("wrong input")
struct WrongInputTests {
    @Test("every option of every command has a row", .timeLimit(.minutes(5)))
    func complete() async throws {
        let program = try StrataProgram("words")
        let commands = try await CommandTree.read(from: program)
        #expect(commands.count > 8)
        var rows: [String: Set<String>] = [:]
        for row in WrongInput.all { rows[row.command, default: []].insert(row.option) }
        for (command, options) in commands {
            #expect(
                options.subtracting(rows[command] ?? []).isEmpty,
                "strata \(command) has options that no wrong word has been tried with")
        }
        for (command, options) in rows {
            #expect(options.subtracting(commands[command] ?? []).isEmpty, "strata \(command) has no such options")
        }
    }

    @Test(
        "wrong input is answered with one line on standard error and a status, and creates nothing",
        .timeLimit(.minutes(5)),
        arguments: WrongInput.all)
    func row(_ row: WrongInput) async throws {
        let program = try StrataProgram("words")
        let directory = program.directory
        let exit = try await program.run(try await row.words(in: directory), environment: row.environment)
        expectOneLine(exit, row.status)
        #expect(exit.errorOutput.contains(row.says))
        #expect(!FileManager.default.fileExists(atPath: directory + "/home"))
        #expect(!FileManager.default.fileExists(atPath: directory + "/secrets"))
    }

    @Test("every command names an unknown option", .timeLimit(.minutes(5)))
    func unknownOption() async throws {
        let program = try StrataProgram("words")
        for command in try await CommandTree.read(from: program).keys {
            let exit = try await program.run(command.split(separator: " ").map(String.init) + ["--bogus"])
            expectOneLine(exit, .usage)
            #expect(exit.errorOutput.contains("--bogus") || exit.errorOutput.contains("Missing expected argument"))
            #expect(exit.errorOutput.contains("See 'strata \(command) --help'"))
        }
    }

    @Test("the version is that of the source tree, with the commit if the build knows it")
    func version() async throws {
        #expect(StrataVersion.description.wholeMatch(of: /\d+\.\d+\.\d+( \([0-9a-f]+(-dirty)?\))?/) != nil)
        #expect(try await StrataProgram("words").run(["--version"]).output == StrataVersion.description + "\n")
    }

    @Test("help and version exit with success")
    func help() async throws {
        let program = try StrataProgram("words")
        for words in [["--help"], ["--version"], ["app"], ["help", "token"], ["app", "create", "-h"]] {
            let exit = try await program.run(words)
            #expect(exit.status == 0 && !exit.output.isEmpty && exit.errorOutput.isEmpty, "\(words)")
        }
    }

    private func expectOneLine(
        _ exit: StrataProgram.Exit, _ status: CommandFailure.Status, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(exit.status == status.rawValue, "\(exit.errorOutput)", sourceLocation: sourceLocation)
        #expect(
            exit.errorOutput.hasPrefix("strata: ") && exit.errorOutput.hasSuffix("\n"), sourceLocation: sourceLocation)
        #expect(
            exit.errorOutput.split(separator: "\n").count == 1, "\(exit.errorOutput)", sourceLocation: sourceLocation)
        #expect(exit.output.isEmpty, sourceLocation: sourceLocation)
    }
}
