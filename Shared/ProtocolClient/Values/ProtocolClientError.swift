// SPDX-License-Identifier: Apache-2.0

/// An error of the client. Refusals by the server are responses, not errors, except for ``Code/refused``.
public struct ProtocolClientError: Error, Sendable, CustomStringConvertible {
    /// The kind of error. New kinds may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case invalidURL, deadlineExceeded, closed, refused, transport, untrusted, malformed
        }
        private let base: Base

        /// The URL is malformed or has an unsupported scheme.
        public static let invalidURL = Code(base: .invalidURL)
        /// The deadline passed before the expected event.
        public static let deadlineExceeded = Code(base: .deadlineExceeded)
        /// The socket closed before the expected event.
        public static let closed = Code(base: .closed)
        /// The server refused to open a socket, or its response lacks the requested value. See
        /// ``ProtocolClientError/answer``.
        public static let refused = Code(base: .refused)
        /// The connection could not be established, or was lost.
        public static let transport = Code(base: .transport)
        /// The server's TLS certificate is not trusted, or is for another name.
        public static let untrusted = Code(base: .untrusted)
        /// The server violated the protocol.
        public static let malformed = Code(base: .malformed)

        /// The code's name.
        public var description: String { base.rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// A description for humans.
    public let message: String
    /// The server's response, with ``Code/refused``.
    public let answer: RESTResponse?

    init(_ code: Code, _ message: String, answer: RESTResponse? = nil) {
        self.code = code
        self.message = message
        self.answer = answer
    }

    /// The code and the message.
    public var description: String {
        "\(code): \(message)" + (answer.map { " (HTTP \($0.status), \($0.errorID ?? "no error id"))" } ?? "")
    }
}
