// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Postgres
import TestSupport

@testable import StrataCommand

/// A migrated database, accessible as its owner and with the console's role.
struct OperatorDatabase: Sendable {
    let url: String
    let operators: OperatorStore
    private let owner: PostgresPool
    private let role: PostgresPool

    static func run(_ body: @Sendable (OperatorDatabase) async throws -> Void) async throws {
        let url = try await TestServers.postgres()
        _ = try await DatabaseMigration.run(url: url, passwords: [:])
        let database = OperatorDatabase(
            url: url, operators: OperatorStore(url: url), owner: try pool(url, as: nil),
            role: try pool(url, as: "strata_console"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for pool in [database.owner, database.role] { group.addTask { try await pool.run() } }
            defer { group.cancelAll() }
            try await body(database)
        }
    }

    private static func pool(_ url: String, as role: String?) throws -> PostgresPool {
        var configuration = try PostgresConfiguration(url: url)
        if let role { configuration.role = role }
        configuration.connections = 8
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return PostgresPool(configuration: configuration, mode: .exclusive, logger: quiet)
    }

    /// Executes a statement as the owner.
    func execute(_ sql: String) async throws {
        _ = try await owner.query(Statement("test.\(UUID())", sql: sql), deadline: .now + .seconds(20))
    }

    /// Executes a query with the console's role and returns the text of each row.
    @discardableResult
    func rows(_ sql: String) async throws -> [String] {
        try await role.query(
            Statement("test.\(UUID())", sql: "SELECT r::text FROM (\(sql)) r"), deadline: .now + .seconds(20)
        )
        .map { try $0.get(0, as: String.self) }
    }

    /// Executes a statement with the console's role. Returns its SQLSTATE, or nil if it succeeded.
    func error(_ sql: String) async -> String? {
        do throws(PostgresError) {
            _ = try await role.query(Statement("test.\(UUID())", sql: sql), deadline: .now + .seconds(20))
            return nil
        } catch {
            return error.sqlState ?? "\(error.code)"
        }
    }
}
