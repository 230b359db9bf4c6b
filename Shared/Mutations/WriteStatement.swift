// SPDX-License-Identifier: Apache-2.0

public import Postgres
public import StrataModel

/// A writing function of the database, and the ways to ask for it: as it is, and under the name that a client gave the change (``StrataModel/Mutation``), which
/// is committed together with what the function does. Either may record what webhooks are to tell of the change (Shared/Schema, webhooks), in the same transaction.
public struct WriteStatement: Sendable {
    /// The function alone.
    public let plain: Statement
    /// The function between `begin_mutation` and `end_mutation` (Shared/Schema, mutations). No row: the change was carried out before, or is being carried out.
    /// Otherwise each row has two columns that ``plain`` does not have: `told_position` and `told_user_position` say where the change is told.
    public let once: Statement
    /// ``plain``, with what webhooks tell; the same if they tell nothing of it.
    public let plainRecorded: Statement
    /// ``once``, with what webhooks tell; the same if they tell nothing of it.
    public let onceRecorded: Statement

    /// The positions of the changes that webhooks tell of: expressions of SQL over the function's row, `r`; `NULL` where nothing changed.
    public struct Recorded: Sendable {
        let first: String
        let last: String

        /// One change.
        public init(position: String) { self.init(first: position, last: position) }

        /// All changes from one position to another.
        public init(first: String, last: String) {
            self.first = first
            self.last = last
        }
    }

    /// What of a row tells where the change stands: expressions of SQL over the function's row, `r`, and the parameters.
    public struct Place: Sendable {
        let outcome: String
        let conversation: String
        let position: String
        let userPosition: String
        let object: String

        /// - Parameters:
        ///   - outcome: `ok`, `none`, `created` or `found`, or what refuses.
        ///   - conversation: the conversation that it changes; `NULL` if it belongs to the user alone.
        ///   - position: where its log tells of it; `NULL` if nothing changed there.
        ///   - userPosition: the same in the user's own log.
        ///   - object: the id of what was made, if the request does not say it.
        public init(
            outcome: String = "r.outcome", conversation: String = "NULL", position: String = "NULL", userPosition: String = "NULL",
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
    ///   - name: of ``plain``.
    ///   - columns: what is selected of the function's row, `r`.
    ///   - function: with its schema.
    ///   - arguments: the parameters, with casts where they are needed, and constants. The first one is the app.
    ///   - place: where the change stands.
    ///   - recorded: what webhooks tell of; nil: of the position of `place` if it names a conversation, and of nothing otherwise.
    ///   - isIdempotent: whether ``plain`` may be repeated. ``once`` always may.
    public init(
        _ name: String, columns: String, function: String, arguments: [String], place: Place, recorded: Recorded? = nil, isIdempotent: Bool = false
    ) {
        let recorded = recorded ?? Recorded(position: place.conversation == "NULL" ? "NULL" : place.position)
        let recording =
            recorded.first == "NULL"
            ? nil
            : "CROSS JOIN LATERAL webhooks.record(\(arguments[0]), \(place.conversation), \(recorded.first), \(recorded.last)) w"
        let plain = "SELECT \(columns) FROM \(function)(\(arguments.joined(separator: ", "))) r"
        self.plain = Statement(name, sql: plain, isIdempotent: isIdempotent)
        plainRecorded = recording.map { Statement("\(name).recorded", sql: "\(plain) \($0)", isIdempotent: isIdempotent) } ?? self.plain
        // The parameters that the function does not have: app, user, id, fingerprint.
        let parameters = arguments.count { $0.hasPrefix("$") }
        let own = (1...4).map { "$\(parameters + $0)" }
        // Each is given the app by what stands before it, and so runs only if that has a row, and after it.
        let given = ["b.app_id"] + arguments.dropFirst()
        let once = """
            SELECT s.position AS told_position, s.user_position AS told_user_position, \(columns)
            FROM conversations.begin_mutation(\(own[0])::uuid, \(own[1])::text, \(own[2])::uuid) b
            CROSS JOIN LATERAL \(function)(\(given.joined(separator: ", "))) r
            CROSS JOIN LATERAL conversations.end_mutation(
                b.app_id, \(own[1])::text, \(own[2])::uuid, \(own[3])::int8, \(place.outcome), \(place.conversation), \(place.position),
                \(place.userPosition), \(place.object)) s
            """
        self.once = Statement("\(name).once", sql: once, isIdempotent: true)
        onceRecorded = recording.map { Statement("\(name).once.recorded", sql: "\(once)\n\($0)", isIdempotent: true) } ?? self.once
    }

    /// The parameters of ``once``: those of ``plain``, and what names the change.
    func parametersOnce(_ parameters: [Value], by user: UserID, in app: AppID, as mutation: Mutation) -> [Value] {
        parameters + [.uuid(app.rawValue), .text(user.rawValue), .uuid(mutation.id), .int8(Int64(bitPattern: mutation.fingerprint))]
    }
}

/// What a writing function answered.
public struct Written: Sendable {
    /// At least one.
    public let rows: Rows
    /// Where the change is told, if it has a name; nil: the function's own columns say it, if it had an effect.
    public let place: LogPosition?

    /// - Returns: nil if there is no row: under a name, the change was carried out before, or is being carried out.
    /// - Throws: what reading the columns throws.
    public init?(_ rows: Rows, isNamed: Bool) throws(PostgresError) {
        guard let first = rows.first else { return nil }
        self.rows = rows
        guard isNamed else {
            place = nil
            return
        }
        let columns = try rows.columns(PlaceColumns.self)
        place = LogPosition(
            position: try first[optional: columns.position].map { Position($0) },
            userPosition: try first[optional: columns.userPosition].map { Position($0) })
    }

    /// The columns of ``WriteStatement/once`` alone.
    private struct PlaceColumns: ColumnSet {
        let position: Column<Int64>
        let userPosition: Column<Int64>

        init(_ names: inout ColumnNames) throws(PostgresError) {
            position = try names.column("told_position")
            userPosition = try names.column("told_user_position")
        }
    }
}
