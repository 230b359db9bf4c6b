// SPDX-License-Identifier: Apache-2.0
public import Postgres
public import StrataModel

/// The statements that call a writing function of the database, without and with an idempotency key
/// (``StrataModel/IdempotencyKey``). The key's record is committed together with the change. Each form may also record
/// the change for webhooks in the same transaction (Shared/Schema, webhooks).
public struct WriteStatement: Sendable {
    /// The statement without an idempotency key.
    public let direct: Statement
    /// The statement with an idempotency key: the function between `begin_mutation` and `end_mutation` (Shared/Schema,
    /// mutations).
    ///
    /// It returns no row if the change was carried out before or another request is carrying it out. Otherwise each row
    /// has two columns more than ``direct``: `told_position` and `told_user_position`, the change's positions in the
    /// logs.
    public let idempotent: Statement
    /// ``direct`` with recording for webhooks. Equal to ``direct`` if webhooks do not report the change.
    public let directRecorded: Statement
    /// ``idempotent`` with recording for webhooks. Equal to ``idempotent`` if webhooks do not report the change.
    public let idempotentRecorded: Statement

    /// The positions of the changes that webhooks report: SQL expressions over the function's row, `r`. `NULL`: nothing
    /// changed.
    public struct Recorded: Sendable {
        let first: String
        let last: String

        /// Creates the range of a single change.
        public init(position: String) { self.init(first: position, last: position) }

        /// Creates the range of all changes from `first` to `last`.
        public init(first: String, last: String) {
            self.first = first
            self.last = last
        }
    }

    /// A function that carries out several executions of a statement. See ``Postgres/Statement/Batch``.
    public struct Batch: Sendable {
        let function: String
        let elements: [Statement.Batch.Element]
        let minimum: Int

        /// - Parameters:
        ///   - function: the function's name, with its schema. Its columns are `execution` and those of the statement's
        ///     function.
        ///   - elements: the types of its arrays.
        ///   - minimum: the number of executions from which it is cheaper.
        public init(function: String, elements: [Statement.Batch.Element], minimum: Int) {
            self.function = function
            self.elements = elements
            self.minimum = minimum
        }

        fileprivate func form(of columns: String) -> Statement.Batch {
            let arguments = (1...elements.count).map { "$\($0)" }.joined(separator: ", ")
            return Statement.Batch(
                sql: "SELECT r.execution, \(columns) FROM \(function)(\(arguments)) r", elements: elements,
                minimum: minimum)
        }
    }

    /// The outcome and log positions of a change, as stored in its idempotency record: SQL expressions over the
    /// function's row, `r`, and the parameters.
    public struct RecordExpressions: Sendable {
        let outcome: String
        let conversation: String
        let position: String
        let userPosition: String
        let object: String

        /// - Parameters:
        ///   - outcome: `ok`, `none`, `created` or `found`, or the outcome of a refusal.
        ///   - conversation: the changed conversation. `NULL` if the change belongs to the user alone.
        ///   - position: the change's position in the conversation's log. `NULL` if nothing changed there.
        ///   - userPosition: the change's position in the user's own log. `NULL` if nothing changed there.
        ///   - object: the id of the created object, if the request does not contain it.
        public init(
            outcome: String = "r.outcome", conversation: String = "NULL", position: String = "NULL",
            userPosition: String = "NULL",
            object: String = "NULL"
        ) {
            self.outcome = outcome
            self.conversation = conversation
            self.position = position
            self.userPosition = userPosition
            self.object = object
        }
    }

