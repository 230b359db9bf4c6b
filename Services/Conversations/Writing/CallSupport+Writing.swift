// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Mutations
import Postgres
import StrataModel

extension CallSupport {
    /// Which connections a write is sent on, see ``Database``.
    enum Route: Sendable {
        /// Those that share transactions, sorted by this key.
        case shared(lockKey: UInt64)
        case alone
        case large
    }

    /// Runs a writing function, under the name of the change if it has one.
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

    /// Carries out a change, or answers what it came to if it was carried out before.
    /// - Parameters:
    ///   - carryOut: nil as ``write(_:for:on:)`` says.
    ///   - answer: of a change that was carried out before.
    func once<T>(_ caller: Caller, carryOut: () async throws -> T?, answer: (EarlierChange) async throws -> T) async throws -> T {
        try await EarlierChange.once(
            caller.mutation, until: caller.deadline, carryOut: carryOut,
            find: { mutation in
                let rows = try await database.run(EarlierChange.Find(mutation, of: caller.user, in: caller.app), deadline: caller.deadline)
                return try EarlierChange(rows, of: mutation)
            }, answer: answer)
    }

    /// The same where the answer is no more than where the change is told.
    func once(_ caller: Caller, carryOut: () async throws -> LogPosition?) async throws -> LogPosition {
        try await once(caller, carryOut: carryOut, answer: { $0.place })
    }

    /// Remembers that a change of a message has no effect, which was decided without a writing function.
    /// - Returns: nil as ``write(_:for:on:)`` says.
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
