// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import ProtocolClient
@testable import StrataKit

@Suite("reasons for a missing connection")
struct ConnectionFailureTests {
    private func closure(_ code: UInt16?, _ reason: String? = nil) -> ConnectionFailure {
        ConnectionFailure(SocketClosure(code: code, reason: reason))
    }

    private func answer(_ status: Int, retryAfter: String? = nil, body: String = "{}") -> RESTResponse {
        RESTResponse(
            status: status, headers: retryAfter.map { [.init(name: "retry-after", value: $0)] } ?? [],
            body: Data(body.utf8))
    }

    private func opening(_ code: ProtocolClientError.Code, _ answer: RESTResponse? = nil) -> ConnectionFailure {
        ConnectionFailure(opening: ProtocolClientError(code, "no", answer: answer))
    }

    @Test(
        "a lost connection, a restarting gateway or a detected silence leads to an immediate reconnect",
        arguments: [nil, 1000, 1001, 4408] as [UInt16?])
    func now(_ code: UInt16?) {
        #expect(closure(code).remedy == .reconnect(.now))
        #expect(closure(code).error.code == .networkRequestFailed)
    }

    @Test(
        "a repeating or unknown close code leads to a delayed reconnect",
        arguments: [1002, 1003, 1008, 1009, 1011, 1012, 1013, 3000, 4000, 4999] as [UInt16])
    func later(_ code: UInt16) { #expect(closure(code).remedy == .reconnect(.later(nil))) }

    @Test("an ended session requires a sign-in")
    func ended() {
        #expect(closure(4401, "signed out").remedy == .signIn(nonce: nil))
        #expect(closure(4401, "signed out").error.code == .unauthenticated)
        #expect(closure(4401, "signed out").error.message == "the server closed the connection with 4401: signed out")
        #expect(closure(1001, "").error.message == "the server closed the connection with 1001")
    }

    @Test("a refusal without a session requires a sign-in with the server's nonce")
    func unauthorized() {
        let body = #"{"id":"authentication_required","data":{"nonce":"n1"}}"#
        #expect(opening(.refused, answer(401, body: body)).remedy == .signIn(nonce: "n1"))
        #expect(opening(.refused, answer(401, body: "")).remedy == .signIn(nonce: nil))
    }

    @Test(
        "any other refusal leads to a delayed reconnect, at the server's Retry-After",
        arguments: [403, 404, 406, 429, 500, 503])
    func refused(_ status: Int) {
        #expect(opening(.refused, answer(status)).remedy == .reconnect(.later(nil)))
        #expect(opening(.refused, answer(status, retryAfter: "7")).remedy == .reconnect(.later(.seconds(7))))
        #expect(opening(.refused).remedy == .reconnect(.later(nil)))
    }

    @Test(
        "a Retry-After that is no number of seconds is ignored",
        arguments: ["soon", "-1", "Fri, 31 Dec 1999 23:59:59 GMT", ""])
    func retryAfter(_ text: String) { #expect(answer(503, retryAfter: text).retryAfter == nil) }

    @Test("a Retry-After is at most a day") func longRetryAfter() {
        #expect(answer(503, retryAfter: "9223372036854775807").retryAfter == .seconds(86_400))
    }

    @Test("an unreachable server leads to an immediate reconnect, and a timeout has its own error")
    func unreachable() {
        #expect(opening(.transport).remedy == .reconnect(.now))
        #expect(opening(.closed).remedy == .reconnect(.now))
        #expect(opening(.deadlineExceeded).remedy == .reconnect(.now))
        #expect(opening(.deadlineExceeded).error.code == .connectionTimeout)
        #expect(ConnectionFailure(opening: CancellationError()).remedy == .reconnect(.now))
    }

    @Test("an untrusted or malformed server leads to a delayed reconnect")
    func strange() {
        #expect(opening(.untrusted).remedy == .reconnect(.later(nil)))
        #expect(opening(.malformed).remedy == .reconnect(.later(nil)))
    }

    @Test("an invalid address leads to no reconnect") func invalid() { #expect(opening(.invalidURL).remedy == .none) }
}
