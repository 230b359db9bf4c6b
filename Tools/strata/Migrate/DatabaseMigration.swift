// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import DatabaseKit
import Foundation
import Logging
import Postgres
import Schema

/// A migration of a database: the schema, which creates the services' roles, and then the roles' passwords.
enum DatabaseMigration {
    /// Reads the passwords of the services' roles: `STRATA_CONVERSATIONS_PASSWORD`, `STRATA_METADATA_PASSWORD`,
    /// `STRATA_WEBHOOKS_PASSWORD` and `STRATA_CONSOLE_PASSWORD`. Empty if none is set. The last two are optional,
    /// because deployments of earlier releases do not set them.
    /// - Throws: ``CommandFailure`` if a password is set without both of the first two.
    static func passwords(_ settings: OperatorSettings) throws -> [Schema.ServiceRole: String] {
        var passwords: [Schema.ServiceRole: String] = [:]
        for role in Schema.ServiceRole.allCases {
            passwords[role] = try settings.value("STRATA_\(role.rawValue.uppercased())_PASSWORD")
        }
        guard passwords.isEmpty || passwords[.conversations] != nil && passwords[.metadata] != nil else {
            throw CommandFailure(
                .configuration,
                "STRATA_CONVERSATIONS_PASSWORD and STRATA_METADATA_PASSWORD go together, and neither may be empty.")
        }
        return passwords
    }

    /// Migrates a database.
    /// - Parameters:
    ///   - url: The URL of the database, as its owner.
    ///   - passwords: The passwords of the services' roles. Others are not changed.
    /// - Returns: A report of the applied changes.
    static func run(url: String, passwords: [Schema.ServiceRole: String]) async throws -> MigrationReport {
        let migrator = Migrator(configuration: try PostgresConfiguration(url: url))
        // The command itself prints the report.
        let quiet = Logger(label: "strata.migrate") { _ in SwiftLogNoOpLogHandler() }
        let report = try await migrator.migrate(Schema.migrations, functions: Schema.functions, logger: quiet)
        if !passwords.isEmpty { try await migrator.execute(script: Schema.roleScript(passwords: passwords)) }
        return report
    }
}

extension MigrationReport {
    /// True if no change was necessary.
    var isEmpty: Bool { steps.isEmpty && !replacedFunctions }

    var summary: String {
        let applied = steps.isEmpty ? [] : ["\(steps.count) step\(steps.count == 1 ? "" : "s")"]
        return (applied + (replacedFunctions ? ["the functions"] : [])).joined(separator: " and ")
    }
}

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Brings the schema of the databases up to date.",
        discussion: """
            Applies what is missing, each step in a transaction, and replaces the functions if they have changed, \
            under a lock, so that it may be run from several places at once. Functions of a newer release stay as \
            they are. Where STRATA_CONVERSATIONS_PASSWORD, STRATA_METADATA_PASSWORD, STRATA_WEBHOOKS_PASSWORD and \
            STRATA_CONSOLE_PASSWORD are set, or files with them are named by …_FILE, the services' roles get these \
            passwords. With several databases, each gets its name, and a number by which its ids differ from those of \
            the others.
            """)

    @OptionGroup var database: DatabaseOption

    func run() async throws {
        let passwords = try DatabaseMigration.passwords(OperatorSettings())
        let list = try await database.list(in: StrataHome())
        let isNamed = list.databases.count > 1
        for (name, url) in list.databases {
            let report = try await DatabaseMigration.run(url: url, passwords: passwords)
            let title = isNamed ? "\(name): " : ""
            Console.standard.say(
                report.isEmpty
                    ? "\(title)Nothing to do: the database is up to date." : "\(title)Applied \(report.summary).")
        }
        if isNamed { try await DatabaseNaming(AppStores(list)).run() }
    }
}
