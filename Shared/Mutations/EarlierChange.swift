// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Postgres
public import StrataModel

/// A change that was carried out under its name before.
public struct EarlierChange: Sendable {
    /// What its writing function answered: `ok`, `none`, `created` or `found`.
    public let outcome: String
    /// Where it is told.
    public let place: LogPosition
    /// What it made, where the request does not say.
    public let object: UUID?

    /// What was carried out under the name of a change: one row, or none.
    public struct Find: PostgresQuery {
        /// The app.
        public let app: AppID
        /// Who made the change.
        public let user: UserID
        /// Names the change.
        public let id: UUID

        /// The columns of its row.
        public typealias Columns = FindColumns

        /// The statement.
        public static let statement = Statement(
            "mutation.find", sql: "SELECT fingerprint, outcome, position, user_position, object FROM conversations.find_mutation($1, $2, $3)",
            isIdempotent: true)

        /// In the order of the statement.
        public var parameters: [Value] { [.uuid(app.rawValue), .text(user.rawValue), .uuid(id)] }

        /// Looks for a change of `user`.
        public init(_ mutation: Mutation, of user: UserID, in app: AppID) {
            self.app = app
            self.user = user
            id = mutation.id
        }
    }

    /// - Parameter rows: of ``Find``.
    /// - Returns: nil if there are none.
    /// - Throws: `invalid_header` if the name was given to another request; a ``Postgres/PostgresError`` if the row is not as expected.
    public init?(_ rows: Rows, of mutation: Mutation) throws {
        guard let row = rows.first else { return nil }
        let columns = try rows.columns(of: Find.self)
        guard UInt64(bitPattern: try row[columns.fingerprint]) == mutation.fingerprint else {
            throw Failure(
                .invalidHeader, "The Strata-Mutation header has the id of another request, which was carried out.",
                detail: .header("Strata-Mutation"))
        }
        outcome = try row[columns.outcome]
        place = LogPosition(
            position: try row[optional: columns.position].map { Position($0) },
            userPosition: try row[optional: columns.userPosition].map { Position($0) })
        object = try row[optional: columns.object]
    }

    /// The columns of ``Find``.
    public struct FindColumns: ColumnSet {
        let fingerprint: Column<Int64>
        let outcome: Column<String>
        let position: Column<Int64>
        let userPosition: Column<Int64>
        let object: Column<UUID>

        /// Looks up the columns.
        public init(_ names: inout ColumnNames) throws(PostgresError) {
            fingerprint = try names.column("fingerprint")
            outcome = try names.column("outcome")
            position = try names.column("position")
            userPosition = try names.column("user_position")
            object = try names.column("object")
        }
    }

    /// After how long a change that another request is carrying out is looked for again: the first time, and at most. It doubles in between.
    private static let pauses = (first: Duration.milliseconds(20), longest: Duration.milliseconds(500))

    /// How often it is looked for before it is tried again.
    private static let looks = 4

    /// Carries out a change that may have a name, once.
    ///
    /// - Parameters:
    ///   - mutation: its name; nil: it has none.
    ///   - deadline: until when another request that is carrying it out is waited for.
    ///   - carryOut: carries it out; nil if it was carried out before, or is being carried out by another request.
    ///   - find: looks for what was carried out under the name.
    ///   - answer: what was carried out before is answered with.
    /// - Throws: what `carryOut` throws, unless the change was carried out before: a repetition may be refused for what has happened since, and is answered
    ///   all the same.
    public static func once<T>(
        _ mutation: Mutation?, until deadline: ContinuousClock.Instant, carryOut: () async throws -> T?,
        find: (Mutation) async throws -> EarlierChange?, answer: (EarlierChange) async throws -> T
    ) async throws -> T {
        var pause = pauses.first
        while true {
            var refusal: (any Error)?
            do {
                if let done = try await carryOut() { return done }
            } catch {
                refusal = error
            }
            if let mutation, !(refusal is CancellationError), let earlier = try await find(mutation) { return try await answer(earlier) }
            if let refusal { throw refusal }
            guard let mutation, .now + pause < deadline else { throw Failure.unavailable }
            // Most often the other one succeeds: only after a while it is worth to try what it may have been refused.
            for _ in 0..<looks where .now + pause < deadline {
                try await Task.sleep(for: pause * Double.random(in: 0.8...1.2))
                if let earlier = try await find(mutation) { return try await answer(earlier) }
                pause = min(pause * 2, pauses.longest)
            }
        }
    }
}
