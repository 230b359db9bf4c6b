// SPDX-License-Identifier: Apache-2.0

/// An error of a call. The ``code`` determines the reaction. The description never contains arguments, replies or
/// passwords.
public struct RedisError: Error, Sendable, CustomStringConvertible {
    /// The kind of error; compare with the static members. New codes may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Backing: String {
            case connectionUnavailable, queueFull, deadlineExceeded, cancelled, fateUnknown, server, protocolViolation,
                closed
            case tooManyRedirections, notSubscribed, invalidConfiguration, alreadyRunning
        }
        private let backing: Backing

        /// No connection is available. The command was not sent and may be retried later.
        public static let connectionUnavailable = Code(backing: .connectionUnavailable)
        /// The queue is full. The command was not sent.
        public static let queueFull = Code(backing: .queueFull)
        /// The deadline passed before the response. The command may have been executed, or may still be executed.
        public static let deadlineExceeded = Code(backing: .deadlineExceeded)
        /// The calling task was cancelled. The command may have been executed, or may still be executed.
        public static let cancelled = Code(backing: .cancelled)
        /// The connection was lost after the command was sent. The command may or may not have been executed.
        public static let fateUnknown = Code(backing: .fateUnknown)
        /// The server responded with an error. See ``RedisError/serverError``.
        public static let server = Code(backing: .server)
        /// The server violated RESP2, and the connection was closed.
        public static let protocolViolation = Code(backing: .protocolViolation)
        /// The client has been shut down.
        public static let closed = Code(backing: .closed)
        /// The nodes of the cluster redirected the command too often. The command was not executed.
        public static let tooManyRedirections = Code(backing: .tooManyRedirections)
        /// A confirmation was awaited for a channel that is not, or no longer, subscribed to.
        public static let notSubscribed = Code(backing: .notSubscribed)
        /// The configuration is invalid.
        public static let invalidConfiguration = Code(backing: .invalidConfiguration)
        /// `run()` was called a second time.
        public static let alreadyRunning = Code(backing: .alreadyRunning)

        /// The name of the code.
        public var description: String { backing.rawValue }
    }

    /// The kind of error.
    public var code: Code
    /// A description for logs, not to be parsed.
    public var message: String
    /// The server's error, with the code ``Code/server``, or the reason for a missing connection, such as a refused
    /// password.
    public var serverError: RedisServerError?

    init(_ code: Code, _ message: String, serverError: RedisServerError? = nil) {
        self.code = code
        self.message = message
        self.serverError = serverError
    }

    init(_ serverError: RedisServerError) {
        self.init(.server, "the server answered with an error", serverError: serverError)
    }

    /// The code, the message and the kind of the server's error, without its text.
    public var description: String {
        "Redis: \(code): \(message)" + (serverError.map { " (\($0.kind))" } ?? "")
    }
}

extension RedisError {
    static let deadlineExceeded = RedisError(.deadlineExceeded, "no answer before the deadline")
    static let cancelled = RedisError(.cancelled, "the calling task was cancelled")
    static let closed = RedisError(.closed, "the client has been shut down")
    static let queueFull = RedisError(.queueFull, "too many commands are waiting")
    static let fateUnknown = RedisError(.fateUnknown, "the connection was lost before the answer came")
    static let connectionUnavailable = RedisError(.connectionUnavailable, "not connected")

    /// The error of commands while there is no connection for this reason.
    var whileUnavailable: RedisError { RedisError(.connectionUnavailable, message, serverError: serverError) }
}

/// An error reply of the server.
///
/// Its text may quote arguments of the command. Descriptions therefore contain only the ``kind``.
public struct RedisServerError: Error, Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The text of the reply, for example `WRONGTYPE Operation against a key…`. It may quote arguments, so keep it out
    /// of logs.
    public let text: String

    /// Creates an error from the text of the reply, without the leading `-`.
    public init(text: String) { self.text = text }

    /// The first word: `ERR`, `MOVED`, `NOSCRIPT`, …, or the code chosen by a script.
    public var kind: Substring { text.prefix { $0 != " " } }

    /// The ``kind``.
    public var description: String { String(kind) }

    /// The ``kind``.
    public var debugDescription: String { description }
}
