// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestTiers
import Testing

@testable import ProtocolClient
@testable import StrataKit

@Suite("answers to pending changes")
struct ServerAnswerTests {
    private func answer(_ success: Bool, _ data: JSONValue) -> ServerAnswer {
        let json: JSONValue = [
            "type": "response", "body": ["request_id": "1", "success": .bool(success), "data": data],
        ]
        return ServerAnswer(SocketResponse(packet: ReceivedPacket(index: 0, receivedAt: .now, json: json)))
    }

    private func refusal(_ id: String, _ data: JSONValue = nil) -> ServerAnswer {
        answer(false, ["id": .string(id), "message": "words", "data": data])
    }

    @Test("a success has the object")
    func success() throws {
        guard case .success(let object, let positions) = answer(true, ["id": "x"]) else {
            throw StrataError(.unknown, "no success")
        }
        #expect(object["id"].string == "x")
        #expect(positions == .init())
    }

    @Test(
        "an id in use, and an existing distinct conversation, are successes with the object",
        .proves("OFF-7", "CONV-32"),
        arguments: ["id_in_use", "conflict"])
    func exists(_ id: String) throws {
        guard case .success(let object, _) = refusal(id, ["id": "x"]) else { throw StrataError(.unknown, "no success") }
        #expect(object["id"].string == "x")
    }

    @Test(
        "missing content on the server is distinguished from other invalid properties",
        arguments: [("parts.0.content", true), ("content", true), ("parts.0.body", false)])
    func contentGone(_ property: String, _ isGone: Bool) {
        let answer = refusal("invalid_property", ["property": .string(property)])
        #expect(isGone == { if case .contentGone = answer { true } else { false } }())
    }

    @Test(
        "an id in use by an inaccessible object is a success, and a conflict without the object is a refusal",
        .proves("OFF-7"))
    func existsUnseen() throws {
        guard case .success(let object, _) = refusal("id_in_use") else { throw StrataError(.unknown, "no success") }
        #expect(object == .null)
        guard case .refused = refusal("conflict") else { throw StrataError(.unknown, "not refused") }
    }

    @Test(
        "a permanent refusal has the error code for the app", .proves("ERR-4"),
        arguments: [
            ("not_found", StrataError.Code.conversationDeleted), ("access_denied", .userNotAParticipant),
            ("user_suspended", .notAuthenticated),
            ("invalid_header", .unknown), ("something_new", .unknown),
        ])
    func refused(_ id: String, _ code: StrataError.Code) throws {
        guard case .refused(let error) = refusal(id) else { throw StrataError(.unknown, "not refused") }
        #expect(error.code == code && error.message == "words")
    }

    @Test(
        "an invalid value has the error code of metadata or of the message", .proves("ERR-4"),
        arguments: [("metadata.a", StrataError.Code.invalidValue), ("parts", .invalidMessage)])
    func invalid(_ property: String, _ code: StrataError.Code) throws {
        guard case .refused(let error) = refusal("invalid_property", ["property": .string(property)]) else {
            throw StrataError(.unknown, "not refused")
        }
        #expect(error.code == code)
    }

    @Test(
        "transient failures count as attempts", .proves("OFF-5", "ERR-4"),
        arguments: ["service_unavailable", "rate_limit_exceeded", "request_timeout", "internal_server_error"])
    func transient(_ id: String) throws {
        guard case .retry(let error, true, nil) = refusal(id) else { throw StrataError(.unknown, "no retry") }
        #expect(error.code == .networkRequestFailed)
    }

    private func answer(_ status: Int, _ headers: [String: String], _ body: String = "") -> ServerAnswer {
        ServerAnswer(
            RESTResponse(status: status, headers: headers.map { .init(name: $0, value: $1) }, body: Data(body.utf8)))
    }

    @Test("a success over REST has positions in its headers")
    func positions() throws {
        guard case .success(_, let positions) = answer(200, ["Strata-Position": "12", "Strata-User-Position": "3"])
        else {
            throw StrataError(.unknown, "no success")
        }
        #expect(positions == .init(conversation: 12, user: 3))
    }

    @Test(
        "the status decides without an error id, and the server's pause is kept", .proves("OFF-5"),
        arguments: [408, 429, 500, 503])
    func status(_ status: Int) throws {
        guard case .retry(_, true, let pause) = answer(status, ["Retry-After": "7"]) else {
            throw StrataError(.unknown, "no retry")
        }
        #expect(pause == .seconds(7))
        guard case .refused = answer(422, [:], "<html>") else { throw StrataError(.unknown, "not refused") }
    }

    @Test("a create that failed because of its predecessor does not count")
    func predecessor() throws {
        guard case .retry(_, false, nil) = refusal("predecessor_failed") else {
            throw StrataError(.unknown, "no retry")
        }
    }

    @Test("an ended session stops the queue", .proves("OFF-9", "ERR-4"))
    func signIn() throws {
        guard case .signInNeeded = refusal("authentication_required") else { throw StrataError(.unknown, "no sign-in") }
    }
}
