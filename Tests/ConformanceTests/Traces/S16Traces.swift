// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// Rules of section 16: a stock client's requests, step by step. Version 2.0 is WebSDK 3.4.6, version 3.0 is Web XDK
/// 4.0.6.
enum S16 {
    /// Starts Ana and Ben and creates a conversation that both clients know.
    private static func pair(_ f: Fixture) async throws -> (ana: StockClient, ben: StockClient, conversation: String) {
        let (ana, ben) = (StockClient(f, "ana"), StockClient(f, "ben", gateway: 1))
        try await ana.start()
        try await ben.start()
        let conversation = try await ana.converse(with: [ben])
        for client in [ana, ben] { try await client.change("create", "Conversation", conversation) }
        return (ana, ben, conversation)
    }

    private static func text(_ message: JSONValue) -> String {
        let body = message["parts"][0]["body"].string ?? ""
        return (try? JSONValue(parsing: body))?["text"].string ?? body
    }

    /// The rules, sorted by section. Within a section they keep the order below.
    static let rules: [Rule] = (starting + lists + beforeSockets + writing + coming).enumerated()
        .sorted { ($0.element.section, $0.offset) < ($1.element.section, $1.offset) }
        .map(\.element)

    private static let starting: [Rule] = [
        Rule("16.1", "start: ping, nonce, challenge, session, socket and identity side by side, presence") { f in
            let ana = StockClient(f, "ana")
            try await ana.start()
            await ana.processPackets()
            guard let socket = await ana.socket else { return f.fail("no socket") }
            f.equal(
                socket.history.filter { $0.type == "response" }.map(\.requestID),
                f.version == .v2 ? ["r1", "r2"] : ["r1", "r2", "r3"])
            f.equal(socket.history.first?.counter, 0)
        },
        Rule("16.1", "start with a stored session: socket and identity, without a nonce") { f in
            let ana = StockClient(f, "ana")
            try await ana.signIn()
            async let identity: Void = ana.loadIdentity()
            try await ana.openSocket()
            try await identity
            try await ana.announcePresence()
        },
        Rule("16.1", "start with a stored session that has ended: 401 with a nonce, challenge, session, and on") { f in
            let ana = StockClient(f, "ana")
            try await ana.signIn()
            try await ana.rest("DELETE", "/sessions/\(await ana.session ?? "")", gives: 204)
            let refusal = try await ana.rest("GET", "/identities/\(ana.userID)")
            f.refused(refusal, "authentication_required")
            try await ana.answerChallenge(refusal.json["data"]["nonce"].string ?? "")
            try await ana.loadIdentity()
            try await ana.openSocket()
            try await ana.announcePresence()
        },
    ]

