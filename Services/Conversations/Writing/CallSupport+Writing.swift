// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Mutations
import Postgres
import StrataModel

extension CallSupport {
    /// The pool on which a write runs, see ``Database``.
    enum Route: Sendable {
        /// The pool with shared transactions, in which statements are sorted by this key.
        case shared(lockKey: UInt64)
        case alone
        case large
    }

    /// Runs a writing function, with the caller's idempotency key if there is one.
    /// - Returns: nil if the change was carried out before, or another request is carrying it out.
    func write(_ query: some WriteQuery, for caller: Caller, on route: Route = .alone) async throws(Failure) -> Written? {
        let (statement, parameters) = query.asked(
            by: caller.user, in: caller.app, as: caller.mutation, isRecorded: recordedApps?.mayHaveHooks(caller.app) ?? false)
        let rows: Rows
        do throws(PostgresError) {
            rows =
                switch route {
                case .shared(let lockKey): try await database.hot.query(statement, with: parameters, lockKey: lockKey, deadline: caller.deadline)
                case .alone: try await database.exclusive.query(statement, with: parameters, user: caller.number, deadline: caller.deadline)
                case .large: try await database.large.query(statement, with: parameters, deadline: caller.deadline)
                }
        } catch {
            throw Failure(postgres: error)
        }
        if caller.mutation == nil, rows.isEmpty { throw Failure(.internalServerError, "Something went wrong on our side.") }
        do throws(PostgresError) {
            return try Written(rows, isNamed: caller.mutation != nil)
        } catch {
            throw Failure(postgres: error)
        }
    }

    /// Carries out a change at most once, and answers a repetition from the record of the first request.
    /// - Parameters:
    ///   - carryOut: carries out the change. Returns nil in the same cases as ``write(_:for:on:)``.
    ///   - answer: builds the answer to a repetition from the record.
    func once<T>(_ caller: Caller, carryOut: () async throws -> T?, answer: (EarlierChange) async throws -> T) async throws -> T {
        try await EarlierChange.once(
            caller.mutation, until: caller.deadline, carryOut: carryOut,
            find: { mutation in
                let rows = try await database.run(EarlierChange.Find(mutation, of: caller.user, in: caller.app), deadline: caller.deadline)
                return try EarlierChange(rows, of: mutation)
            }, answer: answer)
    }

    /// Carries out a change whose answer consists only of its positions in the logs.
    func once(_ caller: Caller, carryOut: () async throws -> LogPosition?) async throws -> LogPosition {
        try await once(caller, carryOut: carryOut, answer: { $0.place })
    }

    /// Records an idempotency key for a change of a message that turned out to have no effect before any writing
    /// function ran.
    /// - Returns: nil in the same cases as ``write(_:for:on:)``.
    func noteWithoutEffect(_ caller: Caller, in conversation: ConversationID) async throws -> LogPosition? {
        guard caller.mutation != nil else { return .nowhere }
        let query = ChangeNothing(app: caller.app, conversation: conversation)
        guard let written = try await write(query, for: caller, on: .shared(lockKey: conversation.lockKey)) else { return nil }
        return written.place ?? .nowhere
    }
}

struct ChangeNothing: WriteQuery {
    let app: AppID
    let conversation: ConversationID

    typealias Columns = OutcomeColumns

    static let statement = WriteStatement(
        "mutation.nothing", columns: "r.outcome", function: "conversations.change_nothing", arguments: ["$1", "$2"],
        place: WriteStatement.Place(conversation: "$2"), isIdempotent: true)

    var parameters: [Value] { [.uuid(app.rawValue), .uuid(conversation.rawValue)] }
}
