// SPDX-License-Identifier: Apache-2.0
public import ArgumentParser
import Foundation
import LocalServers

/// The operator's command, `strata`.
public struct StrataCommand: AsyncParsableCommand {
    /// The name, help and subcommands.
    public static let configuration = CommandConfiguration(
        commandName: "strata",
        abstract: "Runs and manages a Strata conversation backend.",
        discussion: """
            Start with `strata dev`: it runs everything on this machine, with a PostgreSQL, a Redis and a TLS \
            certificate of its own, below .strata/ (or STRATA_HOME).
            """,
        version: StrataVersion.description,
        subcommands: [
            DevCommand.self, MigrateCommand.self, AppCommand.self, TokenCommand.self, UserCommand.self,
            AnnounceCommand.self, OperatorCommand.self, DemoCommand.self,
            DoctorCommand.self, SecretsCommand.self, BenchmarkCommand.self,
        ]
    )

    /// Creates the root command, which shows the help if it is run without a subcommand.
    public init() {}
}

extension AsyncParsableCommand {
    /// Parses the command line, runs the command, and ends the process.
    ///
    /// | Status | Meaning |
    /// |---|---|
    /// | 0 | success |
    /// | 64 | an invalid command line |
    /// | other | a status of ``CommandFailure`` |
    package static func launch() async -> Never {
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

    /// Returns the failure that an error stands for. nil: the error is no failure, such as a request for help, or it
    /// was already reported.
    private static func failure(of error: any Error) -> CommandFailure? {
        if let failure = CommandFailure(of: error) { return failure }
        switch exitCode(for: error) {
        case .success: return nil
        case .validationFailure:
            // The parser's message includes several lines of usage. The last line names the option that shows the full
            // help.
            let hint = fullMessage(for: error).split(separator: "\n").last.map(String.init)?.onOneLine ?? ""
            let message = message(for: error).onOneLine
            return CommandFailure(.usage, message.hasSuffix(".") ? "\(message) \(hint)" : "\(message). \(hint)")
        default: return error is ExitCode ? nil : CommandFailure(.software, "\(error)".onOneLine)
        }
    }
}

/// The name of this command in texts that tell the operator what to type.
enum OwnCommand {
    /// The name `strata` if the shell would find this executable under it; otherwise the path of the call.
    static var name: String {
        let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        guard let own, let found = try? Programs.find("strata") else { return CommandLine.arguments[0] }
        let real = URL(fileURLWithPath: found).resolvingSymlinksInPath().path(percentEncoded: false)
        return real == own ? "strata" : CommandLine.arguments[0]
    }
}