    /// - Parameters:
    ///   - name: the name of ``direct``.
    ///   - columns: the columns selected from the function's row, `r`.
    ///   - function: the function's name, with its schema.
    ///   - arguments: the function's arguments: parameters, with casts where needed, and constants. The first one is
    ///     the app.
    ///   - record: the outcome and log positions of the change.
    ///   - recorded: the positions that webhooks report. nil: the position of `record` if it names a conversation,
    ///     otherwise none.
    ///   - isIdempotent: true if ``direct`` may be retried. ``idempotent`` always may.
    ///   - batch: the function that carries out several executions of ``direct``, with arrays of its parameters. nil:
    ///     none.
    public init(
        _ name: String, columns: String, function: String, arguments: [String], record: RecordExpressions,
        recorded: Recorded? = nil,
        isIdempotent: Bool = false, batch: Batch? = nil
    ) {
        let recorded = recorded ?? Recorded(position: record.conversation == "NULL" ? "NULL" : record.position)
        let recording =
            recorded.first == "NULL"
            ? nil
            : """
            CROSS JOIN LATERAL webhooks.record(\
            \(arguments[0]), \(record.conversation), \(recorded.first), \(recorded.last)) w
            """
        let direct = "SELECT \(columns) FROM \(function)(\(arguments.joined(separator: ", "))) r"
        self.direct = Statement(
            name, sql: direct, isIdempotent: isIdempotent, batch: batch?.form(of: columns))
        directRecorded =
            recording.map { Statement("\(name).recorded", sql: "\(direct) \($0)", isIdempotent: isIdempotent) }
            ?? self.direct
        // The parameters that follow the function's: app, user, idempotency key, fingerprint.
        let parameters = arguments.count { $0.hasPrefix("$") }
        let own = (1...4).map { "$\(parameters + $0)" }
        // Each function takes the app from the preceding one's row. So it runs after it, and only if that row exists.
        let given = ["b.app_id"] + arguments.dropFirst()
        let idempotent = """
            SELECT s.position AS told_position, s.user_position AS told_user_position, \(columns)
            FROM conversations.begin_mutation(\(own[0])::uuid, \(own[1])::text, \(own[2])::uuid) b
            CROSS JOIN LATERAL \(function)(\(given.joined(separator: ", "))) r
            CROSS JOIN LATERAL conversations.end_mutation(
                b.app_id, \(own[1])::text, \(own[2])::uuid, \(own[3])::int8, \(record.outcome),
                \(record.conversation), \(record.position), \(record.userPosition), \(record.object)) s
            """
        self.idempotent = Statement("\(name).once", sql: idempotent, isIdempotent: true)
        idempotentRecorded =
            recording.map { Statement("\(name).once.recorded", sql: "\(idempotent)\n\($0)", isIdempotent: true) }
            ?? self.idempotent
    }

    /// Returns the parameters of ``idempotent``: those of ``direct``, then the app, the user, the idempotency key and
    /// the fingerprint.
    func idempotentParameters(
        _ parameters: [Value], by user: UserID, in app: AppID, as idempotencyKey: IdempotencyKey
    ) -> [Value] {
        parameters + [
            .uuid(app.rawValue), .text(user.rawValue), .uuid(idempotencyKey.id),
            .int8(Int64(bitPattern: idempotencyKey.fingerprint)),
        ]
    }
}

/// The result of a writing function.
public struct WriteResult<Row: Decodable & Sendable>: Sendable {
    /// The rows of the result: at least one.
    public let rows: [Row]
    /// The change's positions in the logs, if it has an idempotency key. nil: the function's own columns contain the
    /// positions, if the call changed anything.
    public let place: LogPosition?

    /// Reads the result.
    /// - Returns: nil if there are no rows: the change was carried out before under its idempotency key, or another
    ///   request is carrying it out.
    /// - Throws: the error of the decoding.
    public init?(_ rows: Rows, isNamed: Bool) throws(PostgresError) {
        guard !rows.isEmpty else { return nil }
        self.rows = try rows.decoded()
        place = isNamed ? try rows.decoded(as: WrittenPlace.self).first?.place : nil
    }

    /// The first row.
    public var row: Row { rows[0] }
}

/// The columns that only ``WriteStatement/idempotent`` returns.
private struct WrittenPlace: Decodable {
    let toldPosition: Int64?
    let toldUserPosition: Int64?

    var place: LogPosition {
        LogPosition(
            position: toldPosition.map { Position($0) }, userPosition: toldUserPosition.map { Position($0) })
    }
}

/// A writing function, its parameters and its rows in one type, in which each has a name. See
/// ``Postgres/PostgresQuery``.
public protocol WriteQuery: Sendable {
    /// A row of the function's result. See ``Postgres/PostgresQuery/Row``.
    associatedtype Row: Decodable & Sendable = NoColumns

    /// The statements that call the function, without and with an idempotency key.
    static var statement: WriteStatement { get }

    /// The values of `$1`, `$2`, … of the function.
    var parameters: [Value] { get }
}

extension WriteQuery {
    /// Returns the statement to send, and its parameters.
    /// - Parameter isRecorded: true if the change may have to be recorded for webhooks.
    public func statement(
        by user: UserID, in app: AppID, as idempotencyKey: IdempotencyKey?, isRecorded: Bool = false
    ) -> (statement: Statement, parameters: [Value]) {
        guard let idempotencyKey else {
            return (isRecorded ? Self.statement.directRecorded : Self.statement.direct, parameters)
        }
        return (
            isRecorded ? Self.statement.idempotentRecorded : Self.statement.idempotent,
            Self.statement.idempotentParameters(parameters, by: user, in: app, as: idempotencyKey)
        )
    }
}
