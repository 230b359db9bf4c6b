// SPDX-License-Identifier: Apache-2.0

import Foundation
import Postgres
import StrataModel

extension AppStore {
    struct Index: Decodable, Equatable {
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
        return (row.outcome, row.index)
    }

    /// Returns the indexes of an app in the order of their paths; nil if the app does not exist.
    func indexes(of app: UUID) async throws -> [Index]? {
        let rows = try await query(ListAppIndexes(app: app))
        return rows.isEmpty ? nil : rows.compactMap(\.index)
    }

    /// Removes an index. Returns false if the app has no such index.
    func removeIndex(_ path: String, of app: UUID) async throws -> Bool {
        try await query(RemoveAppIndex(app: app, path: path)).first?.isRemoved ?? false
    }
}

struct AddAppIndex: PostgresQuery {
    let app: UUID
    let path: String
    /// The maximum number of indexes of an app.
    let most: Int64

    static let statement = Statement(
        "app_index.add",
        sql: "SELECT i.outcome, i.path, i.created_at, i.ready_at FROM metadata.add_index($1, $2, $3) i",
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app), .text(path), .int8(most)] }

    struct Row: Decodable {
        let outcome: String
        let index: AppStore.Index?
    }
}

/// The indexes of an app, in the order of their paths. No row: the app does not exist.
struct ListAppIndexes: PostgresQuery {
    let app: UUID

    static let statement = Statement(
        "app_index.list",
        sql: """
            SELECT i.path, i.created_at, i.ready_at FROM conversations.app a LEFT JOIN metadata.indexes_of($1) i ON true WHERE a.id = $1 ORDER BY i.path
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app)] }

    struct Row: Decodable {
        /// nil: the app has no index.
        let index: AppStore.Index?
    }
}

struct RemoveAppIndex: PostgresQuery {
    let app: UUID
    let path: String

    static let statement = Statement("app_index.remove", sql: "SELECT metadata.remove_index($1, $2) AS is_removed")

    var parameters: [Value] { [.uuid(app), .text(path)] }

    struct Row: Decodable {
        let isRemoved: Bool
    }
}
