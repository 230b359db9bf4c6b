// SPDX-License-Identifier: Apache-2.0

import LocalServers
import Postgres

/// The database of a system on this machine: one database with a role for each service.
enum DevDatabase {
    static let name = "strata"

    /// Creates the database and the roles unless they exist, and updates the schema.
    /// - Returns: A report of the applied changes.
    static func prepare(on server: PrivatePostgres, _ secrets: Secrets) async throws -> MigrationReport {
        if try await server.runSQL("SELECT 1 FROM pg_database WHERE datname = '\(name)'").isEmpty {
            try await server.runSQL("CREATE DATABASE \(name)")
        }
        return try await DatabaseMigration.run(
            url: server.url(database: name),
            passwords: DatabaseMigration.Passwords(
                conversations: secrets.conversations, metadata: secrets.metadata, webhooks: secrets.webhooks))
    }

    /// Returns the database URL of each service, with the service's own role.
    static func urls(on server: PrivatePostgres, _ secrets: Secrets) -> [ServiceKind: String] {
        [
            .conversations: server.url(database: name, user: "strata_conversations", password: secrets.conversations),
            .metadata: server.url(database: name, user: "strata_metadata", password: secrets.metadata),
            .webhooks: server.url(database: name, user: "strata_webhooks", password: secrets.webhooks),
        ]
    }
}
