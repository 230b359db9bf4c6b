// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Postgres

/// The apps in a database.
public struct AppStore: Sendable {
    /// An app, as it is listed.
    struct App: Equatable, Sendable {
        let id: UUID
        let providerID: UUID
        let keyIDs: [UUID]
        let name: String
        let isSuspended: Bool
    }

    private let url: String

    /// - Parameter url: libpq URL of the database, as its owner.
    public init(url: String) {
        self.url = url
    }

    private static let insertApp = Statement(
        "app.insert",
        sql: """
            WITH app AS (INSERT INTO conversations.app (id, name, provider_id) VALUES ($1, $2, $3) RETURNING id),
                 key AS (INSERT INTO conversations.app_key (id, app_id, public_key) SELECT $4, id, $5 FROM app)
            INSERT INTO conversations.server_token (digest, app_id) SELECT $6, id FROM app
            """)

    private static let listApps = Statement(
        "app.list",
        sql: """
            SELECT a.id, a.provider_id, coalesce(array_agg(k.id ORDER BY k.created_at) FILTER (WHERE k.id IS NOT NULL), '{}'), a.name, a.suspended
            FROM conversations.app a LEFT JOIN conversations.app_key k ON k.app_id = a.id
            GROUP BY a.id ORDER BY a.created_at, a.id
            """, isIdempotent: true)

    private static let suspendApp = Statement(
        "app.suspend", sql: "UPDATE conversations.app SET suspended = $2 WHERE id = $1 RETURNING name", isIdempotent: true)

    /// Suspends an app, or ends that. Its sessions stay, and are good for something again when it is resumed.
    /// - Returns: its name; nil if there is no such app.
    func setSuspended(_ isSuspended: Bool, _ app: UUID) async throws -> String? {
        try await query(Self.suspendApp, [.uuid(app), .bool(isSuspended)]).map { (row: Row) throws -> String in try row.get(0) }.first
    }

    /// Registers an app with its key and the digest of its Server API token, all or nothing.
    public func insert(_ app: NewApp) async throws {
        _ = try await query(
            Self.insertApp,
            [
                .uuid(app.id), .text(app.name), .uuid(app.providerID), .uuid(app.keyID), .text(app.publicKey), .bytes(app.serverTokenDigest),
            ])
    }

    /// All apps, the oldest first.
    func list() async throws -> [App] {
        try await query(Self.listApps)
            .map { row in
                App(id: try row.get(0), providerID: try row.get(1), keyIDs: try row.get(2), name: try row.get(3), isSuspended: try row.get(4))
            }
    }

    /// Runs one statement over a connection that is made for it.
    private func query(_ statement: Statement, _ parameters: [Value] = []) async throws -> Rows {
        var configuration = try PostgresConfiguration(url: url)
        configuration.connections = 1
        configuration.applicationName = "strata-command"
        let quiet = Logger(label: "strata.command") { _ in SwiftLogNoOpLogHandler() }
        let pool = PostgresPool(configuration: configuration, mode: .exclusive, logger: quiet)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await pool.run() }
            defer { group.cancelAll() }
            return try await firstAnswer(pool, statement, parameters)
        }
    }

    /// A pool refuses at once while it has no connection. A command has just started it, and waits for the first one.
    private func firstAnswer(_ pool: PostgresPool, _ statement: Statement, _ parameters: [Value]) async throws -> Rows {
        let deadline = ContinuousClock.now.advanced(by: .seconds(10))
        while true {
            let answer = await attempt(pool, statement, parameters, deadline)
            if case .failure(let error) = answer, error.code == .connectionUnavailable, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(50))
            } else {
                return try answer.get()
            }
        }
    }

    private func attempt(
        _ pool: PostgresPool, _ statement: Statement, _ parameters: [Value], _ deadline: ContinuousClock.Instant
    ) async -> Result<Rows, PostgresError> {
        do throws(PostgresError) {
            return .success(try await pool.query(statement, parameters, deadline: deadline))
        } catch {
            return .failure(error)
        }
    }
}
