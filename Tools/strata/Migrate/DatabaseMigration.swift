// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import Logging
import Postgres
import Schema

/// A migration of a database: the schema, which creates the services' roles, and then the roles' passwords.
enum DatabaseMigration {
    /// The passwords of the services' database roles.
    struct Passwords: Equatable, Sendable {
        let conversations: String
        let metadata: String
        /// The password of the webhooks service. nil: it is not changed. Systems of releases before the webhooks
        /// service do not set it.
        let webhooks: String?

        init(conversations: String, metadata: String, webhooks: String? = nil) {
            self.conversations = conversations
            self.metadata = metadata
            self.webhooks = webhooks
        }

        /// Reads `STRATA_CONVERSATIONS_PASSWORD`, `STRATA_METADATA_PASSWORD` and `STRATA_WEBHOOKS_PASSWORD`; nil if
        /// none is set.
        /// - Throws: ``CommandFailure`` if only one of the first two is set, or if one is empty.
        init?(_ settings: OperatorSettings) throws {
            let webhooks = try settings.value("STRATA_WEBHOOKS_PASSWORD")
            switch (try settings.value("STRATA_CONVERSATIONS_PASSWORD"), try settings.value("STRATA_METADATA_PASSWORD"))
            {
            case (nil, nil) where webhooks == nil: return nil
            case (let conversations?, let metadata?):
                self.init(conversations: conversations, metadata: metadata, webhooks: webhooks)
            default:
                throw CommandFailure(
                    .configuration,
                    "STRATA_CONVERSATIONS_PASSWORD and STRATA_METADATA_PASSWORD go together, and neither may be empty.")
            }
        }
    }

    /// Migrates a database.
    /// - Parameters:
    ///   - url: The URL of the database, as its owner.
    ///   - passwords: The passwords of the services' roles. nil: they are not changed.
    /// - Returns: A report of the applied changes.
    static func run(url: String, passwords: Passwords?) async throws -> MigrationReport {
        let migrator = Migrator(configuration: try PostgresConfiguration(url: url))
        // The command itself prints the report.
        let quiet = Logger(label: "strata.migrate") { _ in SwiftLogNoOpLogHandler() }
        let report = try await migrator.migrate(Schema.migrations, functions: Schema.functions, logger: quiet)
        if let passwords {
            try await migrator.execute(
                script: Schema.roleScript(
                    conversationsPassword: passwords.conversations, metadataPassword: passwords.metadata,
                    webhooksPassword: passwords.webhooks))
        }
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
        abstract: "Brings a database's schema up to date.",
        discussion: """
            Applies what is missing, each step in a transaction, and replaces the functions if they have changed, \
            under a lock, so that it may be run from several places at once. Functions of a newer release stay as \
            they are. Where STRATA_CONVERSATIONS_PASSWORD, STRATA_METADATA_PASSWORD and STRATA_WEBHOOKS_PASSWORD are \
            set, or files with them are named by …_FILE, the services' roles get these passwords.
            """)

    @OptionGroup var database: DatabaseOption

    func run() async throws {
        let passwords = try DatabaseMigration.Passwords(OperatorSettings())
        let url = try await database.url(in: StrataHome())
        let report = try await DatabaseMigration.run(url: url, passwords: passwords)
        Console.standard.say(
            report.isEmpty ? "Nothing to do: the database is up to date." : "Applied \(report.summary).")
    }
}
