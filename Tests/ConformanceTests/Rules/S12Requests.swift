// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of section 12: handshake, envelope, requests.
enum S12Requests {
    static let rules: [Rule] = handshake + envelope + requests

    // MARK: 12.1

    private static func refusal(
        _ f: Fixture, _ token: String?, _ options: ProtocolSocket.Options = .init()
    ) async throws -> RESTResponse {
        do {
            let socket = try await f.client.openSocket(
                sessionToken: token, options: options, deadline: Fixture.deadline)
            f.keep(socket, isChecked: false)
            throw HarnessError("the socket was opened")
        } catch let error as ProtocolClientError {
            guard let answer = error.answer else { throw error }
            return answer
        }
    }

    private static let handshake: [Rule] = [
        Rule("12.1", "the token in the query opens a socket, and the subprotocol is echoed") { f in
            let ana = try await f.user("ana")
            // The client fails if the answer has another subprotocol, or none.
            try await ana.silentSocket().does("Counter.read")
        },
        Rule("12.1", "the token may stand in an Authorization header instead") { f in
            let ana = try await f.user("ana")
            for quote in ["\"", "'"] {
                var options = ProtocolSocket.Options()
                options.headers = ["Authorization": "Layer session-token=\(quote)\(ana.session)\(quote)"]
                options.target = "/"
                try await ana.silentSocket(options: options).does("Counter.read")
            }
        },
        Rule("12.1", "further query parameters are ignored, and /websocket is another name") { f in
            let ana = try await f.user("ana")
            let queries = [
                "/?session_token=\(ana.session)&client-id=\(Layer.uuid())&layer-xdk-version=4.0.6",
                "/?x=1&session_token=\(ana.session)",
            ]
            for target in queries + ["/websocket?session_token=\(ana.session)"] {
                var options = ProtocolSocket.Options()
                options.target = target
                try await ana.silentSocket(options: options).does("Counter.read")
            }
        },
        Rule("12.1", "an unknown subprotocol, or none, is 406 with an error object") { f in
            let ana = try await f.user("ana")
            for subprotocol in ["layer-9.0", "chat", "layer-1.0", ""] {
                var options = ProtocolSocket.Options()
                options.subprotocol = subprotocol
                f.refused(try await refusal(f, ana.session, options), "invalid_header")
            }
        },
        Rule("12.1", "an invalid token, or none, is 401 with a nonce") { f in
            for token in ["unknown", "", nil] { f.refused(try await refusal(f, token), "authentication_required") }
            let ana = try await f.user("ana")
            try await ana.does("DELETE", "/sessions/\(ana.session)")
            f.refused(try await refusal(f, ana.session), "authentication_required")
        },
        Rule("12.1", "a path that is no socket's does not become one") { f in
            let ana = try await f.user("ana")
            var options = ProtocolSocket.Options()
            options.target = "/nowhere?session_token=\(ana.session)"
            f.check([404, 400].contains(try await refusal(f, nil, options).status), "another status")
        },
        Rule("12.1", "a session may have 20 sockets at once") { f in
            let ana = try await f.user("ana")
            var sockets: [ProtocolSocket] = []
            for gateway in 0..<20 { sockets.append(try await ana.socket(gateway: gateway)) }
            let conversation = try await ana.converse([])
            for socket in sockets { try await socket.change("create", "Conversation", conversation) }
        },
        Rule("12.1", "nothing is sent within two seconds unless the client asks for something") { f in
            let users = try await f.users("ana", "ben")
            let opening = ContinuousClock.now
            let socket = try await users[0].silentSocket()
            let conversation = try await users[1].converse(users[0])
            try await users[1].send("x", to: conversation)
            let answer = try await socket.ask("Counter.read")
            // On a busy machine the request may be sent after the two seconds.
            let first = socket.history.first?.receivedAt ?? answer.packet.receivedAt
            f.check(
                answer.packet.index == 0 || first - opening >= .seconds(2),
                "something was sent after \(first - opening)")
        },
        Rule(
            "12.1",
            "a client that only listens is told what happens, with times from which a late replay misses nothing"
        ) { f in
            let users = try await f.users("ana", "ben")
            let socket = try await users[0].silentSocket()
            let conversation = try await users[1].converse(users[0])
            let first = try await users[1].send("first", to: conversation)
            try await socket.change("create", "Conversation", conversation)
            try await socket.message("first")
            let made = try await users[0].load(conversation)["created_at"].string ?? ""
            for packet in socket.history {
                f.check(
                    packet.timestamp ?? "" < made,
                    "\(packet.timestamp ?? "none"), though only listening since before \(made)")
            }
            let count = socket.receivedCount
            try await socket.does(
                "Event.replay", nil, ["from_timestamp": .string(socket.history.last?.timestamp ?? "")])
            let replayed = socket.packets(from: count).map(\.summary)
            for summary in ["C create", "M create"] { f.check(replayed.contains(summary), "replayed are \(replayed)") }
            try await users[1].send("second", to: conversation)
            let second = try await socket.message("second")
            f.check(
                second.timestamp ?? "" > first["sent_at"].string ?? "",
                "asked, it is still told \(second.timestamp ?? "no time")")
        },
    ]

