// SPDX-License-Identifier: Apache-2.0
import Postgres
import StrataModel

/// The columns of the changed counts of users: parallel arrays of users and their new counts. Null: none.
struct UserNumbersColumns: ColumnSet {
    private let users: Column<[String]>
    private let uncounted: Column<[Int64]>
    private let hidden: Column<[Int64]>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        users = try names.column("number_users")
        uncounted = try names.column("number_uncounted")
        hidden = try names.column("number_hidden")
    }

    /// Returns the counts in a row, which hold at `position`.
    func numbers(in row: Row, at position: Position) throws(PostgresError) -> [UserID: UserNumbers] {
        let (uncounted, hidden) = (try row[optional: uncounted] ?? [], try row[optional: hidden] ?? [])
        var numbers: [UserID: UserNumbers] = [:]
        for (index, user) in (try row[optional: users] ?? []).enumerated() where index < uncounted.count && index < hidden.count {
            numbers[UserID(trusted: user)] = UserNumbers(uncounted: uncounted[index], hidden: hidden[index], position: position)
        }
        return numbers
    }
}