    private static let lists: [Rule] = [
        Rule(
            "16.2",
            "the list of conversations, in both orders and page by page, delivery receipts for new last messages, presence of those met"
        ) {
            f in
            let (ana, ben, conversation) = try await pair(f)
            try await ana.send("hello", to: conversation)
            _ = try await ana.converse(with: [ben])
            for order in ["created_at", "last_message"] {
                let answer = try await ben.rest("GET", "/conversations?sort_by=\(order)&page_size=1")
                f.succeeded(answer, 200)
                f.equal(answer.header("Layer-Count"), "2")
                f.check(
                    answer.header("Access-Control-Expose-Headers")?.lowercased().contains("layer-count") == true,
                    "Layer-Count is hidden")
                let next = try await ben.rest(
                    "GET", "/conversations?sort_by=\(order)&page_size=1&from_id=\(answer.json[0]["id"].string ?? "")")
                f.succeeded(next, 200)
                f.equal(Set(answer.json.ids + next.json.ids).count, 2)
                for object in (answer.json.array ?? []) + (next.json.array ?? []) { ben.checkConversation(object) }
            }
            let list = try await ben.rest("GET", "/conversations?sort_by=last_message&page_size=100", gives: 200)
            guard let last = list.array?.first(where: { $0["id"].string == conversation })?["last_message"] else {
                return f.fail("no last_message")
            }
            f.equal(text(last), "hello")
            f.equal(last["recipient_status"][ben.id], "sent")
            try await ben.rest(
                "POST", Layer.path(last["id"].string ?? "") + "/receipts", ["type": "delivery"], gives: 204)
            let update = try await ana.change("update", "Message", last["id"].string)
            f.equal(update.summary, "M update set recipient_status.ben")
            try await ben.sync([ana.id])
            for client in [ana, ben] { await client.processPackets() }
        },
        Rule("16.3", "the list of messages page by page, a receipt for each, four at a time, then all read by position")
        { f in
            let (ana, ben, conversation) = try await pair(f)
            for number in 0..<8 { try await ana.send("\(number)", to: conversation) }
            let path = Layer.path(conversation) + "/messages?page_size=5"
            let first = try await ben.rest("GET", path, gives: 200)
            let rest = try await ben.rest("GET", path + "&from_id=\(first.ids.last ?? "")", gives: 200)
            let messages = (first.array ?? []) + (rest.array ?? [])
            f.equal(messages.map(text), (0..<8).reversed().map { "\($0)" })
            for message in messages { ben.checkMessage(message) }
            for batch in stride(from: 0, to: 8, by: 4) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for message in messages[batch..<batch + 4] {
                        group.addTask {
                            try await ben.rest(
                                "POST", Layer.path(message["id"].string ?? "") + "/receipts", ["type": "delivery"],
                                gives: 204)
                        }
                    }
                    try await group.waitForAll()
                }
            }
            try await ben.rest(
                "POST", Layer.path(messages[7]["id"].string ?? "") + "/receipts", ["type": "read"], gives: 204)
            try await ben.change("update", "Conversation", conversation) {
                $0.has("set", "unread_message_count", value: 7)
            }
            try await ben.rest(
                "POST", Layer.path(conversation) + "/mark_all_read", ["position": messages[0]["position"]], gives: 204)
            try await ben.change("update", "Conversation", conversation) {
                $0.has("set", "unread_message_count", value: 0)
            }
            for client in [ana, ben] {
                let socket = try f.need(await client.socket, "socket")
                let packet = try await socket.nextPacket("the operation", deadline: Fixture.deadline) {
                    $0.type == "operation"
                }
                f.check(
                    packet.data["position"].int != nil && packet.data["identity"]["id"].string == ben.id,
                    "\(packet.data)")
                await client.processPackets()
            }
        },
    ]

    /// Signs in with a new session, runs `load`, and only then opens the socket. Waits for the end of its catch-up.
    /// - Returns: The changes that arrived.
    private static func opensLate(
        _ ben: StockClient, toldBy ana: StockClient, in conversation: String, load: () async throws -> Void
    ) async throws -> [ReceivedPacket] {
        try await ben.signIn()
        try await ben.loadIdentity()
        try await load()
        try await ben.openSocket()
        try await ben.announcePresence()
        let fence = try await ana.send("fence", to: conversation)["id"].string
        let told = try await ben.change("create", "Message", fence)
        await ben.processPackets()
        let packets = await ben.socket?.history ?? []
        return packets.filter { $0.type == "change" && $0.index < told.index }
    }

    private static let beforeSockets: [Rule] = [
        Rule(
            "16.2",
            "a first page of conversations that were just made, loaded before the socket is open, stays the page that was asked for"
        ) { f in
            let (ana, ben) = (StockClient(f, "ana"), StockClient(f, "ben", gateway: 1))
            try await ana.start()
            var conversations: [String] = []
            for _ in 0..<7 { conversations.append(try await ana.converse(with: [ben])) }
            let packets = try await opensLate(ben, toldBy: ana, in: conversations[6]) {
                let page = try await ben.rest("GET", "/conversations?sort_by=created_at&page_size=3", gives: 200)
                f.equal(page.ids, Array(conversations.reversed().prefix(3)))
            }
            f.equal(
                packets.filter { $0.objectType == "Conversation" && $0.operation == "create" }
                    .map { $0.objectID ?? "" }, [])
        },
        Rule(
            "16.3",
            "messages that were just sent are paged through to the last, also before the socket is open, and are not told on top of it"
        ) {
            f in
            let (ana, ben) = (StockClient(f, "ana"), StockClient(f, "ben", gateway: 1))
            try await ana.start()
            let conversation = try await ana.converse(with: [ben])
            var sent: [String] = []
            for number in 0..<70 { sent.append(try await ana.send("\(number)", to: conversation)["id"].string ?? "") }
            let packets = try await opensLate(ben, toldBy: ana, in: conversation) {
                var loaded: [String] = []
                while true {
                    let from = loaded.last.map { "&from_id=\($0)" } ?? ""
                    let page = try await ben.rest(
                        "GET", Layer.path(conversation) + "/messages?page_size=10" + from, gives: 200)
                    loaded += page.ids
                    if page.ids.count < 10 { break }
                }
                f.equal(loaded, sent.reversed())
            }
            f.equal(packets.filter { $0.objectType == "Message" }.map(\.summary), [])
        },
        Rule("16.2", "a user followed and unfollowed before the socket is open does not appear again") { f in
            let (ana, ben, cleo) = (StockClient(f, "ana"), StockClient(f, "ben", gateway: 1), StockClient(f, "cleo"))
            try await ana.start()
            try await cleo.signIn()
            let conversation = try await ana.converse(with: [ben])
            let packets = try await opensLate(ben, toldBy: ana, in: conversation) {
                for method in ["PUT", "DELETE"] {
                    let answer = try await ben.rest(method, "/following/users/\(cleo.userID)")
                    f.check(answer.isSuccess, "\(method): \(answer.status)")
                }
                f.check(
                    !(try await ben.rest("GET", "/identities?page_size=500", gives: 200)).ids.contains(cleo.id),
                    "still followed")
            }
            f.equal(packets.filter { $0.objectID == cleo.id && $0.operation != "delete" }.map(\.summary), [])
        },
    ]

    private static let writing: [Rule] = [
        Rule("16.4", "sending: Message.create with the client's ids, the answer, then the packets of one's own") { f in
            let (ana, ben, conversation) = try await pair(f)
            let sent = try await ana.send("hi", to: conversation)
            let id = sent["id"].string ?? ""
            for client in [ana, ben] {
                let created = try await client.change("create", "Message", id)
                let update = try await client.change("update", "Conversation", conversation) {
                    $0.has("set", "last_message", id: id)
                }
                f.check(created.index < update.index, "the update came first")
                client.checkMessage(created.data)
                await client.processPackets()
            }
            let bens = try f.need(await ben.socket, "socket").history
                .first { $0.isChange("create", of: "Message", id: id) }
            f.equal(bens?.data["notification"]["text"], "hi")
            f.equal(bens?.data["is_unread"], true)
            try await ben.rest("POST", Layer.path(id) + "/receipts", ["type": "delivery"], gives: 204)
            let escaped = ben.id.replacingOccurrences(of: ".", with: "\\.")
            f.equal(
                try await ana.change("update", "Message", id).data,
                [["operation": "set", "property": .string("recipient_status.\(escaped)"), "value": "delivered"]])
        },
        Rule("16.4", "sending a long text: POST /content, PUT, Message.create with content, download") { f in
            let (ana, ben, conversation) = try await pair(f)
            let data = Data(String(repeating: "long ", count: 500).utf8)
            let upload = ["Upload-Content-Type": "text/plain", "Upload-Content-Length": "\(data.count)"]
            let client = f.system.client(0, f.version)
            let announced = try await client.call(
                "POST", "/content", token: await ana.session,
                headers: upload.merging(["Origin": StockClient.origin, "Upload-Origin": StockClient.origin]) { $1 })
            f.succeeded(announced, 201)
            let path = try f.need(announced.json["upload_url"].string, "upload_url").dropFirst(f.system.publicURL.count)
            let headers = upload.merging(["Origin": StockClient.origin, "Accept": "", "Content-Type": ""]) { $1 }
            f.check(try await client.call("PUT", String(path), data: data, headers: headers).isSuccess, "PUT")
            var message = await ana.message("")
            var part: JSONValue = [
                "mime_type": "text/plain",
                "content": ["id": announced.json["id"], "size": .integer(Int64(data.count))],
            ]
            if f.version == .v3 { part["id"] = message["parts"][0]["id"] }
            message["parts"] = [part]
            try await ana.request("Message.create", object: conversation, data: message)
            let content = try await ben.change("create", "Message", message["id"].string).data["parts"][0]["content"]
            f.check(
                (Layer.date(content["expiration"].string)?.timeIntervalSinceNow ?? 0) > 600,
                "expiration \(content["expiration"])")
            let url = try f.need(content["download_url"].string, "download_url").dropFirst(f.system.publicURL.count)
            let answer = try await client.call(
                "GET", String(url), headers: ["Accept": "", "Origin": StockClient.origin])
            f.check(answer.body == data, "other bytes")
        },
        Rule("16.4", "sending again after no answer: id_in_use with the message, which is a success to the client") {
            f in
            let (ana, ben, conversation) = try await pair(f)
            let message = await ana.message("hi")
            try await ana.request("Message.create", object: conversation, data: message)
            let again = try await ana.answer("Message.create", object: conversation, data: message)
            f.equal(again.body["success"], false)
            f.equal(again.data["id"], "id_in_use")
            f.equal(again.data["data"]["id"], message["id"])
            ana.checkMessage(again.data["data"])
            try await ben.change("create", "Message", message["id"].string)
        },
        Rule(
            "16.4", "a new conversation and its first message at once: identities, Conversation.create, Message.create"
        ) { f in
            let (ana, ben) = (StockClient(f, "ana"), StockClient(f, "ben", gateway: 1))
            try await ana.start()
            try await ben.start()
            let conversation = try await ana.converse(with: [ben], distinct: true)
            try await ana.send("first", to: conversation)
            let created = try await ben.change("create", "Conversation", conversation)
            let message = try await ben.change("create", "Message")
            f.check(created.index < message.index, "the message came first")
            f.equal(try await ben.converse(with: [ana], distinct: true), conversation)
            for client in [ana, ben] { await client.processPackets() }
        },
        Rule("16.4", "a new conversation in conflict: conflict with the existing one, which the client takes over") {
            f in
            let (ana, ben) = (StockClient(f, "ana"), StockClient(f, "ben", gateway: 1))
            try await ana.start()
            try await ben.start()
            let conversation = try await ana.converse(with: [ben], distinct: true)
            let answer = try await ben.answer(
                "Conversation.create",
                data: [
                    "participants": [.string(ana.id), .string(ben.id)], "distinct": true, "metadata": ["topic": "news"],
                    "id": .string(Layer.newConversation()),
                ])
            f.equal(answer.data["id"], "conflict")
            f.equal(answer.data["data"]["id"].string, conversation)
            ben.checkConversation(answer.data["data"])
        },
        Rule("16.5", "typing: started, repeated, paused, finished, without answers") { f in
            let (ana, ben, conversation) = try await pair(f)
            let anas = try f.need(await ana.socket, "socket")
            let bens = try f.need(await ben.socket, "socket")
            let message = try await ana.send("both have joined the conversation", to: conversation)["id"].string ?? ""
            for client in [ana, ben] {
                try await client.change("update", "Conversation", conversation) {
                    $0.has("set", "last_message", id: message)
                }
            }
            await ana.processPackets()
            let count = anas.receivedCount
            for action in ["started", "started", "paused", "finished"] {
                try await ana.signal(action, in: conversation)
            }
            for action in ["started", "paused", "finished"] {
                f.equal(try await bens.typingSeen(action, in: conversation).data["sender"]["id"].string, ana.id)
            }
            f.equal(anas.packets(from: count).map(\.summary), [])
            await ben.processPackets()
        },
        Rule(
            "16.6", "metadata and participants: PATCH of the conversation's own url; after a refusal it is loaded again"
        ) { f in
            let (ana, ben, conversation) = try await pair(f)
            let cleo = StockClient(f, "cleo")
            try await cleo.start()
            let object = try await ana.rest("GET", Layer.path(conversation), gives: 200)
            let path = String(object["url"].string?.dropFirst(f.system.publicURL.count) ?? "")
            try await ana.rest(
                "PATCH", path, [["operation": "set", "property": "metadata.trip.city", "value": "Porto"]], gives: 204)
            let update = try await ben.change("update", "Conversation", conversation)
            f.check(update.data.has("set", "metadata.trip.city", value: "Porto"), "\(update.data)")
            try await ana.rest("GET", "/identities/\(cleo.userID)", gives: 200)
            try await ana.rest(
                "PATCH", path, [["operation": "add", "property": "participants", "id": .string(cleo.id)]], gives: 204)
            let addition = try await ben.change("update", "Conversation", conversation)
            f.equal(addition.data.operation("participants")?["value"]["user_id"].string, cleo.userID)
            cleo.checkConversation(try await cleo.change("create", "Conversation", conversation).data)
            let refusal = try await ana.rest(
                "PATCH", path, [["operation": "set", "property": "metadata.count", "value": 5]])
            f.refused(refusal, "invalid_property", property: "metadata.count")
            let now = try await ana.rest("GET", path, gives: 200)
            f.equal(now["metadata"], ["trip": ["city": "Porto"]])
            for client in [ana, ben, cleo] { await client.processPackets() }
        },
    ]

    private static let coming: [Rule] = [
        Rule(
            "16.7",
            "reconnect after 30 s offline: ping, socket, replay from the last packet, presence, unanswered creates again"
        ) { f in
            let (ana, ben, conversation) = try await pair(f)
            let seen = try await ana.send("seen", to: conversation)
            try await ben.change("create", "Message", seen["id"].string)
            let unanswered = await ben.message("unanswered")
            try await ben.request("Message.create", object: conversation, data: unanswered)
            await ben.loseSocket()
            let missed = try await ana.send("missed", to: conversation)
            try await ana.rest(
                "PATCH", Layer.path(conversation), [["operation": "set", "property": "metadata.a", "value": "1"]],
                gives: 204)
            try await ben.ping()
            let since = try f.need(await ben.lastTimestamp, "timestamp")
            try await ben.openSocket()
            try await ben.request("Event.replay", data: ["from_timestamp": .string(since)])
            try await ben.change("create", "Message", missed["id"].string)
            let replayed = try f.need(await ben.socket, "socket").history
            let isTold = replayed.contains {
                $0.data.has("set", "metadata.a", value: "1")
                    || $0.isChange("create", of: "Conversation") && $0.data["metadata"] == ["a": "1"]
            }
            f.check(isTold, "the metadata is not told: \(replayed.map(\.summary))")
            try await ben.request("Presence.subscribe")
            try await ben.request(
                "Presence.update", data: [["operation": "set", "property": "status", "value": "auto"]])
            let data = try await ben.request("Presence.sync", data: ["since": .string(since)])
            f.check(data["changes"].array != nil, "no changes")
            if f.version == .v3 { try await ben.sync([ben.id]) }
            let again = try await ben.answer("Message.create", object: conversation, data: unanswered)
            f.equal(again.data["id"], "id_in_use")
            f.equal(again.data["data"]["id"], unanswered["id"])
            await ben.processPackets()
        },
        Rule("16.7", "short loss of the socket: session check, socket, replay") { f in
            let (ana, ben, conversation) = try await pair(f)
            await ben.loseSocket()
            let missed = try await ana.send("missed", to: conversation)
            f.succeeded(try await ben.checkSession(), 200)
            try await ben.openSocket()
            try await ben.request(
                "Event.replay", data: ["from_timestamp": .string(try f.need(await ben.lastTimestamp, "timestamp"))])
            try await ben.change("create", "Message", missed["id"].string)
            await ben.processPackets()
        },
        Rule(
            "16.8",
            "expiry seen by a REST request: 401 with a nonce, challenge, session, socket, replay, the request again"
        ) { f in
            let (ana, ben, conversation) = try await pair(f)
            await ben.processPackets()
            let session = await ben.session ?? ""
            let socket = try f.need(await ben.socket, "socket")
            f.equal(try await ana.rest("DELETE", "/sessions/\(session)", isAuthorized: false).status, 204)
            // The session may have ended at another gateway, which notifies this one.
            f.equal(try await socket.waitForClose(deadline: Fixture.deadline).code, 4401)
            let path = Layer.path(conversation)
            let patch: JSONValue = [["operation": "set", "property": "metadata.a", "value": "1"]]
            let refusal = try await ben.rest("PATCH", path, patch)
            f.refused(refusal, "authentication_required")
            try await ben.answerChallenge(refusal.json["data"]["nonce"].string ?? "")
            try await ben.openSocket()
            try await ben.request(
                "Event.replay", data: ["from_timestamp": .string(try f.need(await ben.lastTimestamp, "timestamp"))])
            try await ben.rest("PATCH", path, patch, gives: 204)
            try await ben.change("update", "Conversation", conversation) { $0.has("set", "metadata.a", value: "1") }
            await ben.processPackets()
        },
        Rule(
            "16.8",
            "expiry seen by the socket: closed with 4401, session check 401 with a nonce, challenge, session, socket, replay"
        ) { f in
            let (ana, ben, conversation) = try await pair(f)
            let socket = try f.need(await ben.socket, "socket")
            f.equal(
                try await ana.rest("DELETE", "/sessions/\(await ben.session ?? "")", isAuthorized: false).status, 204)
            f.equal(try await socket.waitForClose(deadline: Fixture.deadline).code, 4401)
            await ben.processPackets()
            let missed = try await ana.send("missed", to: conversation)
            let refusal = try await ben.checkSession()
            f.refused(refusal, "authentication_required")
            try await ben.answerChallenge(refusal.json["data"]["nonce"].string ?? "")
            try await ben.openSocket()
            try await ben.request(
                "Event.replay", data: ["from_timestamp": .string(try f.need(await ben.lastTimestamp, "timestamp"))])
            try await ben.change("create", "Message", missed["id"].string)
            await ben.processPackets()
        },
        Rule("16.8", "logout: DELETE /sessions, and the server or the client closes the socket, whichever is first") {
            f in
            let ana = StockClient(f, "ana")
            try await ana.start()
            let session = await ana.session ?? ""
            f.equal(try await ana.rest("DELETE", "/sessions/\(session)").status, 204)
            await ana.closeSocket()
            let socket = try f.need(await ana.socket, "socket")
            f.check(socket.closure != nil, "still open")
            f.refused(try await ana.checkSession(), "authentication_required")
        },
    ]
}
