// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
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

    static let statement = Statement(
        "index.find",
        sql: """
            SELECT r.outcome, r.ids, r.total, r.has_more
            FROM metadata.find_conversations($1, $2, $3, $4, $5, $6, $7, $8) r
            """,
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

    struct Row: Decodable {
        let outcome: String
        let ids: [UUID]
        /// The number of matching conversations. nil: more than the counting limit.
        let total: Int64?
        let hasMore: Bool?
    }
}

/// Lists all key paths that an app has declared.
struct ListIndexes: PostgresQuery {
    let app: AppID

    typealias Row = IndexRow

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

    static let statement = Statement(
        "index.add", sql: "SELECT i.outcome, i.path, i.created_at, i.ready_at FROM metadata.add_index($1, $2, $3) i",
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .text(path.dotted), .int8(most)] }

    struct Row: Decodable {
        let outcome: String
        let index: IndexRow?
    }
}

/// Drops a key path. The answer is true if the app had declared it.
struct RemoveIndex: PostgresQuery {
    let app: AppID
    let path: MetadataPath

    typealias Row = AnswerRow

    static let statement = Statement("index.remove", sql: "SELECT metadata.remove_index($1, $2) AS answer")

    var parameters: [Value] { [.uuid(app.rawValue), .text(path.dotted)] }
}

/// Finds the apps with indexes that are being built or removed.
struct AppsWithUnfinishedIndexes: PostgresQuery {
    typealias Row = AppsRow

    static let statement = Statement(
        "index.build_apps", sql: "SELECT metadata.apps_with_unfinished_indexes() AS apps", isIdempotent: true)

    var parameters: [Value] { [] }
}

/// Continues building or removing an index of an app.
struct BuildIndexes: PostgresQuery {
    let app: AppID
    /// The maximum number of conversations or entries to process.
    let limit: Int64

    static let statement = Statement(
        "index.build", sql: "SELECT metadata.build_indexes($1, $2) AS looked_at", isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .int8(limit)] }

    struct Row: Decodable {
        /// The number of processed conversations or entries. nil: no index is unfinished. 0: one is, but no work is
        /// possible at the moment.
        let lookedAt: Int64?
    }
}

/// The columns of an index.
struct IndexRow: Decodable {
    private let path: String
    private let createdAt: StrataModel.Timestamp
    private let readyAt: StrataModel.Timestamp?

    var index: MetadataIndex {
        MetadataIndex(path: MetadataPath(trusted: path), createdAt: createdAt, readyAt: readyAt)
    }
}
