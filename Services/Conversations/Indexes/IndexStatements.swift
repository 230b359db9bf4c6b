// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Postgres
import StrataModel

// Statements about metadata indexes, see Shared/Schema/Functions/metadata_indexes.sql.

/// Lists one page of the ids of conversations that match a condition.
struct FindConversations: PostgresQuery {
    let app: AppID
    /// The user whose list is searched. nil: all conversations of the app.
    let user: UserID?
    let condition: MetadataCondition
    let pageSize: Int64
    /// The last conversation of the previous page. nil: the first page.
    let from: ConversationID?

    typealias Columns = FoundConversationsColumns

    static let statement = Statement(
        "index.find",
        sql:
            "SELECT r.outcome, r.ids, r.total, r.has_more FROM metadata.find_conversations($1, $2, $3, $4, $5, $6, $7, $8) r",
        isIdempotent: true)

    var parameters: [Value] {
        let (kind, text): (String, String?) =
            switch condition.test {
            case .equals(let text): ("equal", text)
            case .hasPrefix(let text): ("prefix", text)
            case .exists: ("exists", nil)
            }
        return [
            .uuid(app.rawValue), .text(user?.rawValue ?? ""), .text(condition.path.dotted), .text(kind), Value(text),
            .int8(pageSize),
            Value(from?.rawValue), .int8(Int64(MetadataCondition.countLimit)),
        ]
    }
}

/// The result columns of ``FindConversations``.
struct FoundConversationsColumns: ColumnSet {
    let outcome: Column<String>
    let ids: Column<[UUID]>
    /// The number of matching conversations. Null: more than the counting limit.
    let total: Column<Int64>
    let hasMore: Column<Bool>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        ids = try names.column("ids")
        total = try names.column("total")
        hasMore = try names.column("has_more")
    }
}

/// Lists all key paths that an app has declared.
struct ListIndexes: PostgresQuery {
    let app: AppID

    typealias Columns = IndexColumns

    static let statement = Statement(
        "index.list", sql: "SELECT i.path, i.created_at, i.ready_at FROM metadata.indexes_of($1) i", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue)] }
}

/// Declares a key path.
struct AddIndex: PostgresQuery {
    let app: AppID
    let path: MetadataPath
    /// The maximum number of key paths of an app.
    let most: Int64

    typealias Columns = AddedIndexColumns

    static let statement = Statement(
        "index.add", sql: "SELECT i.outcome, i.path, i.created_at, i.ready_at FROM metadata.add_index($1, $2, $3) i",
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(path.dotted), .int8(most)] }
}

/// Drops a key path. The answer is true if the app had declared it.
struct RemoveIndex: PostgresQuery {
    let app: AppID
    let path: MetadataPath

    typealias Columns = AnswerColumns

    static let statement = Statement("index.remove", sql: "SELECT metadata.remove_index($1, $2) AS answer")

    var parameters: [Value] { [.uuid(app.rawValue), .text(path.dotted)] }
}

/// Finds the apps with indexes that are being built or removed.
struct AppsWithUnfinishedIndexes: PostgresQuery {
    typealias Columns = AppsColumns

    static let statement = Statement(
        "index.build_apps", sql: "SELECT metadata.apps_with_unfinished_indexes() AS apps", isIdempotent: true)

    var parameters: [Value] { [] }
}

/// Continues building or removing an index of an app.
struct BuildIndexes: PostgresQuery {
    let app: AppID
    /// The maximum number of conversations or entries to process.
    let limit: Int64

    typealias Columns = IndexBuildColumns

    static let statement = Statement(
        "index.build", sql: "SELECT metadata.build_indexes($1, $2) AS looked_at", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .int8(limit)] }
}

/// The columns of a declared key path.
struct IndexColumns: ColumnSet {
    private let path: Column<String>
    private let createdAt: Column<PostgresTimestamp>
    private let readyAt: Column<PostgresTimestamp>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        path = try names.column("path")
        createdAt = try names.column("created_at")
        readyAt = try names.column("ready_at")
    }

    /// Returns the key path, or nil if the columns are null.
    func index(in row: Row) throws(PostgresError) -> MetadataIndex? {
        guard let path = try row[optional: path] else { return nil }
        return MetadataIndex(
            path: MetadataPath(trusted: path), createdAt: StrataModel.Timestamp(try row[createdAt]),
            readyAt: try row[optional: readyAt].map { StrataModel.Timestamp($0) })
    }
}

/// The result columns of ``AddIndex``.
struct AddedIndexColumns: ColumnSet {
    let outcome: Column<String>
    let index: IndexColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        index = try IndexColumns(&names)
    }
}

/// The result columns of ``BuildIndexes``.
struct IndexBuildColumns: ColumnSet {
    /// The number of processed conversations or entries. Null: no index is unfinished. 0: one is, but no work is
    /// possible at the moment.
    let lookedAt: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) { lookedAt = try names.column("looked_at") }
}
