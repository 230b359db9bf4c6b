// SPDX-License-Identifier: Apache-2.0

import Contracts
import Foundation
import Logging
import NIOCore
import NIOPosix
import Postgres
import RPC
import Redis
import Schema
import ServiceLifecycle
import StrataModel
import TestSupport

@testable import Metadata

/// A database with the complete schema, shared by the tests of this target. Each test uses its own conversations.
enum TestDatabase {
    private static let migrated = Task {
        let url = try await TestServers.postgres()
        try await migrate(url)
        return url
    }

    /// The URL for the superuser.
    static var url: String { get async throws { try await migrated.value } }

    static func migrate(_ url: String) async throws {
        let report = try await Migrator(configuration: PostgresConfiguration(url: url))
            .migrate(Schema.migrations, functions: Schema.functions, logger: quiet)
        guard !report.steps.isEmpty else { throw CancellationError() }
    }

    /// Returns a URL that connects with the service's role, which has no other rights than those granted.
    static func asService(_ url: String) -> String { "\(url)?options=-c%20role%3Dstrata_metadata" }

    static var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}

/// A store on the shared database, with helpers to prepare and inspect it.
struct MetadataFixture: Sendable {
    let store: MetadataStore
    let url: String
    let admin: PostgresPool
    let app = AppID.random()
    let actor = UserID(trusted: "ana")

    static var soon: ContinuousClock.Instant { .now + .seconds(20) }

    static func run<Value: Sendable>(
        limits: MetadataLimits = MetadataLimits(), _ body: @Sendable (MetadataFixture) async throws -> Value
    ) async throws -> Value {
        let url = try await TestDatabase.url
        func pool(_ url: String, _ mode: PostgresPool.Mode, _ connections: Int) throws -> PostgresPool {
            var configuration = try PostgresConfiguration(url: url)
            configuration.connections = connections
            // Long timeouts, for slow machines. The tests themselves wait for sessions that wait for locks.
            (configuration.lockTimeout, configuration.statementTimeout) = (.seconds(60), .seconds(60))
            return PostgresPool(configuration: configuration, mode: mode, logger: TestDatabase.quiet)
        }
        let role = TestDatabase.asService(url)
        let store = MetadataStore(
            shared: try pool(role, .grouping, 3), exclusive: try pool(role, .exclusive, 1), limits: limits)
        let fixture = MetadataFixture(store: store, url: url, admin: try pool(url, .exclusive, 2))
        return try await running([store.shared, store.exclusive, fixture.admin]) { try await body(fixture) }
    }

    func conversation(
        _ leaves: [(String, String)] = [], participants: [String] = ["ana"]
    ) async throws -> ConversationID {
        let id = ConversationID.random()
        try await sql(
            """
            INSERT INTO conversations.conversation (id, app_id, created_at, created_by, is_distinct, position, last_change_at)
            VALUES ('\(id)', '\(app)', now(), 'ana', false, 1, now())
            """)
        for user in participants {
            try await sql(
                """
                INSERT INTO conversations.participant
                    (conversation_id, user_id, app_id, first_joined, joined, uncounted, hidden_count)
                VALUES ('\(id)', '\(user)', '\(app)', 1, 1, 0, 0)
                """)
        }
        if !leaves.isEmpty {
            _ = try await admin.query(
                Statement("test.create_tree", sql: "SELECT metadata.create_tree($1::uuid, $2::text[], $3::text[], 1)"),
                with: [.uuid(id.rawValue), .textArray(leaves.map(\.0)), .textArray(leaves.map(\.1))],
                deadline: Self.soon)
        }
        return id
    }

    @discardableResult
    func sql(_ text: String) async throws -> Rows {
        try await admin.query(Statement("test.\(UUID())", sql: text), deadline: Self.soon)
    }

    /// Returns the recorded size of the tree in bytes and leaves, followed by its actual size. Empty: no size is
    /// recorded.
    func sizes(_ id: ConversationID) async throws -> [[Int64]] {
        try await sql(
            """
            SELECT t.bytes, t.leaves, coalesce(sum(octet_length(l.path) + octet_length(l.value)), 0)::int8, count(l.path)
            FROM metadata.tree t LEFT JOIN metadata.leaf l USING (conversation_id) WHERE t.conversation_id = '\(id)' GROUP BY 1, 2
            """
        )
        .map { row in try (0..<4).map { try row.get($0, as: Int64.self) } }
    }

    func number(_ text: String) async throws -> Int64 { try await sql(text)[0].get(0, as: Int64.self) }

    @discardableResult
    func patch(
        _ id: ConversationID, _ operations: [MetadataOperation], by actor: String = "ana", app: AppID? = nil
    ) async throws -> Change? {
        try await store.commit(
            MetadataPatch(
                app: app ?? self.app, conversation: id, actor: UserID(trusted: actor), operations: operations,
                origin: .init(connection: .max, request: 7)),
            deadline: Self.soon
        )
        .change
    }

    /// Reads a tree as the conversations service does.
    /// - Parameter formerUser: a user who has left, whose last visible tree is read; nil for the present tree.
    func tree(_ id: ConversationID, formerUser: String? = nil) async throws -> StoredTree {
        let row =
            try await
            admin.query(
                Statement(
                    "test.tree",
                    sql: """
                        SELECT c.position, t.paths, t.vals
                        FROM (SELECT $1::uuid AS id) i
                        LEFT JOIN conversations.conversation c USING (id)
                        CROSS JOIN LATERAL metadata.tree_within(metadata.largest_tree(), i.id, $2::text, c.position) t
                        """),
                with: [.uuid(id.rawValue), Value(formerUser)], deadline: Self.soon)[0]
        return StoredTree(
            leaves: zip(try row.get(1, as: [String].self), try row.get(2, as: [String].self))
                .map { MetadataLeaf(path: MetadataPath(trusted: $0), value: $1) },
            position: Position(try row.get(0, as: Int64.self)))
    }
}

/// A tree with the position of its conversation.
struct StoredTree: Sendable {
    let leaves: [MetadataLeaf]
    let position: Position
}

func running<Value: Sendable>(
    _ services: [any Service], _ body: @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for service in services { group.addTask { try await service.run() } }
        defer { group.cancelAll() }
        return try await body()
    }
}

func set(_ path: String, _ value: String) -> MetadataOperation {
    .set(MetadataPath(trusted: path), leaves: [MetadataLeaf(path: MetadataPath(trusted: path), value: value)])
}

func set(_ path: String, _ leaves: [(String, String)]) -> MetadataOperation {
    .set(
        MetadataPath(trusted: path), leaves: leaves.map { MetadataLeaf(path: MetadataPath(trusted: $0.0), value: $0.1) }
    )
}

func delete(_ path: String) -> MetadataOperation { .delete(MetadataPath(trusted: path)) }

extension Change {
    /// The effects of a metadata change as text: `path=value` or `-path`.
    var effectDescriptions: [String] {
        guard case .metadataChanged(let effects) = content else { return ["?"] }
        return effects.map { effect in effect.value.map { "\(effect.path)=\($0)" } ?? "-\(effect.path)" }
    }

    var effects: [MetadataEffect] {
        if case .metadataChanged(let effects) = content { effects } else { [] }
    }
}
