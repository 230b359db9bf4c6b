// SPDX-License-Identifier: Apache-2.0
import Postgres
import StrataModel

/// The columns of the changed counts of users: parallel arrays of users and their new counts. Null: none.
struct UserCountsColumns: ColumnSet {
    private let users: Column<[String]>
    private let uncounted: Column<[Int64]>
    private let hidden: Column<[Int64]>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        users = try names.column("number_users")
        uncounted = try names.column("number_uncounted")
        hidden = try names.column("number_hidden")
    }

    /// Returns the counts in a row, which hold at `position`.
    func counts(in row: Row, at position: Position) throws(PostgresError) -> [UserID: UserCounts] {
        let (uncounted, hidden) = (try row[optional: uncounted] ?? [], try row[optional: hidden] ?? [])
        var counts: [UserID: UserCounts] = [:]
        for (index, user) in (try row[optional: users] ?? []).enumerated()
        where index < uncounted.count && index < hidden.count {
            counts[UserID(trusted: user)] = UserCounts(
                excluded: uncounted[index], hidden: hidden[index], position: position)
        }
        return counts
    }
}
