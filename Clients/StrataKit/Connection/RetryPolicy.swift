// SPDX-License-Identifier: Apache-2.0
import NetKit
import ProtocolClient

/// Why a request to the server did not succeed, and whether the same request can succeed later.
enum RequestFailure: Error, Hashable, Sendable {
    /// The network or the server failed for the moment. `retryAfter` is the time the server asks for.
    case transient(StrataError, retryAfter: Duration?)
    /// The server does not accept the session. The request can be made again once the user has signed in.
    case signInNeeded(nonce: String?)
    /// The server refused the request, and would again.
    case permanent(StrataError, RESTAnswer?)

    /// Reads an answer that is not a success.
    /// - Parameter code: of the error, if the refusal is permanent.
    init(_ answer: RESTAnswer, permanent code: StrataError.Code = .unknown) {
        let words = "HTTP \(answer.status)" + (answer.errorID.map { " \($0)" } ?? "") + (answer.json["message"].string.map { ": \($0)" } ?? "")
        switch answer.status {
        case 401: self = .signInNeeded(nonce: answer.json["data"]["nonce"].string)
        case 408, 429, 500...: self = .transient(StrataError(.networkRequestFailed, words), retryAfter: answer.retryAfter)
        default: self = .permanent(StrataError(code, words), answer)
        }
    }

    /// Reads an error of a request without an answer. Such a request may have been carried out.
    init(_ error: any Error) {
        if let failure = error as? RequestFailure {
            self = failure
        } else if let error = error as? StrataError {
            self = .permanent(error, nil)
        } else if let error = error as? ProtocolClientError {
            let failed = StrataError.network(error.description, underlying: error)
            self = error.code == .invalidURL ? .permanent(failed, nil) : .transient(failed, retryAfter: nil)
        } else {
            self = .transient(.network("\(error)", underlying: error), retryAfter: nil)
        }
    }

    var error: StrataError {
        switch self {
        case .transient(let error, _), .permanent(let error, _): error
        case .signInNeeded: StrataError(.unauthenticated, "the server does not accept the session")
        }
    }
}

extension StrataError {
    /// The server could not be reached, or its answer did not come.
    static func network(_ message: String, underlying: (any Error)? = nil) -> StrataError {
        StrataError(.networkRequestFailed, message, underlying: underlying.map { [$0] } ?? [])
    }

    /// A request has failed in all its attempts.
    static func gaveUp(after tries: Int, _ last: StrataError) -> StrataError {
        StrataError(.networkRequestFailed, "\(tries) tries failed; the last: \(last.message)", underlying: [last])
    }
}

/// How often and how soon a queued request is repeated after temporary failures.
struct RetryPolicy: Hashable, Sendable {
    /// The upper bound of the wait after the first try; it doubles with each further one.
    var first = Duration.seconds(1)
    var longest = Duration.seconds(60)
    /// The number of tries after which the request has failed.
    var tries = 20

    /// The wait after a try: between half of a bound and the whole of it.
    /// - Parameters:
    ///   - tries: made so far, at least 1.
    ///   - asked: what the server asks for; at least so long, but at most ``longest``.
    ///   - random: from 0 up to 1.
    func delay(after tries: Int, asked: Duration? = nil, random: Double) -> Duration {
        let delay = Backoff(initial: first, maximum: longest).delay(attempt: tries - 1, random: random)
        return min(max(delay, asked ?? .zero), longest)
    }
}

/// Counts the tries of one request.
struct RetryCounter: Hashable, Sendable {
    /// What to do after a failure.
    enum Decision: Hashable, Sendable {
        /// Make the request again after this time.
        case retry(after: Duration)
        /// Make it again when there is a connection.
        case waitForConnection
        /// Make it again when the user has signed in.
        case waitForSignIn(nonce: String?)
        /// Do not make it again.
        case giveUp(StrataError)
    }

    /// Tries that failed while there was a connection.
    private(set) var tries = 0

    /// Counts a failed try.
    /// - Parameters:
    ///   - isConnected: whether there was a connection; tries without one do not count.
    ///   - random: from 0 up to 1.
    mutating func tryFailed(_ failure: RequestFailure, isConnected: Bool, policy: RetryPolicy = RetryPolicy(), random: Double) -> Decision {
        switch failure {
        case .permanent(let error, _): return .giveUp(error)
        case .signInNeeded(let nonce): return .waitForSignIn(nonce: nonce)
        case .transient(let error, let asked):
            guard isConnected else { return .waitForConnection }
            tries += 1
            guard tries < policy.tries else {
                return .giveUp(.gaveUp(after: tries, error))
            }
            return .retry(after: policy.delay(after: tries, asked: asked, random: random))
        }
    }

    /// The request has made progress: earlier failures no longer count.
    mutating func progressed() { tries = 0 }
}
