// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Postgres
import TestSupport
import Testing

enum TestDatabase {
    private static let shared = Task<String, any Error> { try await TestServers.postgres() }

    static func url() async throws -> String { try await shared.value }

    static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    static func configuration(url: String? = nil) async throws -> PostgresConfiguration {
        var address = url
        if address == nil { address = try await self.url() }
        var configuration = try PostgresConfiguration(url: address ?? "")
        configuration.connections = 2
        configuration.lockTimeout = .seconds(30)
        configuration.statementTimeout = .seconds(30)
        configuration.reconnectMaximum = .milliseconds(100)
        return configuration
    }

    /// Runs `body` with the name of a separate schema.
    static func withSchema<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        let schema = "t_" + UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()
        let migrator = Migrator(configuration: try await configuration())
        try await migrator.execute(script: "CREATE SCHEMA \(schema)")
        do {
            let result = try await body(schema)
            try await migrator.execute(script: "DROP SCHEMA \(schema) CASCADE")
            return result
        } catch {
            try? await migrator.execute(script: "DROP SCHEMA \(schema) CASCADE")
            throw error
        }
    }
}

/// Runs `body` with a pool whose search path is a separate schema.
func withPool<Result>(
    _ mode: PostgresPool.Mode = .grouping, url: String? = nil, setUp script: String? = nil,
    configure: (inout PostgresConfiguration) -> Void = { _ in }, _ body: (PostgresPool) async throws -> Result
) async throws -> Result {
    try await TestDatabase.withSchema { schema in
        var configuration = try await TestDatabase.configuration(url: url)
        configuration.searchPath = [schema]
        if let script {
            var direct = try await TestDatabase.configuration()
            direct.searchPath = [schema]
            try await Migrator(configuration: direct).execute(script: script)
        }
        configure(&configuration)
        return try await running(
            PostgresPool(configuration: configuration, mode: mode, logger: TestDatabase.logger), body)
    }
}

func running<Result>(_ pool: PostgresPool, _ body: (PostgresPool) async throws -> Result) async throws -> Result {
    let run = Task { try await pool.run() }
    do {
        let result = try await body(pool)
        run.cancel()
        try await run.value
        return result
    } catch {
        run.cancel()
        _ = await run.result
        throw error
    }
}

extension PostgresPool {
    /// Runs SQL under a name derived from it, with a deadline that only a hanging test reaches.
    @discardableResult
    func sql(
        _ sql: String, _ parameters: [Value] = [], idempotent: Bool = false, lockKey: UInt64? = nil,
        within time: Duration = .seconds(30)
    ) async throws(PostgresError) -> Rows {
        try await query(
            Statement(sql, sql: sql, isIdempotent: idempotent), with: parameters, lockKey: lockKey,
            deadline: .now.advanced(by: time))
    }

    /// Returns the error of a statement that should fail.
    func error(
        _ sql: String, _ parameters: [Value] = [], idempotent: Bool = false, within time: Duration = .seconds(30)
    ) async -> PostgresError? {
        do throws(PostgresError) {
            try await self.sql(sql, parameters, idempotent: idempotent, within: time)
            return nil
        } catch {
            return error
        }
    }

    func value<Decoded: PostgresDecodable>(
        _ sql: String, _ parameters: [Value] = [], as: Decoded.Type = Decoded.self
    ) async throws -> Decoded {
        let rows = try await self.sql(sql, parameters, idempotent: true)
        guard let row = rows.first else { throw PostgresError(code: .decoding, reason: "no row") }
        return try row.get(0)
    }
}

func failure<Result>(_ body: () async throws(PostgresError) -> Result) async -> PostgresError? {
    do throws(PostgresError) {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}
