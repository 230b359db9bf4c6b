// SPDX-License-Identifier: Apache-2.0

/// What went wrong with a statement, a connection or a migration.
///
/// The description carries the code, the SQLSTATE and names our own code chose (statement, column, migration, configuration key), never a value, a
/// piece of SQL or the server's message: those quote user data. The server's words are in ``serverDetail``, which the caller asks for explicitly.
///
/// Every code except ``Code/fateUnknown`` and ``Code/decoding`` means that the statement had no effect.
public struct PostgresError: Error, Sendable {
    /// The kind of failure. New kinds may be added without breaking callers.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case connectionUnavailable, queueFull, deadlineExceeded, cancelled, fateUnknown, server, decoding, configuration
            case invalidParameter, migration, otherSchema, closed
        }

        private let base: Base

        private init(_ base: Base) { self.base = base }

        /// There is no connection to PostgreSQL at the moment.
        public static let connectionUnavailable = Code(.connectionUnavailable)
        /// The pool's queue has reached its limit in statements or bytes.
        public static let queueFull = Code(.queueFull)
        /// The statement did not finish before its deadline or the server's time limit, and was rolled back or never sent.
        public static let deadlineExceeded = Code(.deadlineExceeded)
        /// The calling task was cancelled, and the statement was rolled back or never sent.
        public static let cancelled = Code(.cancelled)
        /// The connection was lost after the statement was sent: it may or may not have been committed.
        public static let fateUnknown = Code(.fateUnknown)
        /// The server refused the statement; see ``PostgresError/sqlState``.
        public static let server = Code(.server)
        /// A column is absent, null or of another type than the one asked for. The statement itself succeeded.
        public static let decoding = Code(.decoding)
        /// The configuration, or the way a statement is declared, is wrong.
        public static let configuration = Code(.configuration)
        /// A parameter cannot be sent, for instance a text with a NUL character.
        public static let invalidParameter = Code(.invalidParameter)
        /// A migration failed, or the list of migrations does not agree with what the database has.
        public static let migration = Code(.migration)
        /// Other migrations made the database: it cannot be migrated.
        public static let otherSchema = Code(.otherSchema)
        /// The pool is shutting down.
        public static let closed = Code(.closed)

        /// The code's name.
        public var description: String { base.rawValue }
    }

    /// The kind of failure.
    public var code: Code
    /// The five characters of the server's SQLSTATE, when the server answered with an error.
    public var sqlState: String?
    /// The name of the statement.
    public var statement: String?
    /// The name or number of the column that could not be decoded.
    public var column: String?
    /// Which key, parameter or migration is meant, in our own words. Carries no value.
    public var reason: String?
    /// The server's or libpq's own message. It can quote values and SQL: for a developer's eyes, never for a log or a client.
    public var serverDetail: String?

    /// Creates an error.
    public init(
        code: Code, sqlState: String? = nil, statement: String? = nil, column: String? = nil, reason: String? = nil, serverDetail: String? = nil
    ) {
        self.code = code
        self.sqlState = sqlState
        self.statement = statement
        self.column = column
        self.reason = reason
        self.serverDetail = serverDetail
    }

    /// Whether the statement certainly had no effect and the same call may succeed when it is made again later.
    public var isRetryable: Bool {
        switch code {
        case .connectionUnavailable, .queueFull, .deadlineExceeded, .closed: true
        case .server: sqlState.map(SQLState.isTransient) ?? false
        default: false
        }
    }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Code, SQLSTATE and names; never values.
    public var description: String {
        var parts = ["code: \(code)"]
        if let sqlState { parts.append("sqlState: \(sqlState)") }
        if let statement { parts.append("statement: \(statement)") }
        if let column { parts.append("column: \(column)") }
        if let reason { parts.append("reason: \(reason)") }
        return "PostgresError(\(parts.joined(separator: ", ")))"
    }

    /// The same as ``description``, so that reflection cannot leak the server's message.
    public var debugDescription: String { description }

    /// Hides the stored properties from `dump` and from string interpolation of containers.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
