// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation

struct OperatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "operator",
        abstract: "Manages the operators who may sign in to the console.",
        discussion: "The console's audit log shows each change.",
        subcommands: [
            OperatorCreateCommand.self, OperatorListCommand.self, OperatorDisableCommand.self,
            OperatorEnableCommand.self, OperatorPasswordCommand.self, OperatorLinkCommand.self,
        ])
}

extension OperatorStore.Role: ExpressibleByArgument {}

/// The operator that a command concerns, and the database.
struct OperatorTarget: ParsableArguments {
    @OptionGroup var database: DatabaseOption
    @Argument(help: "The operator's name.")
    var name: String

    func validate() throws {
        guard name.range(of: "^[a-z0-9][a-z0-9._-]{0,63}\\z", options: .regularExpression) != nil else {
            throw ValidationError(
                """
                The operator's name must have 1 to 64 characters, of a to z, 0 to 9, '.', '_' and '-', and begin with \
                a letter or digit.
                """)
        }
    }

    var store: OperatorStore { get async throws { OperatorStore(url: try await database.url(in: StrataHome())) } }

    /// Prints the result of a change.
    /// - Parameter isDone: False: there is no such operator.
    func report(_ isDone: Bool, _ result: String) throws {
        guard isDone else {
            throw CommandFailure(
                .usage, "The operator \(name) does not exist. \(OwnCommand.name) operator list shows all.")
        }
        Console.standard.say("\(name)  \(result)")
    }
}

struct OperatorCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Creates an operator with a password.",
        discussion: """
            A viewer sees everything but traces, and changes nothing; an operator also changes. The password has 12 \
            to 1,024 bytes. Only its hash is stored.
            """)

    @OptionGroup var target: OperatorTarget
    @Option(help: "viewer or operator.")
    var role = OperatorStore.Role.viewer
    @OptionGroup var password: NewPassword

    func run() async throws {
        let store = try await target.store
        guard try await store.create(target.name, password: try password.hash(), role: role) else {
            throw CommandFailure(
                .usage,
                """
                The operator \(target.name) exists. Change the password with: \(OwnCommand.name) operator password \
                \(target.name)
                """)
        }
        try target.report(true, "is created, as \(role.rawValue)")
    }
}

struct OperatorListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the operators with their roles.")

    @OptionGroup var database: DatabaseOption
    @Flag(help: "Print JSON.")
    var json = false

    struct Row: Codable, Equatable, Sendable {
        var name: String
        var role: String
        var createdAt: String
        /// nil: the operator may sign in.
        var disabledAt: String?
        var hasPassword: Bool

        init(_ row: OperatorStore.Operator) {
            (name, role, hasPassword) = (row.name, row.role, row.hasPassword)
            createdAt = row.createdAt.formatted(.iso8601)
            disabledAt = row.disabledAt?.formatted(.iso8601)
        }

        var line: String {
            let state = disabledAt.map { "  disabled since \($0)" } ?? (hasPassword ? "" : "  by links only")
            return "\(role.padding(to: 8))  \(createdAt)  \(name)\(state)"
        }
    }

    func run() async throws {
        let rows = try await OperatorStore(url: try await database.url(in: StrataHome())).list().map { Row($0) }
        if json { return try Console.standard.say(json: rows) }
        guard !rows.isEmpty else {
            return Console.standard.say("No operator. Create one with: \(OwnCommand.name) operator create NAME")
        }
        for row in rows { Console.standard.say(row.line) }
    }
}

struct OperatorDisableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable", abstract: "Disables an operator and ends their sessions.",
        discussion: "Operators are not deleted, because the audit log names them.")

    @OptionGroup var target: OperatorTarget

    func run() async throws {
        try target.report(try await target.store.disable(target.name), "is disabled")
    }
}

struct OperatorEnableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable", abstract: "Lets an operator sign in again, or changes the role.",
        discussion: "A new role also applies to open sessions.")

    @OptionGroup var target: OperatorTarget
    @Option(help: "The new role: viewer or operator. (default: the role stays)")
    var role: OperatorStore.Role?

    func run() async throws {
        let isDone = try await target.store.enable(target.name, role: role)
        try target.report(isDone, "is enabled" + (role.map { ", as \($0.rawValue)" } ?? ""))
    }
}

struct OperatorPasswordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "password", abstract: "Sets the password of an operator and ends their sessions.")

    @OptionGroup var target: OperatorTarget
    @OptionGroup var password: NewPassword

    func run() async throws {
        let store = try await target.store
        let isDone = try await store.setPassword(try password.hash(), of: target.name)
        try target.report(isDone, "has a new password")
    }
}

struct OperatorLinkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link", abstract: "Prints a link that signs an operator in once, within ten minutes.",
        discussion: "An operator has one link at a time: a new one replaces it.")

    @OptionGroup var target: OperatorTarget
    @Option(
        help: """
            The console's address in a browser. (STRATA_CONSOLE_URL; default: that of the running `strata dev`, or \
            http://localhost:8090)
            """)
    var url: String?

    /// The validity of a link, in seconds.
    private static let validity: Int64 = 600

    func run() async throws {
        let home = StrataHome()
        let base = try Self.base(try url ?? OperatorSettings().value("STRATA_CONSOLE_URL"), in: home)
        guard let path = try await target.store.makeLink(for: target.name, seconds: Self.validity) else {
            throw CommandFailure(
                .usage,
                """
                The operator \(target.name) does not exist, or is disabled. \(OwnCommand.name) operator list shows all.
                """)
        }
        Console.standard.say(base + path)
    }

    /// Returns the console's address, without a trailing slash.
    private static func base(_ given: String?, in home: StrataHome) throws -> String {
        guard let given else {
            let running = HomeLock.isHeld(home) ? try? RunningState.read(home.state) : nil
            return running?.consoleURL ?? "http://localhost:\(DevSettings.defaultConsolePort)"
        }
        guard let parts = URLComponents(string: given), ["https", "http"].contains(parts.scheme ?? ""),
            parts.host?.isEmpty == false, parts.query == nil, parts.fragment == nil, parts.user == nil
        else {
            throw CommandFailure(
                .configuration,
                "The console's address (--url, STRATA_CONSOLE_URL) must look like http://localhost:8090.")
        }
        return given.hasSuffix("/") ? String(given.dropLast()) : given
    }
}
