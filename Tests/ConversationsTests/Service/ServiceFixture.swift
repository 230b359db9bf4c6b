// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import Logging
import NIOCore
import Postgres
import Schema
import ServiceKit
import StrataModel
import Synchronization
import TestSupport

@testable import Conversations

/// A migrated database, the service's pools with the service's role, and a record of publications.
struct ServiceFixture {
    let url: String
    let database: Database
    let published: Recorder
    let publisher: Publisher
    let directory: IdentityDirectory

    final class Recorder: Sendable {
        private let state = Mutex<[(channel: String, payload: ByteBuffer)]>([])

        func record(_ channel: String, _ payload: ByteBuffer) { state.withLock { $0.append((channel, payload)) } }
        var all: [(channel: String, payload: ByteBuffer)] { state.withLock { $0 } }
        func notices() throws -> [UserNotice] {
            try all.filter { $0.channel.hasPrefix("u:") }.map { try UserNotice(decoding: $0.payload) }
        }
        func typing() throws -> [TypingSignal] {
            try all.filter { $0.channel.hasPrefix("c:") }
                .compactMap {
                    if case .typing(let signal, _) = try ConversationPublication(decoding: $0.payload) {
                        signal
                    } else {
                        nil
                    }
                }
        }
        func changes() throws -> [Change] {
            try all.filter { $0.channel.hasPrefix("c:") }
                .compactMap {
                    if case .change(let change) = try ConversationPublication(decoding: $0.payload) {
                        change
                    } else {
                        nil
                    }
                }
        }
    }

    static func migratedDatabase() async throws -> String {
        let url = try await TestServers.postgres()
        try await migrate(url)
        return url
    }

    static func migrate(_ url: String) async throws {
        _ = try await Migrator(configuration: PostgresConfiguration(url: url))
            .migrate(Schema.migrations, functions: Schema.functions, logger: quietLogger)
    }

    static var quietLogger: Logger {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return logger
    }

    @discardableResult
    static func run<Result: Sendable>(_ body: (ServiceFixture) async throws -> Result) async throws -> Result {
        let url = try await migratedDatabase()
        var configuration = try PostgresConfiguration(url: url)
        configuration.role = "strata_conversations"
        configuration.connections = 3
        let database = Database(
            hot: PostgresPool(configuration: configuration, mode: .grouping, logger: quietLogger),
            exclusive: PostgresPool(configuration: configuration, mode: .exclusive, logger: quietLogger),
            large: PostgresPool(configuration: configuration, mode: .exclusive, logger: quietLogger))
        let recorder = Recorder()
        let publisher = Publisher(logger: quietLogger) { channel, payload in recorder.record(channel, payload) }
        let fixture = ServiceFixture(
            url: url, database: database, published: recorder, publisher: publisher,
            directory: IdentityDirectory(database: database))
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await database.hot.run() }
            group.addTask { try await database.exclusive.run() }
            group.addTask { try await database.large.run() }
            defer { group.cancelAll() }
            return try await body(fixture)
        }
    }

    /// Executes SQL as the superuser.
    func execute(_ sql: String) async throws {
        try await Migrator(configuration: PostgresConfiguration(url: url)).execute(script: sql)
    }

    /// Returns a single number, queried with the service's role.
    func number(_ sql: String) async throws -> Int64 {
        let rows = try await database.exclusive.query(
            Statement("test.\(sql.hashValue)", sql: sql, isIdempotent: true), with: [], deadline: .now + .seconds(10))
        guard let row = rows.first else { throw CancellationError() }
        return try row.get(0)
    }
}

extension ContinuousClock.Instant {
    /// A deadline that is long enough for any test.
    static var soon: ContinuousClock.Instant { .now + .seconds(20) }
}
