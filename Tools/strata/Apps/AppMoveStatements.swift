// SPDX-License-Identifier: Apache-2.0

import Foundation
import Postgres

// The statements of a move. The functions of Shared/Schema/Functions/app_moves.sql document their guarantees.

/// The state of an app in one database.
struct MoveState: Decodable, Equatable {
    let hasApp: Bool
    /// nil: there is no move.
    let state: String?
    /// The other database of the move.
    let other: String?
    /// The seconds since the last change of the state.
    let seconds: Double?
    /// The time at which the app arrived from another database. nil: it has always been here, or is not here.
    let arrivedAt: PostgresTimestamp?

    /// True if the database serves the app, and no move of it is noted there.
    var livesHere: Bool { hasApp && state == nil }
}

/// The facts about the source that the target needs.
struct MoveFacts: Decodable, Equatable {
    /// The epoch that the app's clients know.
    let epoch: String
    /// The beginning of the log, in PostgreSQL's notation.
    let logBegin: String
    let clock: PostgresTimestamp
    /// The last numbers of deliveries and of events.
    let delivery: Int64
    let number: Int64
}

/// A table with rows of apps, or a partition of it.
struct MoveTable: Decodable, Equatable {
    let relation: String
    let root: String
    let key: String
}

/// Locks the move of an app for the session.
struct LockMove: PostgresQuery {
    let app: UUID

    static let statement = Statement(
        "app_move.lock", sql: "SELECT pg_try_advisory_lock(conversations.move_lock($1) # 1) AS is_locked")

    var parameters: [Value] { [.uuid(app)] }

    struct Row: Decodable {
        let isLocked: Bool
    }
}

struct ReadMoveState: PostgresQuery {
    let app: UUID

    typealias Row = MoveState

    static let statement = Statement(
        "app_move.state",
        sql: """
            SELECT m.has_app, m.state, m.other, m.seconds, m.arrived_at FROM conversations.move_state($1) m
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app)] }
}

struct ReadMoveShape: PostgresQuery {
    static let statement = Statement(
        "app_move.shape", sql: "SELECT conversations.move_shape() AS shape", isIdempotent: true)

    var parameters: [Value] { [] }

    struct Row: Decodable {
        let shape: String?
    }
}

struct ReadMoveFacts: PostgresQuery {
    let app: UUID

    typealias Row = MoveFacts

    static let statement = Statement(
        "app_move.facts",
        sql: """
            SELECT m.epoch, m.log_begin::text, m.clock, m.delivery, m.number FROM conversations.move_facts($1) m
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app)] }
}

struct ListMoveTables: PostgresQuery {
    typealias Row = MoveTable

    static let statement = Statement(
        "app_move.tables",
        sql: "SELECT t.relation::text, t.root::text, t.key FROM conversations.tables_of_moves() t", isIdempotent: true)

    var parameters: [Value] { [] }
}

struct BeginTracking: PostgresQuery {
    let app: UUID
    let table: String
    let key: String

    static let statement = Statement(
        "app_move.begin_tracking", sql: "SELECT conversations.begin_tracking($1, $2::text::regclass, $3)",
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app), .text(table), .text(key)] }
}

struct EndTracking: PostgresQuery {
    let app: UUID
    let table: String

    static let statement = Statement(
        "app_move.end_tracking", sql: "SELECT conversations.end_tracking($1, $2::text::regclass)", isIdempotent: true)

    var parameters: [Value] { [.uuid(app), .text(table)] }
}

struct BeginMove: PostgresQuery {
    let app: UUID
    let target: String

    static let statement = Statement(
        "app_move.begin", sql: "SELECT conversations.begin_move($1, $2) AS is_begun", isIdempotent: true)

    var parameters: [Value] { [.uuid(app), .text(target)] }

    struct Row: Decodable {
        let isBegun: Bool
    }
}

struct ExpectApp: PostgresQuery {
    let app: UUID
    let source: String
    let epoch: String

    static let statement = Statement(
        "app_move.expect", sql: "SELECT conversations.expect_app($1, $2, $3) AS is_expected", isIdempotent: true)

    var parameters: [Value] { [.uuid(app), .text(source), .text(epoch)] }

    struct Row: Decodable {
        let isExpected: Bool
    }
}

struct NoteMoveParts: PostgresQuery {
    let app: UUID

    static let statement = Statement(
        "app_move.note_parts", sql: "SELECT conversations.note_move_parts($1)", isIdempotent: true)

    var parameters: [Value] { [.uuid(app)] }
}

struct ListMoveParts: PostgresQuery {
    let app: UUID

    static let statement = Statement(
        "app_move.parts", sql: "SELECT p.relation FROM conversations.move_parts($1) p", isIdempotent: true)

    var parameters: [Value] { [.uuid(app)] }

    struct Row: Decodable {
        let relation: String
    }
}

struct ExportPart: PostgresQuery {
    let app: UUID
    let relation: String
    let limit: Int64
    let bytes: Int64

