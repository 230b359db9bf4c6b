// SPDX-License-Identifier: Apache-2.0

/// Why a call failed. ``code`` says what to do about it; the description never carries arguments, replies or passwords.
public struct RedisError: Error, Sendable, CustomStringConvertible {
    /// What went wrong; compare with the static members. Codes may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Backing: String {
            case connectionUnavailable, queueFull, deadlineExceeded, cancelled, fateUnknown, server, protocolViolation, closed
            case tooManyRedirections, notSubscribed, invalidConfiguration, alreadyRunning
        }
        private let backing: Backing

        /// There is no connection; the command was not sent. Worth retrying later.
        public static let connectionUnavailable = Code(backing: .connectionUnavailable)
        /// Too many commands wait already; the command was not sent.
        public static let queueFull = Code(backing: .queueFull)
        /// No answer in time. The command may have been executed, or may yet be.
        public static let deadlineExceeded = Code(backing: .deadlineExceeded)
        /// The calling task was cancelled. The command may have been executed, or may yet be.
        public static let cancelled = Code(backing: .cancelled)
        /// The connection was lost after the command had been sent: it was executed or it was not.
        public static let fateUnknown = Code(backing: .fateUnknown)
        /// The server answered with an error; see ``RedisError/serverError``.
        public static let server = Code(backing: .server)
        /// The server sent something that is not RESP2; the connection was closed.
        public static let protocolViolation = Code(backing: .protocolViolation)
        /// The client has been shut down.
        public static let closed = Code(backing: .closed)
        /// The nodes of the cluster kept pointing at each other; the command was not executed.
        public static let tooManyRedirections = Code(backing: .tooManyRedirections)
        /// A confirmation was awaited for a channel that is not, or no longer, subscribed to.
        public static let notSubscribed = Code(backing: .notSubscribed)
        /// The configuration cannot be used.
        public static let invalidConfiguration = Code(backing: .invalidConfiguration)
        /// `run()` was called a second time.
        public static let alreadyRunning = Code(backing: .alreadyRunning)

        /// The name of the code.
        public var description: String { backing.rawValue }
    }

    /// What went wrong.
    public var code: Code
    /// Words for a log; never parsed.
    public var message: String
    /// The server's answer, when the code is ``Code/server`` (or the reason why there is no connection, such as a refused password).
    public var serverError: RedisServerError?

    init(_ code: Code, _ message: String, serverError: RedisServerError? = nil) {
        self.code = code
        self.message = message
        self.serverError = serverError
    }

    init(_ serverError: RedisServerError) {
        self.init(.server, "the server answered with an error", serverError: serverError)
    }

    /// The code, the message, and the kind of the server's error without its text.
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

    /// What commands end with while there is no connection for this reason.
    var whileUnavailable: RedisError { RedisError(.connectionUnavailable, message, serverError: serverError) }
}
