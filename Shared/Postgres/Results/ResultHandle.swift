// SPDX-License-Identifier: Apache-2.0

import CLibPQ

/// An owner of a `PGresult`, which it frees when the last reference is released.
///
/// `@unchecked Sendable`: neither libpq nor this class changes a result after `PQgetResult` returned it. The functions
/// called here only read it. The pointer is private, so that no other code can free it.
final class ResultHandle: @unchecked Sendable {
    private let raw: OpaquePointer
    let rowCount: Int
    let columnCount: Int

    init(owning raw: OpaquePointer) {
        self.raw = raw
        rowCount = Int(PQntuples(raw))
        columnCount = Int(PQnfields(raw))
    }

    deinit { PQclear(raw) }

    /// The number of rows that an INSERT, UPDATE or DELETE affected, or that a SELECT returned.
    var affectedRows: Int {
        PQcmdTuples(raw).flatMap { Int(String(cString: $0)) } ?? 0
    }

    func columnName(_ column: Int) -> String {
        PQfname(raw, Int32(clamping: column)).map { String(cString: $0) } ?? ""
    }

    /// Compares names exactly. libpq's own lookup folds case.
    func columnIndex(_ name: String) -> Int? {
        (0..<columnCount).first { columnName($0) == name }
    }

    func type(_ column: Int) -> UInt32 { PQftype(raw, Int32(column)) }

    /// The parameter types, in the description of a prepared statement.
    var parameterTypes: [UInt32] { (0..<PQnparams(raw)).map { PQparamtype(raw, $0) } }

    func isNull(row: Int, column: Int) -> Bool { PQgetisnull(raw, Int32(row), Int32(column)) != 0 }

    /// Calls `body` with the field's bytes, which are valid only during the call.
    func withField<Result>(row: Int, column: Int, _ body: (borrowing PostgresField) -> Result) -> Result {
        withExtendedLifetime(self) {
            let start = UnsafeRawPointer(PQgetvalue(raw, Int32(row), Int32(column)))
            let length = start == nil ? 0 : Int(PQgetlength(raw, Int32(row), Int32(column)))
            return body(PostgresField(bytes: UnsafeRawBufferPointer(start: start, count: length), type: type(column)))
        }
    }
}
