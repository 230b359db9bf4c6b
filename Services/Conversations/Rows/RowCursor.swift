// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Postgres
import StrataModel

/// Reads the columns of a row from left to right.
struct RowCursor {
    let row: Row
    private(set) var column: Int

    init(_ row: Row, at column: Int = 0) {
        self.row = row
        self.column = column
    }

    mutating func next<T: PostgresDecodable>(_ type: T.Type = T.self) throws -> T {
        defer { column += 1 }
        return try row.get(column, as: type)
    }
    mutating func optional<T: PostgresDecodable>(_ type: T.Type = T.self) throws -> T? {
        defer { column += 1 }
        return try row.getOptional(column, as: type)
    }

    mutating func position() throws -> Position { Position(try next(Int64.self)) }
    mutating func time() throws -> StrataModel.Timestamp { StrataModel.Timestamp(try next(Postgres.Timestamp.self)) }
    mutating func optionalTime() throws -> StrataModel.Timestamp? { try optional(Postgres.Timestamp.self).map { StrataModel.Timestamp($0) } }
    mutating func user() throws -> UserID { UserID(trusted: try next()) }
    mutating func users() throws -> [UserID] { try next([String].self).map { UserID(trusted: $0) } }
}

/// Parallel arrays of users and their new numbers, as writes return them.
func userNumbers(
    _ users: [UserID], _ uncounted: [Int64], _ hidden: [Int64], at position: Position
) -> [UserID: UserNumbers] {
    var numbers: [UserID: UserNumbers] = [:]
    for (index, user) in users.enumerated() where index < uncounted.count && index < hidden.count {
        numbers[user] = UserNumbers(uncounted: uncounted[index], hidden: hidden[index], position: position)
    }
    return numbers
}
