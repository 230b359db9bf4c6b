// SPDX-License-Identifier: Apache-2.0
import ProtocolClient

/// Why there is no connection, and what helps.
struct ConnectionFailure: Error, Hashable, Sendable {
    /// When the client tries again without a sign-in.
    enum Return: Hashable, Sendable {
        /// At once; later attempts follow with growing waits.
        case now
        /// Not before this time has passed; nil: after the usual wait.
        case later(Duration?)
    }

    enum Remedy: Hashable, Sendable {
        case reconnect(Return)
        /// The user must sign in; the nonce is to be signed, if the server has sent one.
        case signIn(nonce: String?)
        /// Nothing; for example, the address is invalid.
        case none
    }

    let remedy: Remedy
    let error: StrataError

    init(_ remedy: Remedy, _ error: StrataError) {
        self.remedy = remedy
        self.error = error
    }

    /// The server sent nothing, or an attempt took too long.
    static func silence(_ message: String, underlying: (any Error)? = nil) -> ConnectionFailure {
        ConnectionFailure(.reconnect(.now), StrataError(.connectionTimeout, message, underlying: underlying.map { [$0] } ?? []))
    }

    /// The same failure with an immediate attempt.
    var atOnce: ConnectionFailure { ConnectionFailure(.reconnect(.now), error) }
}

extension ConnectionFailure {
    init(_ closure: SocketClosure) {
        let words = closure.reason.map { $0.isEmpty ? "" : ": \($0)" } ?? ""
        guard let code = closure.code else {
            self.init(.reconnect(.now), StrataError(.networkRequestFailed, "the connection was lost"))
            return
        }
        let error = StrataError(code == 4401 ? .unauthenticated : .networkRequestFailed, "the server closed the connection with \(code)\(words)")
        switch code {
        // An orderly close; the gateway restarts, or the database was restored; the server received nothing from this client.
        case 1000, 1001, 4408: self.init(.reconnect(.now), error)
        case 4401: self.init(.signIn(nonce: nil), error)
        // This client was too slow (1013), or sent too much (1008) or what the server does not understand (1002, 1003, 1009). At once, the same would
        // happen again. Codes that are not known may mean anything.
        default: self.init(.reconnect(.later(nil)), error)
        }
    }

    init(opening error: any Error) {
        guard let error = error as? ProtocolClientError else {
            self.init(.reconnect(.now), .network("the server could not be reached: \(error)", underlying: error))
            return
        }
        let failed = StrataError.network(error.description, underlying: error)
        switch error.code {
        case .refused: self = error.answer.map { Self.refusal($0, otherwise: failed) } ?? Self(.reconnect(.later(nil)), failed)
        case .deadlineExceeded: self = .silence(error.description, underlying: error)
        case .invalidURL: self.init(.none, failed)
        // The answer is not from a Strata server, or from one that is not trusted. A captive portal causes this for a while.
        case .untrusted, .malformed: self.init(.reconnect(.later(nil)), failed)
        default: self.init(.reconnect(.now), failed)
        }
    }

    private static func refusal(_ answer: RESTAnswer, otherwise failed: StrataError) -> ConnectionFailure {
        guard answer.status == 401 else { return Self(.reconnect(.later(answer.retryAfter)), failed) }
        return Self(.signIn(nonce: answer.json["data"]["nonce"].string), StrataError(.unauthenticated, "the server does not accept the session"))
    }
}

extension RESTAnswer {
    /// The seconds of a `Retry-After` header; nil if the header is absent or has a date.
    var retryAfter: Duration? {
        guard let seconds = header("Retry-After").flatMap({ Int64($0) }), seconds >= 0 else { return nil }
        return .seconds(min(seconds, 86_400))
    }
}
