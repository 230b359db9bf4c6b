// SPDX-License-Identifier: Apache-2.0
import NetKit
import ProtocolClient

/// The failure of a request to the server. The case tells whether a retry can succeed.
enum RequestFailure: Error, Hashable, Sendable {
    /// A temporary failure of the network or the server. `retryAfter` is the delay that the server requests.
    case transient(StrataError, retryAfter: Duration?)
    /// The server does not accept the session. The request can be retried after a sign-in.
    case signInNeeded(nonce: String?)
    /// The server refused the request, and would refuse it again.
    case permanent(StrataError, RESTResponse?)

    /// Classifies an unsuccessful answer.
    /// - Parameter code: the error code for a permanent refusal.
    init(_ answer: RESTResponse, permanent code: StrataError.Code = .unknown) {
        let words =
            "HTTP \(answer.status)" + (answer.errorID.map { " \($0)" } ?? "")
            + (answer.json["message"].string.map { ": \($0)" } ?? "")
        switch answer.status {
        case 401: self = .signInNeeded(nonce: answer.json["data"]["nonce"].string)
        case 408, 429, 500...:
            self = .transient(StrataError(.networkRequestFailed, words), retryAfter: answer.retryAfter)
        default: self = .permanent(StrataError(code, words), answer)
        }
    }

    /// Classifies an error of a request that received no answer. The server may have processed the request.
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
    /// Returns the error for an unreachable server or a missing answer.
    static func network(_ message: String, underlying: (any Error)? = nil) -> StrataError {
        StrataError(.networkRequestFailed, message, underlying: underlying.map { [$0] } ?? [])
    }

    static func gaveUp(after tries: Int, _ last: StrataError) -> StrataError {
        StrataError(.networkRequestFailed, "\(tries) tries failed; the last: \(last.message)", underlying: [last])
    }
}

/// The number of retries of a queued request after temporary failures, and the delays between them.
struct RetryPolicy: Hashable, Sendable {
    /// The upper bound of the delay after the first try. It doubles with each further try.
    var first = Duration.seconds(1)
    var longest = Duration.seconds(60)
    /// The number of tries after which the request fails.
    var tries = 20

    /// Returns the delay after a try: a random value between half of the current bound and the bound.
    /// - Parameters:
    ///   - tries: the number of tries so far, at least 1.
    ///   - requested: the minimum delay that the server requests, capped at ``longest``.
    ///   - random: a random number in 0..<1.
    func delay(after tries: Int, requested: Duration? = nil, random: Double) -> Duration {
        let delay = Backoff(initial: first, maximum: longest).delay(attempt: tries - 1, random: random)
        return min(max(delay, requested ?? .zero), longest)
    }
}

struct RetryCounter: Hashable, Sendable {
    enum Decision: Hashable, Sendable {
        case retry(after: Duration)
        case waitForConnection
        case waitForSignIn(nonce: String?)
        case giveUp(StrataError)
    }

    /// The number of tries that failed while there was a connection.
    private(set) var tries = 0

    /// Counts a failed try. Tries without a connection do not count.
    /// - Parameters:
    ///   - random: a random number in 0..<1.
    mutating func tryFailed(
        _ failure: RequestFailure, isConnected: Bool, policy: RetryPolicy = RetryPolicy(), random: Double
    ) -> Decision {
        switch failure {
        case .permanent(let error, _): return .giveUp(error)
        case .signInNeeded(let nonce): return .waitForSignIn(nonce: nonce)
        case .transient(let error, let requested):
            guard isConnected else { return .waitForConnection }
            tries += 1
            guard tries < policy.tries else {
                return .giveUp(.gaveUp(after: tries, error))
            }
            return .retry(after: policy.delay(after: tries, requested: requested, random: random))
        }
    }

    /// Resets the counter after progress.
    mutating func progressed() { tries = 0 }
}
