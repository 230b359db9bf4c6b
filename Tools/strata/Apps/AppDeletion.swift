// SPDX-License-Identifier: Apache-2.0

import Foundation
import Postgres

/// The permanent deletion of an app. The app is suspended first. Then its data is deleted in small transactions, so
/// that locks are held only briefly. An interrupted deletion is continued by the next one.
struct AppDeletion: Sendable {
    /// The amount of an app's data.
    struct Extent: Codable, Equatable, Sendable, CustomStringConvertible {
        var conversations: Int64
        /// The number of all messages the app has ever had.
        var messages: Int64
        var users: Int64
        /// The number of sessions that have not ended.
        var sessions: Int64
        var files: Int64
        var fileBytes: Int64

        var description: String {
            let numbers = [
                (conversations, "conversation"), (messages, "message"), (users, "user"), (sessions, "session"),
                (files, "file"),
            ]
            let words = numbers.map { "\($0.0) \($0.1)\($0.0 == 1 ? "" : "s")" }
            return words.joined(separator: ", ") + (files == 0 ? "" : " (\(fileBytes) bytes)")
        }
    }

    struct Subject: Decodable, Equatable {
        var name: String
        var extent: Extent
    }

    let store: AppStore
    let app: UUID
    /// The time for which gateways may continue the work of the suspended app's sessions. Each gateway checks the
    /// sessions of open sockets every 25 s, and caches the answer for 5 s.
    var grace = Duration.seconds(45)

    /// The timeout of statements that read whole tables or wait for a locked conversation.
    private static let patience = Duration.seconds(600)

    /// Returns the data that a deletion would remove; nil if the app does not exist.
    func subject() async throws -> Subject? {
        try await store.withConnection(patience: Self.patience) { connection in
            try await connection.query(ReadAppExtent(app: app), deadline: .now + Self.patience).first
        }
    }

    /// Suspends the app, deletes all of its data, and finally deletes the app.
    /// - Parameter progress: Called from time to time with the number of deleted rows.
    /// - Returns: The number of deleted rows.
    /// - Throws: ``CommandFailure`` if the app is being moved to another database.
    func run(progress: (Int64) -> Void = { _ in }) async throws -> Int64 {
        try await store.withConnection(patience: Self.patience) { connection in
            let begun = try await connection.query(BeginAppDeletion(app: app), deadline: .now + .seconds(60))
            guard begun.first?.isBegun == true else {
                throw CommandFailure(
                    .temporary,
                    "The app is being moved to another database. Finish the move, or undo it: \(OwnCommand.name) app move."
                )
            }
            var rows: Int64 = 0
            while true {
                // Read the remaining grace before the pass. An empty pass is final only if no rows could be added after
                // it began.
                let remaining = try await remainingGrace(connection)
                let removed = try await pass(connection) { progress(rows + $0) }
                rows += removed
                if removed > 0 { continue }
                if remaining > .zero {
                    try await Task.sleep(for: remaining)
                } else if try await deleteEmptyApp(connection) {
                    return rows
                }
            }
        }
    }

    /// Goes through all parts once, and returns the number of deleted rows.
    private func pass(_ connection: PostgresPool, progress: (Int64) -> Void) async throws -> Int64 {
        var rows: Int64 = 0
        for part in try await connection.query(ListAppDeletionParts(), deadline: .now + .seconds(60)) {
            var block: Int64? = 0
            while let next = block {
                let answer = try await connection.query(
                    DeleteAppRows(app: app, part: part.part, block: next), deadline: .now + .seconds(60))
                guard let row = answer.first else { break }
                rows += row.removed
                block = row.nextBlock
                if row.removed > 0 { progress(rows) }
            }
        }
        return rows
    }

    /// Deletes the app, unless it still has a conversation. A pass skips locked conversations. This statement waits for
    /// their locks, and the next pass deletes them.
    private func deleteEmptyApp(_ connection: PostgresPool) async throws -> Bool {
        try await connection.query(EndAppDeletion(app: app), deadline: .now + Self.patience).first?.isDone ?? false
    }

    private func remainingGrace(_ connection: PostgresPool) async throws -> Duration {
        let rows = try await connection.query(ReadAppDeletionAge(app: app), deadline: .now + .seconds(60))
        guard let row = rows.first else { return .zero }
        return grace - .milliseconds(row.milliseconds)
    }
}

struct ReadAppExtent: PostgresQuery {
    let app: UUID

    typealias Row = AppDeletion.Subject

    static let statement = Statement(
        "app.extent",
        sql: "SELECT a.name, e.* FROM conversations.app a, conversations.app_extent(a.id) e WHERE a.id = $1",
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app)] }
}

/// Suspends the app permanently and marks it as being deleted.
struct BeginAppDeletion: PostgresQuery {
    let app: UUID

    static let statement = Statement(
        "app.deletion.begin",
        sql: "SELECT conversations.begin_app_deletion($1) AS is_begun", isIdempotent: true)

    var parameters: [Value] { [.uuid(app)] }

    struct Row: Decodable {
        let isBegun: Bool
    }
}

struct ReadAppDeletionAge: PostgresQuery {
    let app: UUID

    static let statement = Statement(
        "app.deletion.age",
        sql: """
            SELECT (extract(epoch FROM clock_timestamp() - deleting_since) * 1000)::int8 AS milliseconds
            FROM conversations.app WHERE id = $1
            """,
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app)] }

    struct Row: Decodable {
        let milliseconds: Int64
    }
}

struct ListAppDeletionParts: PostgresQuery {
    static let statement = Statement(
        "app.deletion.parts", sql: "SELECT part FROM conversations.app_deletion_parts()", isIdempotent: true)

    var parameters: [Value] { [] }

    struct Row: Decodable {
        let part: String
    }
}

/// Deletes some rows of one part.
struct DeleteAppRows: PostgresQuery {
    let app: UUID
    let part: String
    let block: Int64

    static let statement = Statement(
        "app.deletion.step", sql: "SELECT removed, next_block FROM conversations.delete_app_rows($1, $2, $3)",
        isIdempotent: true)

    var parameters: [Value] { [.uuid(app), .text(part), .int8(block)] }

    struct Row: Decodable {
        let removed: Int64
        /// The next block. nil: the part is complete.
        let nextBlock: Int64?
    }
}

/// Deletes the app with its keys and server tokens. The result is false if a conversation remains.
struct EndAppDeletion: PostgresQuery {
    let app: UUID

    static let statement = Statement(
        "app.deletion.end",
        sql: """
            WITH remaining AS (SELECT c.id FROM conversations.conversation c WHERE c.app_id = $1 LIMIT 1 FOR UPDATE),
                 gone AS (
                    DELETE FROM conversations.app a
                    WHERE a.id = $1 AND a.deleting_since IS NOT NULL AND NOT EXISTS (SELECT FROM remaining))
            SELECT NOT EXISTS (SELECT FROM remaining) AS is_done
            """, isIdempotent: true)

    var parameters: [Value] { [.uuid(app)] }

    struct Row: Decodable {
        let isDone: Bool
    }
}
