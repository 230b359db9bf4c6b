// SPDX-License-Identifier: Apache-2.0

import CLibPQ

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// Queries outside pipeline mode, for session set-up and migrations.
extension Connection {
    func run(
        _ sql: String, with parameters: [String], responseWait: inout ResponseWait, interrupted: () -> Bool
    ) throws(PostgresError) -> Rows {
        let texts = parameters.map { strdup($0) }
        defer { for text in texts { free(text) } }
        let sent = PQsendQueryParams(raw, sql, Int32(texts.count), nil, texts.map { UnsafePointer($0) }, nil, nil, 1)
        guard sent == 1 else { throw lost() }
        return try collect(&responseWait, interrupted: interrupted)
    }

    /// Runs a script of any number of statements, function bodies included, with the simple protocol. A script without
    /// transaction control is atomic.
    func run(script: String, responseWait: inout ResponseWait, interrupted: () -> Bool) throws(PostgresError) {
        guard !script.utf8.contains(0) else {
            throw PostgresError(code: .invalidParameter, reason: "the script contains a NUL character")
        }
        guard PQsendQuery(raw, script) == 1 else { throw lost() }
        _ = try collect(&responseWait, interrupted: interrupted)
    }

    /// True if a transaction is open and has not failed.
    var isInTransaction: Bool { PQtransactionStatus(raw) == PQTRANS_INTRANS }

    /// Reads all results of the sent statements. Returns the last one or throws the first error.
    private func collect(_ responseWait: inout ResponseWait, interrupted: () -> Bool) throws(PostgresError) -> Rows {
        var failure: PostgresError?
        var last: ResultHandle?
        while true {
            guard awaitResult(&responseWait, interrupted: interrupted) else { throw failure ?? lost() }
            guard let result = PQgetResult(raw) else { break }
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
                last = ResultHandle(owning: result)
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
                PQclear(result)
                throw PostgresError(code: .configuration, reason: "COPY is not supported")
            default:
                failure = failure ?? Self.error(from: result)
                PQclear(result)
            }
        }
        if let failure { throw failure }
        guard let last, PQstatus(raw) == CONNECTION_OK else { throw lost() }
        return Rows(last)
    }

    private func lost() -> PostgresError {
        PostgresError(
            code: PQstatus(raw) == CONNECTION_OK ? .configuration : .connectionUnavailable, serverDetail: lastMessage)
    }
}
