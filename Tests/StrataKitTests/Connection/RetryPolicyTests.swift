// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import ProtocolClient
@testable import StrataKit

@Suite("retried requests")
struct RetryPolicyTests {
    private let policy = RetryPolicy()
    private let busy = RequestFailure.transient(StrataError(.networkRequestFailed, "busy"), retryAfter: nil)

    private func answer(_ status: Int, body: String = "{}", headers: [RESTResponse.Header] = []) -> RESTResponse {
        RESTResponse(status: status, headers: headers, body: Data(body.utf8))
    }

    @Test("the wait doubles up to 60 s (OFF-5)")
    func growth() {
        let longest = (1...8).map { policy.delay(after: $0, random: 1) }
        #expect(longest == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
        #expect(policy.delay(after: 1_000_000, random: 1) == .seconds(60))
        #expect(policy.delay(after: 0, random: 1) == .seconds(1))
    }

    @Test("the retry wait is at least half of its maximum", arguments: [0, -1])
    func jitter(_ random: Double) { #expect(policy.delay(after: 4, random: random) == .seconds(4)) }

    @Test("the server may request a longer wait, up to 60 s")
    func asked() {
        #expect(policy.delay(after: 1, requested: .seconds(9), random: 1) == .seconds(9))
        #expect(policy.delay(after: 4, requested: .seconds(1), random: 1) == .seconds(8))
        #expect(policy.delay(after: 1, requested: .seconds(900), random: 1) == .seconds(60))
    }

    @Test("the twentieth attempt is the last (OFF-5)")
    func tries() {
        var counter = RetryCounter()
        for tries in 1..<20 {
            let decision = counter.tryFailed(busy, isConnected: true, random: 0)
            #expect(decision == .retry(after: policy.delay(after: tries, random: 0)))
        }
        let error = StrataError(.networkRequestFailed, "20 tries failed; the last: busy")
        #expect(counter.tryFailed(busy, isConnected: true, random: 0) == .giveUp(error))
    }

    @Test("attempts without a connection do not count (OFF-5)")
    func offline() {
        var counter = RetryCounter()
        for _ in 0..<100 { #expect(counter.tryFailed(busy, isConnected: false, random: 0) == .waitForConnection) }
        #expect(counter.tries == 0)
        #expect(counter.tryFailed(busy, isConnected: true, random: 1) == .retry(after: .seconds(1)))
    }

    @Test("progress resets the count of attempts")
    func progress() {
        var counter = RetryCounter()
        for _ in 0..<5 { _ = counter.tryFailed(busy, isConnected: true, random: 0) }
        counter.progressed()
        #expect(counter.tryFailed(busy, isConnected: true, random: 1) == .retry(after: .seconds(1)))
    }

    @Test("a refusal is not retried, and a missing session waits for the user (OFF-6, OFF-9)")
    func others() {
        var counter = RetryCounter()
        let error = StrataError(.invalidMessage, "no parts")
        #expect(counter.tryFailed(.permanent(error, nil), isConnected: true, random: 0) == .giveUp(error))
        #expect(
            counter.tryFailed(.signInNeeded(nonce: "n"), isConnected: true, random: 0) == .waitForSignIn(nonce: "n"))
        #expect(counter.tries == 0)
    }

    @Test("transient statuses are retried (OFF-5)", arguments: [408, 429, 500, 502, 503, 504])
    func transient(_ status: Int) {
        let failure = RequestFailure(answer(status, headers: [.init(name: "Retry-After", value: "3")]))
        #expect(failure == .transient(StrataError(.networkRequestFailed, "HTTP \(status)"), retryAfter: .seconds(3)))
    }

    @Test("permanent statuses are not retried (OFF-6)", arguments: [400, 403, 404, 406, 409, 410, 413, 422])
    func permanent(_ status: Int) {
        let answer = answer(status, body: #"{"id":"invalid_property","message":"No."}"#)
        let failure = RequestFailure(answer, permanent: .invalidMessage)
        #expect(failure == .permanent(StrataError(.invalidMessage, "HTTP \(status) invalid_property: No."), answer))
        #expect(failure.error.code == .invalidMessage)
    }

    @Test("a missing session has the nonce of the response")
    func unauthorized() {
        #expect(RequestFailure(answer(401, body: #"{"data":{"nonce":"n"}}"#)) == .signInNeeded(nonce: "n"))
        #expect(RequestFailure.signInNeeded(nonce: nil).error.code == .unauthenticated)
    }

    @Test("errors without a response are transient, except for an invalid address")
    func errors() {
        for code in [ProtocolClientError.Code.transport, .deadlineExceeded, .closed, .untrusted, .malformed] {
            let error = ProtocolClientError(code, "x")
            #expect(
                RequestFailure(error)
                    == .transient(StrataError(.networkRequestFailed, error.description), retryAfter: nil))
        }
        let invalid = ProtocolClientError(.invalidURL, "x")
        #expect(RequestFailure(invalid) == .permanent(StrataError(.networkRequestFailed, invalid.description), nil))
        #expect(RequestFailure(RequestFailure.signInNeeded(nonce: "n")) == .signInNeeded(nonce: "n"))
        #expect(RequestFailure(StrataError(.invalidKey, "k")) == .permanent(StrataError(.invalidKey, "k"), nil))
    }
}
