// SPDX-License-Identifier: Apache-2.0
import ProtocolClient

/// The cause of a missing connection, and its remedy.
struct ConnectionFailure: Error, Hashable, Sendable {
    /// The time at which the client reconnects without a sign-in.
    enum ReconnectDelay: Hashable, Sendable {
        /// Immediately; later attempts back off.
        case now
        /// After at least this time; nil: after the usual delay.
        case later(Duration?)
    }

    enum Remedy: Hashable, Sendable {
        case reconnect(ReconnectDelay)
        /// The user must sign in. The nonce is to be signed; nil if the server did not send one.
        case signIn(nonce: String?)
        /// No remedy; for example, the URL is invalid.
        case none
    }

    let remedy: Remedy
    let error: StrataError

    init(_ remedy: Remedy, _ error: StrataError) {
        self.remedy = remedy
        self.error = error
    }

    /// Returns the failure for a silent server or an attempt that timed out.
    static func silence(_ message: String, underlying: (any Error)? = nil) -> ConnectionFailure {
        ConnectionFailure(
            .reconnect(.now), StrataError(.connectionTimeout, message, underlying: underlying.map { [$0] } ?? []))
    }

    /// A copy of the failure whose remedy is an immediate reconnect.
    var reconnectingImmediately: ConnectionFailure { ConnectionFailure(.reconnect(.now), error) }
}

extension ConnectionFailure {
    init(_ closure: SocketClosure) {
        let words = closure.reason.map { $0.isEmpty ? "" : ": \($0)" } ?? ""
        guard let code = closure.code else {
            self.init(.reconnect(.now), StrataError(.networkRequestFailed, "the connection was lost"))
            return
        }
        let error = StrataError(
            code == 4401 ? .unauthenticated : .networkRequestFailed,
            "the server closed the connection with \(code)\(words)")
        switch code {
        // 1000: orderly close. 1001: the gateway restarts, or the database was restored. 4408: the server received
        // nothing from this client.
        case 1000, 1001, 4408: self.init(.reconnect(.now), error)
        case 4401: self.init(.signIn(nonce: nil), error)
        // The client was too slow (1013), sent too much (1008) or sent malformed data (1002, 1003, 1009). An immediate
        // reconnect would fail again. Unknown codes are treated the same way.
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
        case .refused:
            self = error.answer.map { Self.refusal($0, otherwise: failed) } ?? Self(.reconnect(.later(nil)), failed)
        case .deadlineExceeded: self = .silence(error.description, underlying: error)
        case .invalidURL: self.init(.none, failed)
        // The answer is not from a trusted Strata server. The usual cause is a captive portal, which is temporary.
        case .untrusted, .malformed: self.init(.reconnect(.later(nil)), failed)
        default: self.init(.reconnect(.now), failed)
        }
    }

    private static func refusal(_ answer: RESTResponse, otherwise failed: StrataError) -> ConnectionFailure {
        guard answer.status == 401 else { return Self(.reconnect(.later(answer.retryAfter)), failed) }
        return Self(
            .signIn(nonce: answer.json["data"]["nonce"].string),
            StrataError(.unauthenticated, "the server does not accept the session"))
    }
}

extension RESTResponse {
    /// The duration in a `Retry-After` header; nil if the header is absent or contains a date.
    var retryAfter: Duration? {
        guard let seconds = header("Retry-After").flatMap({ Int64($0) }), seconds >= 0 else { return nil }
        return .seconds(min(seconds, 86_400))
    }
}
