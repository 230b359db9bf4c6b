// SPDX-License-Identifier: Apache-2.0

import Foundation
import Postgres
import StrataModel

extension AppStore {
    struct Index: Equatable, Sendable {
        let path: String
        let createdAt: Date
        /// The time at which the index was complete. nil: it is being built.
        let readyAt: Date?
    }

    /// Adds an index to an app.
    /// - Returns: The outcome `created`, `found`, `too_many`, `removing` or `no_app`, and the index, if there is one.
    func addIndex(_ path: String, to app: UUID) async throws -> (outcome: String, index: Index?) {
        let rows = try await query(AddAppIndex(app: app, path: path, most: Int64(MetadataIndex.maximumPerApp)))
        guard let row = rows.first else { return ("no_app", nil) }
        let columns = try rows.columns(of: AddAppIndex.self)
        return (try row[columns.outcome], try columns.index.index(in: row))
    }

    /// Returns the indexes of an app in the order of their paths; nil if the app does not exist.
    func indexes(of app: UUID) async throws -> [Index]? {
        let rows = try await query(ListAppIndexes(app: app))
        guard !rows.isEmpty else { return nil }
        let columns = try rows.columns(of: ListAppIndexes.self)
        return try rows.compactMap { try columns.index(in: $0) }
    }

    /// Removes an index. Returns false if the app has no such index.
    func removeIndex(_ path: String, of app: UUID) async throws -> Bool {
        let rows = try await query(RemoveAppIndex(app: app, path: path))
        guard let row = rows.first else { return false }
        return try row[rows.columns(of: RemoveAppIndex.self).isRemoved]
    }
}

struct AddAppIndex: PostgresQuery {
    let app: UUID
    let path: String
    /// The maximum number of indexes of an app.
    let most: Int64

    typealias Columns = AppIndexAdditionColumns

    static let statement = Statement(
        "app_index.add",
        sql: "SELECT i.outcome, i.path, i.created_at, i.ready_at FROM metadata.add_index($1, $2, $3) i",
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app), .text(path), .int8(most)] }
}

/// The indexes of an app, in the order of their paths. No row: the app does not exist.
struct ListAppIndexes: PostgresQuery {
    let app: UUID

    typealias Columns = AppIndexColumns

    static let statement = Statement(
        "app_index.list",
        sql: """
            SELECT i.path, i.created_at, i.ready_at FROM conversations.app a LEFT JOIN metadata.indexes_of($1) i ON true WHERE a.id = $1 ORDER BY i.path
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app)] }
}

struct RemoveAppIndex: PostgresQuery {
    let app: UUID
    let path: String

    typealias Columns = AppIndexRemovalColumns

    static let statement = Statement("app_index.remove", sql: "SELECT metadata.remove_index($1, $2) AS is_removed")

    var parameters: [Value] { [.uuid(app), .text(path)] }
}

/// The result columns of ``ListAppIndexes``. All are null if the app has no index.
struct AppIndexColumns: ColumnSet {
    private let path: Column<String>
    private let createdAt: Column<PostgresTimestamp>
    private let readyAt: Column<PostgresTimestamp>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        path = try names.column("path")
        createdAt = try names.column("created_at")
        readyAt = try names.column("ready_at")
    }

    /// Returns the index of a row; nil if all columns are null.
    func index(in row: Row) throws(PostgresError) -> AppStore.Index? {
        guard let path = try row[optional: path] else { return nil }
        return AppStore.Index(
            path: path, createdAt: Self.date(try row[createdAt]),
            readyAt: try row[optional: readyAt].map { Self.date($0) })
    }

    private static func date(_ time: PostgresTimestamp) -> Date {
        Date(timeIntervalSince1970: Double(time.microseconds) / 1_000_000)
    }
}

/// The result columns of ``AddAppIndex``.
struct AppIndexAdditionColumns: ColumnSet {
    let outcome: Column<String>
    let index: AppIndexColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        index = try AppIndexColumns(&names)
    }
}

/// The result columns of ``RemoveAppIndex``.
struct AppIndexRemovalColumns: ColumnSet {
    let isRemoved: Column<Bool>

    init(_ names: inout ColumnNames) throws(PostgresError) { isRemoved = try names.column("is_removed") }
}
