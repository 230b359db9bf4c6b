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
        version: StrataVersion.description,
        subcommands: [
            DevCommand.self, MigrateCommand.self, AppCommand.self, TokenCommand.self, UserCommand.self, AnnounceCommand.self, DemoCommand.self,
            DoctorCommand.self,
            SecretsCommand.self,
        ] + clientCommands
    )

    #if STRATA_CHAT
    /// What needs the client library, which images are built without.
    private static let clientCommands: [any ParsableCommand.Type] = [ChatCommand.self]
    #else
    private static let clientCommands: [any ParsableCommand.Type] = []
    #endif

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
            guard let failure = failure(of: error) else { exit(withError: error) }
            Console.standard.fail(failure.message)
            Foundation.exit(failure.status.rawValue)
        }
    }

    /// - Returns: nil for what is no failure, such as a request for help, or has been told already.
    private static func failure(of error: any Error) -> CommandFailure? {
        if let failure = CommandFailure(of: error) { return failure }
        switch exitCode(for: error) {
        case .success: return nil
        case .validationFailure:
            // The parser adds the usage to its message, several lines of it; the last one says how to read all of it.
            let hint = fullMessage(for: error).split(separator: "\n").last.map(String.init)?.onOneLine ?? ""
            let message = message(for: error).onOneLine
            return CommandFailure(.usage, message.hasSuffix(".") ? "\(message) \(hint)" : "\(message). \(hint)")
        default: return error is ExitCode ? nil : CommandFailure(.software, "\(error)".onOneLine)
        }
    }
}
