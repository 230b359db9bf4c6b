// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Mutations
import Postgres
import StrataModel

extension ServiceContext {
    /// The pool on which a write runs, see ``Database``.
    enum Route: Sendable {
        /// The pool with shared transactions, in which statements are sorted by this key.
        case shared(lockKey: UInt64)
        case exclusive
        case large
    }

    /// Runs a writing function, with the caller's idempotency key if there is one.
    /// - Returns: nil if the change was carried out before, or another request is carrying it out.
    func write<Query: WriteQuery>(
        _ query: Query, for caller: Caller, on route: Route = .exclusive
    ) async throws(Failure) -> WriteResult<Query.Row>? {
        let (statement, parameters) = query.statement(
            by: caller.user, in: caller.app, as: caller.idempotencyKey,
            isRecorded: recordedApps?.mayHaveHooks(caller.app) ?? false)
        let rows: Rows
        do throws(PostgresError) {
            rows =
                switch route {
                case .shared(let lockKey):
                    try await database.hot.query(
                        statement, with: parameters, lockKey: lockKey, deadline: caller.deadline)
                case .exclusive:
                    try await database.exclusive.query(
                        statement, with: parameters, user: caller.fairShareKey, deadline: caller.deadline)
                case .large: try await database.large.query(statement, with: parameters, deadline: caller.deadline)
                }
        } catch {
            throw Failure(postgres: error)
        }
        if caller.idempotencyKey == nil, rows.isEmpty {
            throw Failure(.internalServerError, "An internal error occurred.")
        }
        do throws(PostgresError) {
            return try WriteResult(rows, isNamed: caller.idempotencyKey != nil)
        } catch {
            throw Failure(postgres: error)
        }
    }

    /// Carries out a change at most once, and answers a repetition from the record of the first request.
    /// - Parameters:
    ///   - carryOut: carries out the change. Returns nil in the same cases as ``write(_:for:on:)``.
    ///   - answer: builds the answer to a repetition from the record.
    func idempotent<T>(
        _ caller: Caller, carryOut: () async throws -> T?, answer: (IdempotencyRecord) async throws -> T
    ) async throws -> T {
        try await IdempotencyRecord.idempotent(
            caller.idempotencyKey, until: caller.deadline, carryOut: carryOut,
            find: { idempotencyKey in
                let rows = try await database.run(
                    IdempotencyRecord.Find(idempotencyKey, of: caller.user, in: caller.app), deadline: caller.deadline)
                return try IdempotencyRecord(rows, of: idempotencyKey)
            }, answer: answer)
    }

    /// Carries out a change whose answer consists only of its positions in the logs.
    func idempotent(_ caller: Caller, carryOut: () async throws -> LogPosition?) async throws -> LogPosition {
        try await idempotent(caller, carryOut: carryOut, answer: { $0.place })
    }

    /// Records an idempotency key for a change of a message that turned out to have no effect before any writing
    /// function ran.
    /// - Returns: nil in the same cases as ``write(_:for:on:)``.
    func recordNoEffect(_ caller: Caller, in conversation: ConversationID) async throws -> LogPosition? {
        guard caller.idempotencyKey != nil else { return .empty }
        let query = ChangeNothing(app: caller.app, conversation: conversation)
        guard let written = try await write(query, for: caller, on: .shared(lockKey: conversation.lockKey)) else {
            return nil
        }
        return written.place ?? .empty
    }
}

struct ChangeNothing: WriteQuery {
    let app: AppID
    let conversation: ConversationID

    typealias Row = OutcomeRow

    static let statement = WriteStatement(
        "mutation.nothing", columns: "r.outcome", function: "conversations.change_nothing", arguments: ["$1", "$2"],
        record: WriteStatement.RecordExpressions(conversation: "$2"), isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .uuid(conversation.rawValue)] }
}
