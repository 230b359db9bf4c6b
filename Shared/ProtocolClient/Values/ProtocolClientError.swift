// SPDX-License-Identifier: Apache-2.0

/// Why something could not be done; refusals by the server are answers, not errors, but for ``Code/refused``.
public struct ProtocolClientError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. New kinds may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case invalidURL, deadlineExceeded, closed, refused, transport, untrusted, malformed }
        private let base: Base

        /// A URL that is none, or of a scheme that does not fit.
        public static let invalidURL = Code(base: .invalidURL)
        /// What was waited for did not happen in time.
        public static let deadlineExceeded = Code(base: .deadlineExceeded)
        /// The socket closed first.
        public static let closed = Code(base: .closed)
        /// The server refused to open a socket, or answered other than was asked for: see ``ProtocolClientError/answer``.
        public static let refused = Code(base: .refused)
        /// The connection could not be made, or was lost.
        public static let transport = Code(base: .transport)
        /// The server's TLS certificate is none of those to trust, or another name's.
        public static let untrusted = Code(base: .untrusted)
        /// The server sent what is not the protocol.
        public static let malformed = Code(base: .malformed)

        /// The code's name.
        public var description: String { base.rawValue }
    }

    /// What kind of failure it is.
    public let code: Code
    /// Words for a human.
    public let message: String
    /// The server's answer, with ``Code/refused``.
    public let answer: RESTAnswer?

    init(_ code: Code, _ message: String, answer: RESTAnswer? = nil) {
        self.code = code
        self.message = message
        self.answer = answer
    }

    /// The code and the words.
    public var description: String { "\(code): \(message)" + (answer.map { " (HTTP \($0.status), \($0.errorID ?? "no error id"))" } ?? "") }
}
