// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Postgres
import StrataModel

// Statements about indexes of metadata, see Shared/Schema/Functions/metadata_indexes.sql.

/// A page of the ids of conversations that match a condition.
struct FindConversations: PostgresQuery {
    let app: AppID
    /// Whose list it is; nil: all conversations of the app.
    let user: UserID?
    let condition: MetadataCondition
    let pageSize: Int64
    /// The last one of the page before.
    let from: ConversationID?

    typealias Columns = FoundConversationsColumns

    static let statement = Statement(
        "index.find",
        sql: "SELECT r.outcome, r.ids, r.total, r.has_more FROM metadata.find_conversations($1, $2, $3, $4, $5, $6, $7, $8) r", isIdempotent: true)

    var parameters: [Value] {
        let (kind, text): (String, String?) =
            switch condition.test {
            case .equals(let text): ("equal", text)
            case .hasPrefix(let text): ("prefix", text)
            case .exists: ("exists", nil)
            }
        return [
            .uuid(app.rawValue), .text(user?.rawValue ?? ""), .text(condition.path.dotted), .text(kind), Value(text), .int8(pageSize),
            Value(from?.rawValue), .int8(Int64(MetadataCondition.counted)),
        ]
    }
}

/// Of ``FindConversations``.
struct FoundConversationsColumns: ColumnSet {
    let outcome: Column<String>
    let ids: Column<[UUID]>
    /// Null: more than are counted.
    let total: Column<Int64>
    let hasMore: Column<Bool>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        ids = try names.column("ids")
        total = try names.column("total")
        hasMore = try names.column("has_more")
    }
}

/// All key paths that an app has named.
struct ListIndexes: PostgresQuery {
    let app: AppID

    typealias Columns = IndexColumns

    static let statement = Statement("index.list", sql: "SELECT i.path, i.created_at, i.ready_at FROM metadata.indexes_of($1) i", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue)] }
}

/// Names a key path.
struct AddIndex: PostgresQuery {
    let app: AppID
    let path: MetadataPath
    /// That an app can name.
    let most: Int64

    typealias Columns = AddedIndexColumns

    static let statement = Statement(
        "index.add", sql: "SELECT i.outcome, i.path, i.created_at, i.ready_at FROM metadata.add_index($1, $2, $3) i", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(path.dotted), .int8(most)] }
}

/// Takes a key path back. The answer: whether the app had named it.
struct RemoveIndex: PostgresQuery {
    let app: AppID
    let path: MetadataPath

    typealias Columns = AnswerColumns

    static let statement = Statement("index.remove", sql: "SELECT metadata.remove_index($1, $2) AS answer")

    var parameters: [Value] { [.uuid(app.rawValue), .text(path.dotted)] }
}

/// Apps with indexes that are being built or removed.
struct AppsWithUnfinishedIndexes: PostgresQuery {
    typealias Columns = AppsColumns

    static let statement = Statement("index.build_apps", sql: "SELECT metadata.apps_with_unfinished_indexes() AS apps", isIdempotent: true)

    var parameters: [Value] { [] }
}

/// Goes on with an index of an app that is being built or removed.
struct BuildIndexes: PostgresQuery {
    let app: AppID
    /// Conversations or entries to look at.
    let limit: Int64

    typealias Columns = IndexBuildColumns

    static let statement = Statement("index.build", sql: "SELECT metadata.build_indexes($1, $2) AS looked_at", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .int8(limit)] }
}

/// A key path that an app has named.
struct IndexColumns: ColumnSet {
    private let path: Column<String>
    private let createdAt: Column<Postgres.Timestamp>
    private let readyAt: Column<Postgres.Timestamp>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        path = try names.column("path")
        createdAt = try names.column("created_at")
        readyAt = try names.column("ready_at")
    }

    /// Nil where all are null.
    func index(in row: Row) throws(PostgresError) -> MetadataIndex? {
        guard let path = try row[optional: path] else { return nil }
        return MetadataIndex(
            path: MetadataPath(trusted: path), createdAt: StrataModel.Timestamp(try row[createdAt]),
            readyAt: try row[optional: readyAt].map { StrataModel.Timestamp($0) })
    }
}

/// Of ``AddIndex``.
struct AddedIndexColumns: ColumnSet {
    let outcome: Column<String>
    let index: IndexColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        index = try IndexColumns(&names)
    }
}

/// Of ``BuildIndexes``.
struct IndexBuildColumns: ColumnSet {
    /// Null: no index waits. 0: one does, and nothing can be done at the moment.
    let lookedAt: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) { lookedAt = try names.column("looked_at") }
}