    static let statement = Statement(
        "app_move.export_part",
        sql: """
            SELECT p.root, p.rows, p.next_row, p.file, jsonb_array_length(p.rows::jsonb)::int8 AS count
            FROM conversations.export_part($1, $2, $3::int8, $4::int8) p
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app), .text(relation), .int8(limit), .int8(bytes)] }

    struct Row: Decodable {
        /// nil: the part is complete, or its partition was dropped.
        let root: String?
        /// JSON array.
        let rows: String
        /// nil: the part is complete.
        let nextRow: String?
        let file: Int64
        let count: Int64
    }
}

struct MovePartCopied: PostgresQuery {
    let app: UUID
    let relation: String
    let next: String?
    let file: Int64

    static let statement = Statement(
        "app_move.part_copied", sql: "SELECT conversations.move_part_copied($1, $2, $3, $4::int8)", isIdempotent: true)

    var parameters: [Value] { [.uuid(app), .text(relation), Value(next), .int8(file)] }
}

struct ExportChanges: PostgresQuery {
    let app: UUID
    let limit: Int64

    static let statement = Statement(
        "app_move.export_changes",
        sql: "SELECT c.root, c.numbers, c.keys, c.rows FROM conversations.export_changes($1, $2::int8) c",
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app), .int8(limit)] }

    struct Row: Decodable {
        let root: String
        let numbers: [Int64]
        /// JSON array.
        let keys: String
        /// JSON array.
        let rows: String
    }
}

struct ChangesCopied: PostgresQuery {
    let app: UUID
    let numbers: [Int64]
    /// The maximum number to count.
    let most: Int64

    static let statement = Statement(
        "app_move.changes_copied", sql: "SELECT conversations.changes_copied($1, $2::int8[], $3::int8) AS left",
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app), .int8Array(numbers), .int8(most)] }

    struct Row: Decodable {
        let left: Int64
    }
}

struct ImportRows: PostgresQuery {
    let app: UUID
    let root: String
    /// The keys of the rows to replace. nil: existing rows stay.
    let keys: String?
    let rows: String

    static let statement = Statement(
        "app_move.import", sql: "SELECT conversations.import_rows($1, $2, $3, $4)", isIdempotent: true)

    var parameters: [Value] { [.uuid(app), .text(root), Value(keys), .text(rows)] }
}

struct RefuseApp: PostgresQuery {
    let app: UUID

    static let statement = Statement(
        "app_move.refuse", sql: "SELECT conversations.refuse_app($1) AS is_refused", isIdempotent: true)

    var parameters: [Value] { [.uuid(app)] }

    struct Row: Decodable {
        let isRefused: Bool
    }
}

struct LeaveApp: PostgresQuery {
    let app: UUID
    let target: String

    static let statement = Statement(
        "app_move.leave", sql: "SELECT conversations.leave_app($1, $2) AS is_left", isIdempotent: true)

    var parameters: [Value] { [.uuid(app), .text(target)] }

    struct Row: Decodable {
        let isLeft: Bool
    }
}

struct SetMoveState: PostgresQuery {
    let app: UUID
    let state: String

    static let statement = Statement(
        "app_move.set_state", sql: "SELECT conversations.set_move_state($1, $2)", isIdempotent: true)

    var parameters: [Value] { [.uuid(app), .text(state)] }
}

struct ExportNonces: PostgresQuery {
    let after: [UInt8]
    let limit: Int64

    static let statement = Statement(
        "app_move.nonces", sql: "SELECT n.rows, n.last FROM conversations.export_nonces($1, $2::int8) n",
        isIdempotent: true)

    var parameters: [Value] { [.bytes(after), .int8(limit)] }

    struct Row: Decodable {
        /// JSON array.
        let rows: String
        /// nil: there are no more.
        let last: [UInt8]?
    }
}

struct ReceiveApp: PostgresQuery {
    let app: UUID
    let facts: MoveFacts

    static let statement = Statement(
        "app_move.receive",
        sql: """
            SELECT conversations.receive_app($1, $2, $3::text::timestamptz, $4::int8, $5::int8) AS is_received
            """, isIdempotent: true)

    var parameters: [Value] {
        [.uuid(app), .text(facts.epoch), .text(facts.logBegin), .int8(facts.delivery), .int8(facts.number)]
    }

    struct Row: Decodable {
        let isReceived: Bool
    }
}

struct CleanMove: PostgresQuery {
    let app: UUID
    let relation: String
    let key: String
    let block: Int64

    static let statement = Statement(
        "app_move.clean",
        sql: "SELECT c.removed, c.next_block FROM conversations.clean_move($1, $2, $3, $4::int8) c", isIdempotent: true)

    var parameters: [Value] { [.uuid(app), .text(relation), .text(key), .int8(block)] }

    struct Row: Decodable {
        let removed: Int64
        /// nil: the table has no more.
        let nextBlock: Int64?
    }
}

struct EndMove: PostgresQuery {
    let app: UUID

    static let statement = Statement("app_move.end", sql: "SELECT conversations.end_move($1)", isIdempotent: true)

    var parameters: [Value] { [.uuid(app)] }
}
