// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import ProtocolClient
@testable import StrataKit

@Suite("why there is no connection")
struct ConnectionFailureTests {
    private func closure(_ code: UInt16?, _ reason: String? = nil) -> ConnectionFailure {
        ConnectionFailure(SocketClosure(code: code, reason: reason))
    }

    private func answer(_ status: Int, retryAfter: String? = nil, body: String = "{}") -> RESTResponse {
        RESTResponse(status: status, headers: retryAfter.map { [.init(name: "retry-after", value: $0)] } ?? [], body: Data(body.utf8))
    }

    private func opening(_ code: ProtocolClientError.Code, _ answer: RESTResponse? = nil) -> ConnectionFailure {
        ConnectionFailure(opening: ProtocolClientError(code, "no", answer: answer))
    }

    @Test("a lost connection, a gateway that restarts, and a silence the server noticed: at once", arguments: [nil, 1000, 1001, 4408] as [UInt16?])
    func now(_ code: UInt16?) {
        #expect(closure(code).remedy == .reconnect(.now))
        #expect(closure(code).error.code == .networkRequestFailed)
    }

    @Test(
        "what would happen again at once, and what is not known: later",
        arguments: [1002, 1003, 1008, 1009, 1011, 1012, 1013, 3000, 4000, 4999] as [UInt16])
    func later(_ code: UInt16) { #expect(closure(code).remedy == .reconnect(.later(nil))) }

    @Test("the session has ended: sign in")
    func ended() {
        #expect(closure(4401, "signed out").remedy == .signIn(nonce: nil))
        #expect(closure(4401, "signed out").error.code == .unauthenticated)
        #expect(closure(4401, "signed out").error.message == "the server closed the connection with 4401: signed out")
        #expect(closure(1001, "").error.message == "the server closed the connection with 1001")
    }

    @Test("refused without a session: sign in, with the nonce that the server sent")
    func unauthorized() {
        let body = #"{"id":"authentication_required","data":{"nonce":"n1"}}"#
        #expect(opening(.refused, answer(401, body: body)).remedy == .signIn(nonce: "n1"))
        #expect(opening(.refused, answer(401, body: "")).remedy == .signIn(nonce: nil))
    }

    @Test("any other refusal: later, when the server says", arguments: [403, 404, 406, 429, 500, 503])
    func refused(_ status: Int) {
        #expect(opening(.refused, answer(status)).remedy == .reconnect(.later(nil)))
        #expect(opening(.refused, answer(status, retryAfter: "7")).remedy == .reconnect(.later(.seconds(7))))
        #expect(opening(.refused).remedy == .reconnect(.later(nil)))
    }

    @Test("a Retry-After that is no number of seconds is none", arguments: ["soon", "-1", "Fri, 31 Dec 1999 23:59:59 GMT", ""])
    func retryAfter(_ text: String) { #expect(answer(503, retryAfter: text).retryAfter == nil) }

    @Test("a Retry-After is at most a day") func longRetryAfter() {
        #expect(answer(503, retryAfter: "9223372036854775807").retryAfter == .seconds(86_400))
    }

    @Test("no way to the server: at once, and a time that was too short is told as such")
    func unreachable() {
        #expect(opening(.transport).remedy == .reconnect(.now))
        #expect(opening(.closed).remedy == .reconnect(.now))
        #expect(opening(.deadlineExceeded).remedy == .reconnect(.now))
        #expect(opening(.deadlineExceeded).error.code == .connectionTimeout)
        #expect(ConnectionFailure(opening: CancellationError()).remedy == .reconnect(.now))
    }

    @Test("a server that is another one may be the right one later")
    func strange() {
        #expect(opening(.untrusted).remedy == .reconnect(.later(nil)))
        #expect(opening(.malformed).remedy == .reconnect(.later(nil)))
    }

    @Test("an address that is none stays one") func invalid() { #expect(opening(.invalidURL).remedy == .none) }
}
