// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestCluster

/// The program's own description of its commands, in the JSON of the argument parser.
struct CommandTree: Decodable {
    struct Argument: Decodable {
        struct Name: Decodable {
            let kind: String
            let name: String
        }

        let names: [Name]?
        let valueName: String?

        /// The argument's name, such as `--name`, or its placeholder `<value>` if it has no name.
        var title: String {
            if let long = names?.first(where: { $0.kind == "long" }) { return "--" + long.name }
            return names?.first.map { "-" + $0.name } ?? "<\(valueName ?? "")>"
        }
    }

    struct Command: Decodable {
        let commandName: String
        let subcommands: [Command]?
        let arguments: [Argument]?

        /// Returns the commands without subcommands, each with the words that call it.
        func leaves(_ words: [String] = []) -> [(words: [String], command: Command)] {
            guard let subcommands, !subcommands.isEmpty else { return [(words, self)] }
            return subcommands.flatMap { $0.leaves(words + [$0.commandName]) }
        }
    }

    let command: Command

    /// Returns all commands without subcommands, with their options.
    static func read(from program: StrataProgram) async throws -> [String: Set<String>] {
        let exit = try await program.run(["--experimental-dump-help"])
        let tree = try JSONDecoder().decode(CommandTree.self, from: Data(exit.output.utf8))
        // The options that the parser adds to every command.
        let common: Set = ["--help", "--version"]
        let commands = tree.command.leaves().filter { $0.words.first != "help" }
        return Dictionary(
            uniqueKeysWithValues: commands.map { words, command in
                (words.joined(separator: " "), Set((command.arguments ?? []).map(\.title)).subtracting(common))
            })
    }
}
