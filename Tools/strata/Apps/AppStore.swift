// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Postgres

/// The apps in a database.
public struct AppStore: Sendable {
    struct App: Decodable, Equatable {
        let id: UUID
        let providerID: UUID
        let keyIDs: [UUID]
        let name: String
        let isSuspended: Bool
        /// True if the deletion of the app has begun. It may be continued.
        var isBeingDeleted = false

        enum CodingKeys: String, CodingKey {
            case id, providerID, keyIDs, name, isSuspended = "suspended", isBeingDeleted
        }
    }

    let url: String

    /// - Parameter url: The libpq URL of the database, as its owner.
    public init(url: String) {
        self.url = url
    }

    /// Suspends or resumes an app. Its sessions are kept and become valid again when the app is resumed.
    /// - Returns: The app's name; nil if the app does not exist.
    /// - Throws: ``CommandFailure`` if the app is being deleted, which cannot be undone.
    func setSuspended(_ isSuspended: Bool, for app: UUID) async throws -> String? {
        let rows = try await query(SuspendApp(app: app, isSuspended: isSuspended))
        guard let row = rows.first else { return nil }
        guard isSuspended || !row.isBeingDeleted else {
            throw CommandFailure(
                .unavailable, "\(LayerID.app.text(app)) is being deleted, and cannot be resumed.")
        }
        return row.name
    }

    /// Registers an app with its key and the digest of its Server API token.
    public func insert(_ app: NewApp) async throws {
        let rows = try await query(
            InsertApp(
                app: app.id, name: app.name, provider: app.providerID, key: app.keyID, publicKey: app.publicKey,
                serverToken: app.serverTokenID, serverTokenDigest: app.serverTokenDigest))
        guard rows.first?.outcome == "ok" else {
            throw CommandFailure(.unavailable, "An id of the new app is in use. The same command will make others.")
        }
    }

    /// Returns all apps, oldest first.
    func list() async throws -> [App] {
        try await query(ListApps())
    }

    /// Runs one statement over a new connection.
    func query<Query: PostgresQuery>(_ query: Query) async throws -> [Query.Row] {
        try await withConnection { try await $0.query(query, deadline: .now + .seconds(10)) }
    }

    /// Runs `body` with a pool of one connection.
    /// - Parameter patience: The timeout of a statement and of a lock.
    func withConnection<Answer: Sendable>(
        patience: Duration = .seconds(5), _ body: (PostgresPool) async throws -> Answer
    ) async throws -> Answer {
        var configuration = try PostgresConfiguration(url: url)
        configuration.connections = 1
        configuration.applicationName = "strata-command"
        (configuration.statementTimeout, configuration.lockTimeout) = (patience, patience)
        // Commands run rare queries that no index supports, so sequential scans are the best plan.
        configuration.readsWholeTables = true
        // A pool only reports that it has no connection yet. A connection made outside of it reports the cause at once.
        try await Migrator(configuration: configuration).execute(script: "SELECT 1")
        let quiet = Logger(label: "strata.command") { _ in SwiftLogNoOpLogHandler() }
        let pool = PostgresPool(configuration: configuration, mode: .exclusive, logger: quiet)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await pool.run() }
            defer { group.cancelAll() }
            // A new pool refuses statements until it has a connection.
            let deadline = ContinuousClock.now.advanced(by: .seconds(10))
            while await !pool.isReachable(deadline: deadline), .now < deadline {
                try await Task.sleep(for: .milliseconds(50))
            }
            return try await body(pool)
        }
    }
}

struct InsertApp: PostgresQuery {
    let app: UUID
    let name: String
    let provider: UUID
    let key: UUID
    let publicKey: String
    let serverToken: UUID
    let serverTokenDigest: [UInt8]

    typealias Row = OutcomeRow

    static let statement = Statement(
        "app.insert", sql: "SELECT conversations.create_app($1, $2, $3, $4, $5, $6, $7) AS outcome", isIdempotent: true)

    var parameters: [Value] {
        [
            .uuid(app), .text(name), .uuid(provider), .uuid(key), .text(publicKey), .uuid(serverToken),
            .bytes(serverTokenDigest),
        ]
    }
}

/// The row of a statement that returns only an outcome.
struct OutcomeRow: Decodable {
    let outcome: String
}

struct ListApps: PostgresQuery {
    typealias Row = AppStore.App

    static let statement = Statement(
        "app.list",
        sql: """
            SELECT a.id, a.provider_id,
                coalesce(array_agg(k.id ORDER BY k.created_at) FILTER (WHERE k.id IS NOT NULL), '{}') AS key_ids,
                a.name, a.suspended, a.deleting_since IS NOT NULL AS is_being_deleted
            FROM conversations.app a LEFT JOIN conversations.app_key k ON k.app_id = a.id
            WHERE NOT conversations.is_away(a.id)
            GROUP BY a.id ORDER BY a.created_at, a.id
            """, isIdempotent: true)

    var parameters: [Value] { [] }
}

struct SuspendApp: PostgresQuery {
    let app: UUID
    let isSuspended: Bool

    static let statement = Statement(
        "app.suspend", sql: "SELECT s.name, s.is_being_deleted FROM conversations.suspend_app($1, $2) s",
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app), .bool(isSuspended)] }

    struct Row: Decodable {
        let name: String
        let isBeingDeleted: Bool
    }
}