    // MARK: 12.2

    private static let envelope: [Rule] = [
        Rule("12.2", "counters are 0, 1, 2, … over packets of every kind, per connection") { f in
            let scene = try await Scene(f)
            try await scene.startTyping()
            try await scene.sent("x")
            try await scene.other.does("Counter.read")
            try await scene.ben.does("POST", Layer.path(scene.conversation) + "/mark_all_read", [:])
            _ = try await scene.other.nextPacket("the operation", deadline: Fixture.deadline) { $0.type == "operation" }
            for socket in scene.all {
                f.equal(socket.history.map { $0.counter ?? -1 }, Array(0..<socket.history.count))
            }
            f.equal(Set(scene.other.history.map(\.type)), ["response", "change", "signal", "operation"])
        },
        Rule("12.2", "every packet has type, body, counter and a timestamp that never goes back") { f in
            let scene = try await Scene(f)
            for number in 0..<5 { try await scene.sent("\(number)", by: number % 2 == 0 ? scene.ana : scene.ben) }
            for socket in scene.all {
                for packet in socket.history {
                    f.check(["response", "change", "signal", "operation"].contains(packet.type), packet.type)
                    f.check(packet.body.object != nil && packet.counter != nil, "\(packet)")
                    f.check(Layer.isTimestamp(packet.timestamp), "\(packet.timestamp ?? "none")")
                }
                let times = socket.history.compactMap(\.timestamp)
                f.equal(times, times.sorted())
            }
        },
    ]

    // MARK: 12.3

    private static func raw(
        _ id: JSONValue, _ method: String, data: JSONValue? = nil, objectID: String? = nil
    ) -> JSONValue {
        var body: JSONValue = ["request_id": id, "method": .string(method)]
        if let data { body["data"] = data }
        if let objectID { body["object_id"] = .string(objectID) }
        return ["type": "request", "body": body]
    }

    private static func answer(_ socket: ProtocolSocket, _ id: String) async throws -> ReceivedPacket {
        try await socket.nextPacket("the answer to \(id)", deadline: Fixture.deadline) {
            $0.type == "response" && $0.requestID == id
        }
    }

    /// Expects an invalid packet to be ignored, or the socket to be closed with 1003.
    private static func isIgnoredOrRefused(_ f: Fixture, _ text: String) async throws {
        let ana = try await f.user("ana")
        let socket = try await ana.socket()
        try await socket.sendText(text)
        do {
            _ = try await socket.ask("Counter.read")
        } catch {
            f.equal(try await socket.waitForClose(deadline: Fixture.deadline).code, 1003, text)
        }
    }

