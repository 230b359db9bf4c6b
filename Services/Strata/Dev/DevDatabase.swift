// SPDX-License-Identifier: Apache-2.0

import LocalServers
import Postgres

/// The database of a system on this machine: one database, a role for each service.
enum DevDatabase {
    static let name = "strata"

    /// Makes the database and the roles if there are none, and brings the schema up to date.
    /// - Returns: what was done.
    static func prepare(on server: PrivatePostgres, _ secrets: Secrets) async throws -> MigrationReport {
        if try await server.runSQL("SELECT 1 FROM pg_database WHERE datname = '\(name)'").isEmpty {
            try await server.runSQL("CREATE DATABASE \(name)")
        }
        return try await DatabaseMigration.run(
            url: server.url(database: name),
            passwords: DatabaseMigration.Passwords(conversations: secrets.conversations, metadata: secrets.metadata, webhooks: secrets.webhooks))
    }

    /// Each service's URL, with its own role.
    static func urls(on server: PrivatePostgres, _ secrets: Secrets) -> [ServiceKind: String] {
        [
            .conversations: server.url(database: name, user: "strata_conversations", password: secrets.conversations),
            .metadata: server.url(database: name, user: "strata_metadata", password: secrets.metadata),
            .webhooks: server.url(database: name, user: "strata_webhooks", password: secrets.webhooks),
        ]
    }
}
