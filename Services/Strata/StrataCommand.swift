// SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import Foundation

/// The operator's command.
public struct StrataCommand: AsyncParsableCommand {
    /// Name, help and subcommands.
    public static let configuration = CommandConfiguration(
        commandName: "strata",
        abstract: "Runs and looks after a Strata conversation backend.",
        discussion: """
            Start with `strata dev`: it runs everything on this machine, with a PostgreSQL, a Redis and a TLS certificate of its own, below \
            .strata/ (or STRATA_HOME).
            """,
        version: StrataVersion.current,
        subcommands: [
            DevCommand.self, MigrateCommand.self, AppCommand.self, TokenCommand.self, AnnounceCommand.self, DemoCommand.self, DoctorCommand.self,
            SecretsCommand.self,
        ]
    )

    /// Makes the root command, which by itself shows the help.
    public init() {}

    /// Parses the command line, runs what it says, and ends the process with a status that says how that went: 0, or one of ``CommandFailure``'s,
    /// or 64 for a command line that cannot be understood.
    public static func launch() async -> Never {
        do {
            var command = try parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            Foundation.exit(0)
        } catch {
            guard let failure = CommandFailure(of: error) else { exit(withError: error) }
            Console.standard.fail(failure.message)
            Foundation.exit(failure.status.rawValue)
        }
    }
}
