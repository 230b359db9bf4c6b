// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Postgres
import StrataModel

/// The column of a statement whose result is a Boolean.
struct AnswerColumns: ColumnSet {
    let answer: Column<Bool>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        answer = try names.column("answer")
    }
}

/// The column of a statement that finds the apps with work for a background task.
struct AppsColumns: ColumnSet {
    private let apps: Column<[UUID]>

    init(_ names: inout ColumnNames) throws(PostgresError) { apps = try names.column("apps") }

    func apps(in row: Row) throws(PostgresError) -> Set<AppID> { Set(try row[apps].map { AppID(rawValue: $0) }) }
}

/// The column of a writing function that returns only its outcome.
struct OutcomeColumns: ColumnSet {
    let outcome: Column<String>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
    }
}

/// The columns of a writing function that appends at most one entry to the calling user's own log.
struct UserEntryColumns: ColumnSet {
    let outcome: Column<String>
    private let position: Column<Int64>
    private let createdAt: Column<PostgresTimestamp>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        position = try names.column("position")
        createdAt = try names.column("created_at")
    }

    /// Returns the position and the time of the entry. The row must have one.
    func place(in row: Row) throws(PostgresError) -> (position: Position, createdAt: StrataModel.Timestamp) {
        (Position(try row[position]), StrataModel.Timestamp(try row[createdAt]))
    }
}

/// The columns of a write that appends to the logs of several users: parallel arrays of users, positions, and times in
/// microseconds since 1970.
struct UserLogEntriesColumns: ColumnSet {
    private let users: Column<[String]>
    private let positions: Column<[Int64]>
    private let times: Column<[Int64]>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        users = try names.column("told_users")
        positions = try names.column("told_positions")
        times = try names.column("told_at")
    }

    /// An entry of a user's own log.
    struct Entry {
        let user: UserID
        let position: Position
        let createdAt: StrataModel.Timestamp
    }

    /// Returns the entries in a row. nil if the write appended none.
    func entries(in row: Row) throws(PostgresError) -> [Entry]? {
        guard let users = try row[optional: users] else { return nil }
        let (positions, times) = (try row[positions], try row[times])
        guard positions.count == users.count, times.count == users.count else {
            throw PostgresError(
                code: .decoding, column: "told_users",
                reason: "has another number of elements than told_positions or told_at")
        }
        return users.indices.map { index in
            Entry(
                user: UserID(trusted: users[index]), position: Position(positions[index]),
                createdAt: StrataModel.Timestamp(microseconds: times[index]))
        }
    }
}
