// SPDX-License-Identifier: Apache-2.0

/// An error of a statement, a connection or a migration.
///
/// The description contains the code, the SQLSTATE and names from our own code (statement, column, migration,
/// configuration key). It never contains values, SQL or the server's message, because they can quote user data. The
/// server's message is in ``serverDetail``.
///
/// Every code except ``Code/fateUnknown`` and ``Code/decoding`` means that the statement had no effect.
public struct PostgresError: Error, Sendable {
    /// The kind of error. New kinds may be added without breaking callers.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case connectionUnavailable, queueFull, deadlineExceeded, cancelled, fateUnknown, server, decoding,
                configuration
            case invalidParameter, migration, otherSchema, closed
        }

        private let base: Base

        private init(_ base: Base) { self.base = base }

        /// No connection to PostgreSQL is available.
        public static let connectionUnavailable = Code(.connectionUnavailable)
        /// The pool's queue reached its limit of statements or bytes.
        public static let queueFull = Code(.queueFull)
        /// The statement did not finish before its deadline or the server's time-out. It was rolled back or never sent.
        public static let deadlineExceeded = Code(.deadlineExceeded)
        /// The calling task was cancelled. The statement was rolled back or never sent.
        public static let cancelled = Code(.cancelled)
        /// The connection was lost after the statement was sent. The statement may or may not have been committed.
        public static let fateUnknown = Code(.fateUnknown)
        /// The server refused the statement. See ``PostgresError/sqlState``.
        public static let server = Code(.server)
        /// A column is missing, null or of an unexpected type. The statement itself succeeded.
        public static let decoding = Code(.decoding)
        /// The configuration or the declaration of a statement is invalid.
        public static let configuration = Code(.configuration)
        /// A parameter cannot be sent, for example a text with a NUL character.
        public static let invalidParameter = Code(.invalidParameter)
        /// A migration failed, or the list of migrations does not match the database.
        public static let migration = Code(.migration)
        /// The database was created by other migrations and cannot be migrated.
        public static let otherSchema = Code(.otherSchema)
        /// The pool is shutting down.
        public static let closed = Code(.closed)

        /// The code's name.
        public var description: String { base.rawValue }
    }

    /// The kind of error.
    public var code: Code
    /// The server's SQLSTATE, of five characters; nil unless the server reported the error.
    public var sqlState: String?
    /// The name of the statement.
    public var statement: String?
    /// The name or number of the column that could not be decoded.
    public var column: String?
    /// The affected key, parameter or migration, in our own words, without values.
    public var reason: String?
    /// The message of the server or of libpq. It can quote values and SQL: use it for debugging, never in a log or for
    /// a client.
    public var serverDetail: String?

    /// Creates an error.
    public init(
        code: Code, sqlState: String? = nil, statement: String? = nil, column: String? = nil, reason: String? = nil,
        serverDetail: String? = nil
    ) {
        self.code = code
        self.sqlState = sqlState
        self.statement = statement
        self.column = column
        self.reason = reason
        self.serverDetail = serverDetail
    }

    /// True if the statement certainly had no effect and a later retry may succeed.
    public var isRetryable: Bool {
        switch code {
        case .connectionUnavailable, .queueFull, .deadlineExceeded, .closed: true
        case .server: sqlState.map(SQLState.isTransient) ?? false
        default: false
        }
    }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The code, the SQLSTATE and names; never values.
    public var description: String {
        var parts = ["code: \(code)"]
        if let sqlState { parts.append("sqlState: \(sqlState)") }
        if let statement { parts.append("statement: \(statement)") }
        if let column { parts.append("column: \(column)") }
        if let reason { parts.append("reason: \(reason)") }
        return "PostgresError(\(parts.joined(separator: ", ")))"
    }

    /// The ``description``, so that reflection cannot reveal the server's message.
    public var debugDescription: String { description }

    /// A mirror that hides the stored properties from `dump` and from string interpolation of containers.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}

enum SQLState {
    static let deadlockDetected = "40P01"
    static let serializationFailure = "40001"
    static let queryCancelled = "57014"
    static let lockNotAvailable = "55P03"
    static let readOnlyTransaction = "25006"
    static let featureNotSupported = "0A000"
    static let invalidStatementName = "26000"
    static let invalidFunctionDefinition = "42P13"
    static let ambiguousFunction = "42725"
    static let dependentObjectsStillExist = "2BP01"

    /// Returns true if the transaction lost a race and a retry may succeed.
    static func isRace(_ state: String?) -> Bool {
        state == deadlockDetected || state == serializationFailure
    }

    /// Returns true if a prepared statement is unusable and must be prepared again. Either its result type changed with
    /// the schema, which the server reports as "not supported", or it was deallocated.
    static func isStalePlan(_ state: String?) -> Bool {
        state == featureNotSupported || state == invalidStatementName
    }

    /// Returns true if the unchanged statement may succeed later.
    static func isTransient(_ state: String) -> Bool {
        switch state {
        case deadlockDetected, serializationFailure, queryCancelled, lockNotAvailable, readOnlyTransaction: true
        default: state.hasPrefix("08") || state.hasPrefix("53") || state.hasPrefix("57P")
        }
    }
}
