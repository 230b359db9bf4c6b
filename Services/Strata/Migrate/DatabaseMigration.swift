// SPDX-License-Identifier: Apache-2.0

import Logging
import Postgres
import Schema

/// Brings a database up to date: the schema, which makes the roles of the services, then these roles' passwords.
enum DatabaseMigration {
    /// What the services sign in to the database with.
    struct Passwords: Equatable, Sendable {
        let conversations: String
        let metadata: String
        /// Nil: the role keeps what it has. Systems of releases before the webhooks service do not set it.
        let webhooks: String?

        init(conversations: String, metadata: String, webhooks: String? = nil) {
            self.conversations = conversations
            self.metadata = metadata
            self.webhooks = webhooks
        }

        /// What `STRATA_CONVERSATIONS_PASSWORD`, `STRATA_METADATA_PASSWORD` and `STRATA_WEBHOOKS_PASSWORD` say; nil if none is set.
        /// - Throws: ``CommandFailure`` if only one of the first two is, or one is empty.
        init?(_ settings: OperatorSettings) throws {
            let webhooks = try settings.value("STRATA_WEBHOOKS_PASSWORD")
            switch (try settings.value("STRATA_CONVERSATIONS_PASSWORD"), try settings.value("STRATA_METADATA_PASSWORD")) {
            case (nil, nil) where webhooks == nil: return nil
            case (let conversations?, let metadata?):
                self.init(conversations: conversations, metadata: metadata, webhooks: webhooks)
            default:
                throw CommandFailure(
                    .configuration, "STRATA_CONVERSATIONS_PASSWORD and STRATA_METADATA_PASSWORD go together, and neither may be empty.")
            }
        }
    }

    /// - Parameters:
    ///   - url: the database, as its owner.
    ///   - passwords: what the services' roles are to have; nil leaves them as they are.
    /// - Returns: what was done.
    static func run(url: String, passwords: Passwords?) async throws -> MigrationReport {
        let migrator = Migrator(configuration: try PostgresConfiguration(url: url))
        // The command tells the operator itself what was done.
        let quiet = Logger(label: "strata.migrate") { _ in SwiftLogNoOpLogHandler() }
        let report = try await migrator.migrate(Schema.migrations, functions: Schema.functions, logger: quiet)
        if let passwords {
            try await migrator.execute(
                script: Schema.roleScript(
                    conversationsPassword: passwords.conversations, metadataPassword: passwords.metadata, webhooksPassword: passwords.webhooks))
        }
        return report
    }
}

extension MigrationReport {
    /// Whether nothing was to be done.
    var isEmpty: Bool { steps.isEmpty && !replacedFunctions }

    /// What was done, in words.
    var summary: String {
        let applied = steps.isEmpty ? [] : ["\(steps.count) step\(steps.count == 1 ? "" : "s")"]
        return (applied + (replacedFunctions ? ["the functions"] : [])).joined(separator: " and ")
    }
}
