// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of sections 1.9 to 1.11: repeated requests, availability, errors.
extension S01 {
    // MARK: 1.9

    static let duplicates: [Rule] = [
        Rule("1.9", "a conversation gets the id its creator chose, given as a whole id or a bare UUID") { f in
            let ana = try await f.user("ana")
            for whole in [true, false] {
                let id = Layer.newConversation()
                let answer = try await ana.call(
                    "POST", "/conversations", User.conversation([], id: whole ? id : Layer.last(id)))
                f.succeeded(answer, 201)
                f.equal(answer.json["id"].string, id)
            }
        },
        Rule("1.9", "a message gets the id its sender chose, given as a whole id or a bare UUID") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            for whole in [true, false] {
                let id = Layer.newMessage()
                let body = User.message("x", id: whole ? id : Layer.last(id))
                let answer = try await ana.call("POST", Layer.path(conversation) + "/messages", body)
                f.succeeded(answer, 201)
                f.equal(answer.json["id"].string, id)
            }
        },
        Rule("1.9", "creating a conversation again under its id is 409 id_in_use with the conversation") { f in
            let users = try await f.users("ana", "ben")
            let id = Layer.newConversation()
            let body = User.conversation([users[1].id], metadata: ["a": "1"], id: id)
            f.succeeded(try await users[0].call("POST", "/conversations", body), 201)
            let again = try await users[0].call("POST", "/conversations", body)
            f.refused(again, "id_in_use")
            f.equal(again.json["data"], try await users[0].load(id))
        },
        Rule(
            "1.9",
            "creating a conversation under the id of one the caller may not see is 409 id_in_use without an object"
        ) { f in
            let users = try await f.users("ana", "ben")
            let id = try await users[0].converse([])
            let answer = try await users[1].call("POST", "/conversations", User.conversation([], id: id))
            f.refused(answer, "id_in_use")
            f.equal(answer.json["data"], [:])
        },
        Rule("1.9", "sending a message under the id of one the sender may not see is 409 id_in_use without an object") {
            f in
            let users = try await f.users("ana", "ben")
            let message = try await users[0].sendID("secret", to: try await users[0].converse([]))
            let own = try await users[1].converse([])
            let answer = try await users[1].call("POST", Layer.path(own) + "/messages", User.message("x", id: message))
            f.refused(answer, "id_in_use")
            f.equal(answer.json["data"], [:])
        },
        Rule("1.9", "over the socket a conversation's id in use is an unsuccessful response with the conversation") {
            f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let id = Layer.newConversation()
            let first = try await socket.does("Conversation.create", nil, User.conversation([], id: id))
            let again = try await socket.ask("Conversation.create", nil, User.conversation([], id: id))
            f.refused(again, "id_in_use")
            f.equal(again.data["data"]["id"], first["id"])
            f.equal(again.data["data"], try await ana.load(id))
        },
        Rule("1.9", "over the socket a message's id in use is an unsuccessful response with the message") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let conversation = try await ana.converse([])
            let id = Layer.newMessage()
            try await socket.does("Message.create", conversation, User.message("x", id: id))
            let again = try await socket.ask("Message.create", conversation, User.message("x", id: id))
            f.refused(again, "id_in_use")
            f.equal(again.data["data"], try await ana.load(id))
        },
        Rule("1.9", "a repeated create emits nothing") { f in
            let scene = try await Scene(f)
            let message = try await scene.sent("once")
            let seen = try await scene.seen {
                _ = try await scene.ana.call(
                    "POST", Layer.path(scene.conversation) + "/messages", User.message("once", id: message))
                _ = try await scene.ana.call(
                    "POST", "/conversations", User.conversation([scene.ben.id], id: scene.conversation))
            }
            for packets in seen { f.equal(packets.map(\.summary), []) }
        },
        Rule("1.9", "a retry succeeds even if the sender has left the conversation meanwhile") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            let id = Layer.newMessage()
            let path = Layer.path(conversation) + "/messages"
            f.succeeded(try await users[0].call("POST", path, User.message("x", id: id)), 201)
            try await users[0].patch(conversation, remove(users[0]))
            let again = try await users[0].call("POST", path, User.message("x", id: id))
            f.refused(again, "id_in_use")
            f.equal(again.json["data"]["id"].string, id)
        },
    ]

    // MARK: 1.10

    static let availability: [Rule] = [
        Rule("1.10", "a burst of receipts is not refused") { f in
            let users = try await f.users("ana", "ben")
            let conversation = try await users[0].converse(users[1])
            var messages: [String] = []
            for number in 0..<50 { messages.append(try await users[0].sendID("\(number)", to: conversation)) }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for message in messages {
                    group.addTask {
                        try await users[1].call("POST", Layer.path(message) + "/receipts", ["type": "delivery"]).status
                    }
                }
                for try await status in group { f.equal(status, 204) }
            }
        },
        Rule("1.10", "HEAD /ping is never refused, however often it comes") { f in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<200 {
                    group.addTask { try await f.client.call("HEAD", "/ping", deadline: Fixture.deadline).status }
                }
                for try await status in group { f.equal(status, 200) }
            }
        },
        Rule(
            "1.10",
            "a session that asks for more than the limit is 429 rate_limit_exceeded and told when to come back; others are not",
            .doc
        ) { f in
            guard let strict = try await f.system.furtherGateways?.client(.strict, f.version) else {
                return f.skip("no gateway with low limits")
            }
            let (ana, ben) = (try await f.user("ana"), try await f.user("ben"))
            var answers: [RESTResponse] = []
            for _ in 0..<6 {
                answers.append(
                    try await strict.call("GET", "/conversations", token: ana.session, deadline: Fixture.deadline))
            }
            f.equal(answers.first?.status, 200)
            let refusal = try f.need(answers.first { $0.status == 429 }, "refusal")
            f.refused(refusal, "rate_limit_exceeded")
            f.check(
                (refusal.header("Retry-After").flatMap { Int($0) } ?? 0) > 0,
                "Retry-After \(refusal.header("Retry-After") ?? "none")")
            f.succeeded(
                try await strict.call("GET", "/conversations", token: ben.session, deadline: Fixture.deadline), 200)
            for _ in 0..<20 { f.equal(try await strict.call("HEAD", "/ping", deadline: Fixture.deadline).status, 200) }
        },
        Rule("1.10", "while a service is down, what needs it is 503 service_unavailable, and the rest is done") { f in
            guard let cutOff = try await f.system.furtherGateways?.client(.cutOff, f.version) else {
                return f.skip("no gateway to cut off")
            }
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let message = try await ana.sendID("hello", to: conversation)
            let patch: JSONValue = .array([set("metadata.title", "x")])
            let patched = try await cutOff.call(
                "PATCH", Layer.path(conversation), body: patch, token: ana.session, deadline: Fixture.deadline)
            f.refused(patched, "service_unavailable")
            for path in [Layer.path(conversation), Layer.path(message)] {
                f.succeeded(try await cutOff.call("GET", path, token: ana.session, deadline: Fixture.deadline), 200)
            }
        },
    ]

    // MARK: 1.11

    static let errors: [Rule] = [
        Rule("1.11", "error objects have id, code, message, url and data, and the url explains the error") { f in
            let ana = try await f.user("ana")
            let answer = try await ana.call("GET", "/conversations/\(Layer.uuid())")
            f.refused(answer, "not_found")
            f.equal(answer.json["url"].string, "\(f.system.publicURL)/docs/errors#not_found")
            f.equal(answer.json["data"], [:])
        },
        Rule("1.11", "an unknown path is 404 invalid_endpoint") { f in
            let ana = try await f.user("ana")
            for path in ["/nowhere", "/conversations/\(Layer.uuid())/nothing", "/a/b/c/d"] {
                f.refused(try await ana.call("GET", path), "invalid_endpoint")
            }
        },
        Rule("1.11", "an unknown method on a known path is 404 invalid_endpoint or 405 method_not_allowed") { f in
            let ana = try await f.user("ana")
            for (method, path) in [
                ("PUT", "/conversations"), ("DELETE", "/nonces"), ("PATCH", "/messages/\(Layer.uuid())"),
            ] {
                let answer = try await ana.call(method, path)
                f.refused(answer, answer.status == 405 ? "method_not_allowed" : "invalid_endpoint")
            }
        },
        Rule("1.11", "malformed JSON is 400 invalid_request") { f in
            let ana = try await f.user("ana")
            for text in ["{", "", "{\"participants\":[}", "nonsense", "{\"a\":1}x"] {
                f.refused(
                    try await f.client.call("POST", "/conversations", data: Data(text.utf8), token: ana.session),
                    "invalid_request")
            }
        },
        Rule("1.11", "JSON of the wrong structure is 400 invalid_request") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            for body: JSONValue in ["text", [], 5, nil] {
                f.refused(try await ana.call("POST", "/conversations", body), "invalid_request")
            }
            for body: JSONValue in ["text", [:], 5] {
                f.refused(try await ana.call("PATCH", Layer.path(conversation), body), "invalid_request")
            }
        },
        Rule("1.11", "a property inside an array is named with its index") { f in
            let ana = try await f.user("ana")
            let conversation = try await ana.converse([])
            let body: JSONValue = ["parts": [["mime_type": "text/plain", "body": "x"], ["body": "y"]]]
            let answer = try await ana.call("POST", Layer.path(conversation) + "/messages", body)
            f.refused(answer, "missing_property", property: "parts.1.mime_type")
        },
        Rule("1.11", "over the socket the error object is the data of an unsuccessful response") { f in
            let ana = try await f.user("ana")
            let answer = try await ana.socket().ask("Conversation.create", nil, [:])
            f.refused(answer, "missing_property", property: "participants")
            f.equal(answer.packet.body["success"], false)
        },
        Rule("1.11", "the page of errors explains every error", .doc) { f in
            let answer = try await f.client.call(
                "GET", "/docs/errors", headers: ["Accept": "text/html"], deadline: Fixture.deadline)
            f.equal(answer.status, 200)
            let text = String(decoding: answer.body, as: UTF8.self)
            for id in Fixture.errors.keys { f.check(text.contains("id=\"\(id)\""), "nothing about \(id)") }
        },
        Rule("1.11", "the descriptions are served as a readable page and as files", .doc) { f in
            for path in ["/docs/", "/docs/openapi.yaml", "/docs/asyncapi.yaml"] {
                let answer = try await f.client.call(
                    "GET", path, headers: ["Accept": "*/*"], deadline: Fixture.deadline)
                f.equal(answer.status, 200, path)
                f.check(answer.body.count > 500, "\(path) has \(answer.body.count) bytes")
            }
        },
    ]
}