    private static let requests: [Rule] = [
        Rule("12.3", "request_id and method are echoed, whatever string the id is") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            for id in ["a", "request number 7", "é\"\\", Layer.uuid()] {
                try await socket.sendPacket(raw(.string(id), "Counter.read"))
                let packet = try await answer(socket, id)
                f.equal(packet.body["method"], "Counter.read")
                f.equal(packet.body["success"], true)
            }
        },
        Rule("12.3", "data of a successful answer is an object or absent, never a string") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let conversation = try await ana.converse([])
            let asked: [(String, String?, JSONValue?)] = [
                ("Counter.read", nil, nil), ("Presence.subscribe", nil, nil),
                ("Presence.update", nil, [set("status", "auto")]),
                ("Presence.sync", nil, ["ids": []]), ("Message.create", conversation, User.message("x")),
                ("Conversation.create", nil, User.conversation([])),
                ("Event.replay", nil, ["from_timestamp": "2019-01-01T00:00:00.000Z"]),
            ]
            for (method, id, data) in asked {
                let answer = try await socket.ask(method, id, data)
                f.check(answer.isSuccess, "\(method): \(answer.data)")
                f.check(answer.data.isNull || answer.data.object != nil, "\(method): \(answer.data)")
            }
        },
        Rule("12.3", "every request has exactly one answer") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let conversation = try await ana.converse([])
            var ids: [String] = []
            for number in 0..<30 {
                let id = "q\(number)"
                ids.append(id)
                switch number % 3 {
                case 0: try await socket.sendPacket(raw(.string(id), "Counter.read"))
                case 1:
                    try await socket.sendPacket(
                        raw(.string(id), "Message.create", data: User.message(id), objectID: conversation))
                default:
                    try await socket.sendPacket(raw(.string(id), "Presence.sync", data: ["ids": [.string(ana.id)]]))
                }
            }
            for id in ids { f.equal(try await answer(socket, id).body["success"], true) }
            try await socket.does("Counter.read")
            for id in ids { f.equal(socket.history.filter { $0.requestID == id }.count, 1, id) }
        },
        Rule("12.3", "creates of a connection are executed in the order in which they came") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let id = Layer.newConversation()
            try await socket.sendPacket(raw("c", "Conversation.create", data: User.conversation([], id: id)))
            for number in 0..<20 {
                try await socket.sendPacket(
                    raw(.string("m\(number)"), "Message.create", data: User.message("\(number)"), objectID: id))
            }
            for number in 0..<20 { f.equal(try await answer(socket, "m\(number)").body["success"], true) }
            let texts = (try await ana.get(Layer.path(id) + "/messages").array ?? [])
                .compactMap { $0["parts"][0]["body"].string }
            f.equal(texts.reversed(), (0..<20).map { "\($0)" })
        },
        Rule(
            "12.3",
            "an ordered create behind one that failed is predecessor_failed, until one comes that is not ordered", .doc
        ) { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let id = try await ana.converse([])
            var requests: [(id: String, data: JSONValue)] = []
            for (name, ordered) in [("a", nil), ("b", true), ("c", true), ("d", false), ("e", true)]
                as [(String, Bool?)]
            {
                var data: JSONValue = name == "a" ? ["parts": []] : User.message(name)
                if let ordered { data["ordered"] = .bool(ordered) }
                requests.append((name, data))
            }
            for request in requests {
                try await socket.sendPacket(
                    raw(.string(request.id), "Message.create", data: request.data, objectID: id))
            }
            f.equal(try await answer(socket, "a").body["success"], false)
            for name in ["b", "c"] {
                let refusal = try await answer(socket, name)
                f.equal(refusal.data["id"], "predecessor_failed")
                f.equal(refusal.data["data"], ["request_id": "a"])
            }
            for name in ["d", "e"] { f.equal(try await answer(socket, name).body["success"], true, name) }
            let texts = (try await ana.get(Layer.path(id) + "/messages").array ?? [])
                .compactMap { $0["parts"][0]["body"].string }
            f.equal(texts.reversed(), ["d", "e"])
        },
        Rule(
            "12.3",
            "ordered creates depend on that of their conversation, and on nothing of another socket or conversation",
            .doc
        ) { f in
            let ana = try await f.user("ana")
            let (socket, other) = (try await ana.socket(), try await ana.socket())
            let (id, good) = (Layer.newConversation(), try await ana.converse([]))
            var message = User.message("x")
            message["ordered"] = true
            let conversation: JSONValue = ["id": .string(id), "participants": "nobody"]
            f.refused(
                try await socket.ask("Conversation.create", nil, conversation), "invalid_property",
                property: "participants")
            f.refused(try await socket.ask("Message.create", id, message), "predecessor_failed")
            f.refused(try await other.ask("Message.create", id, message), "not_found")
            try await socket.does("Message.create", good, message)
            try await socket.does("Conversation.create", nil, User.conversation([], id: id))
            try await socket.does("Message.create", id, message)
        },
        Rule("12.3", "an ordered create goes on behind one that turns out to have arrived before", .doc) { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let id = try await ana.converse([])
            let sent = try await ana.sendID("1", to: id)
            var next = User.message("2")
            next["ordered"] = true
            f.refused(try await socket.ask("Message.create", id, User.message("1", id: sent)), "id_in_use")
            try await socket.does("Message.create", id, next)
        },
        Rule("12.3", "ordered that is no boolean is invalid_property ordered", .doc) { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let id = try await ana.converse([])
            for value: JSONValue in ["true", 1, [true]] {
                var message = User.message("x")
                message["ordered"] = value
                f.refused(try await socket.ask("Message.create", id, message), "invalid_property", property: "ordered")
            }
        },
        Rule("12.3", "Counter.read answers the counter of the packet before its answer") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            try await ana.converse([])
            try await socket.change("create", "Conversation")
            for _ in 0..<3 {
                let answer = try await socket.ask("Counter.read")
                f.equal(answer.data["counter"].int, (answer.packet.counter ?? 0) - 1)
            }
        },
        Rule("12.3", "an unknown method is an unsuccessful response invalid_operation, and so is what REST alone does")
        { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            for method in ["Nothing.do", "Message.delete", "Conversation.patch", "Conversation.get", ""] {
                f.refused(try await socket.ask(method), "invalid_operation")
            }
        },
        Rule("12.3", "Presence.unsubscribe succeeds", .doc) { f in
            let ana = try await f.user("ana")
            try await ana.socket().does("Presence.unsubscribe")
        },
        Rule("12.3", "text that is no JSON is ignored, or the socket closed with 1003") { f in
            try await isIgnoredOrRefused(f, "nonsense {")
        },
        Rule("12.3", "a packet of unknown type is ignored, or the socket closed with 1003") { f in
            try await isIgnoredOrRefused(f, "{\"type\":\"change\",\"body\":{}}")
            try await isIgnoredOrRefused(f, "{\"type\":5}")
            try await isIgnoredOrRefused(f, "[]")
        },
        Rule("12.3", "a request without request_id is ignored, or the socket closed with 1003") { f in
            try await isIgnoredOrRefused(f, "{\"type\":\"request\",\"body\":{\"method\":\"Counter.read\"}}")
            try await isIgnoredOrRefused(f, "{\"type\":\"request\"}")
        },
        Rule("12.3", "a frame of nearly a megabyte is taken, a larger one closes the socket with 1009") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            let filler = { (size: Int) -> JSONValue in
                raw("big", "Counter.read", data: ["x": .string(String(repeating: "x", count: size))])
            }
            try await socket.sendPacket(filler(1_000_000))
            f.equal(try await answer(socket, "big").body["success"], true)
            try? await socket.sendPacket(filler(1_200_000))
            f.equal(try await socket.waitForClose(deadline: Fixture.deadline).code, 1009)
        },
        Rule("12.3", "a refused request leaves the socket as it was") { f in
            let ana = try await f.user("ana")
            let socket = try await ana.socket()
            for _ in 0..<5 {
                f.check(
                    !(try await socket.ask("Message.create", Layer.newConversation(), User.message("x"))).isSuccess,
                    "success")
            }
            let conversation = try await ana.converse([])
            try await socket.change("create", "Conversation", conversation)
        },
    ]
}
