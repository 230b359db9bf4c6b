// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// A stock client in a browser, on a page of another origin, as seen on the wire: WebSDK 3.4.6 (W) in version 2.0, Web
/// XDK 4.0.6 (X) in version 3.0.
///
/// It sends exactly the headers, query strings and bodies of those clients, and fails where they would fail.
actor StockClient {
    let fixture: Fixture
    let userID: String
    let version: ProtocolVersion
    private let gateway: Int
    private let clientID = Layer.uuid()
    private(set) var session: String?
    private(set) var socket: ProtocolSocket?
    private var requests = 0
    /// The counter of the last packet; -1 on a new socket.
    private var lastCounter = -1
    private(set) var lastTimestamp: String?
    private var processedCount = 0

    static let origin = "https://app.example"

    init(_ fixture: Fixture, _ name: String, gateway: Int = 0) {
        self.fixture = fixture
        userID = "\(name).\(fixture.mark)"
        version = fixture.version
        self.gateway = gateway
    }

    nonisolated var id: String { Layer.identity(userID) }
    private nonisolated var sdk: String { version == .v2 ? "3.4.6" : "4.0.6" }

    // MARK: REST

    /// Sends a request with the client's headers.
    func rest(
        _ method: String, _ path: String, _ body: JSONValue? = nil, isAuthorized: Bool = true
    ) async throws -> RESTResponse {
        var headers = [
            "Origin": Self.origin,
            "Content-Type": method == "PATCH" ? "application/vnd.layer-patch+json" : "application/json",
        ]
        if version == .v3 {
            headers["layer-xdk-version"] = sdk
            headers["client-id"] = clientID
        }
        let client = fixture.system.client(gateway, version)
        let answer = try await client.call(
            method, path, body: body, token: isAuthorized ? session : nil, headers: headers, deadline: Fixture.deadline)
        fixture.equal(
            answer.header("Access-Control-Allow-Origin"), Self.origin, "\(method) \(path): Access-Control-Allow-Origin")
        fixture.equal(
            answer.header("Access-Control-Allow-Credentials"), "true",
            "\(method) \(path): Access-Control-Allow-Credentials")
        if !answer.body.isEmpty {
            fixture.check(
                answer.header("Content-Type")?.hasPrefix("application/json") == true,
                "\(method) \(path): the client does not parse the body")
        }
        return answer
    }

    /// Sends a request that must be answered with this status.
    @discardableResult
    func rest(
        _ method: String, _ path: String, _ body: JSONValue? = nil, gives status: Int, line: UInt = #line
    ) async throws -> JSONValue {
        let answer = try await rest(method, path, body)
        guard answer.status == status else {
            throw HarnessError("\(method) \(path): \(answer.status) \(answer.json) (line \(line))")
        }
        return answer.json
    }

    func ping() async throws {
        fixture.equal(try await rest("HEAD", "/ping?client=\(sdk)", isAuthorized: false).status, 200, "ping")
    }

    /// Sends `GET /?action=…`, as before a socket is reopened.
    func checkSession() async throws -> RESTResponse {
        try await rest("GET", "/?action=validateConnectionForWebsocket&client=\(sdk)")
    }

    // MARK: Signing in

    /// Signs in: `POST /nonces`, the challenge, `POST /sessions`.
    func signIn() async throws {
        let answer = try await rest("POST", "/nonces", isAuthorized: false)
        fixture.succeeded(answer, 201)
        try await answerChallenge(try fixture.need(answer.json["nonce"].string, "nonce"))
    }

    /// Does the part of the app's own server, which signs an identity token, and then sends `POST /sessions`.
    func answerChallenge(_ nonce: String) async throws {
        let app = fixture.app
        let token = try app.tokens.token(
            header: app.header, claims: app.claims(userID, nonce: nonce, name: userID.capitalized))
        let answer = try await rest(
            "POST", "/sessions", ["identity_token": .string(token), "app_id": .string(app.id)], isAuthorized: false)
        fixture.succeeded(answer, 201)
        session = try fixture.need(answer.json["session_token"].string, "session_token")
    }

    /// Sends `GET /identities/<self>`, as right after signing in.
    func loadIdentity() async throws {
        let identity = try await rest("GET", "/identities/\(userID)", gives: 200)
        fixture.equal(identity["id"].string, id, "own identity")
        fixture.check(identity["metadata"].object != nil, "without metadata it is taken for a basic identity")
    }

    /// Carries out the complete start of a stock client (docs/conformance.md §16.1).
    func start() async throws {
        if version == .v2 { try await ping() }
        try await signIn()
        async let identity: Void = loadIdentity()
        try await openSocket()
        try await identity
        if version == .v3 { try await ping() }
        try await announcePresence()
    }

    func announcePresence() async throws {
        try await request("Presence.subscribe")
        try await request("Presence.update", data: [["operation": "set", "property": "status", "value": "auto"]])
        if version == .v3 { try await sync([id]) }
    }

    /// Sends `Presence.sync` for newly seen identities. Without `changes` in the answer, the client's queue would be
    /// blocked.
    func sync(_ ids: [String]) async throws {
        let data = try await request("Presence.sync", data: ["ids": .array(ids.map { .string($0) })])
        fixture.check(data["changes"].array != nil, "Presence.sync without changes: \(data)")
    }

    // MARK: The socket

    /// Opens a socket. An attempt fails after 5 s.
    func openSocket() async throws {
        let session = try fixture.need(session, "session")
        var options = ProtocolSocket.Options()
        options.target =
            "/?session_token=\(session)" + (version == .v3 ? "&client-id=\(clientID)&layer-xdk-version=\(sdk)" : "")
        options.headers = ["Origin": Self.origin]
        let socket = try await fixture.system.client(gateway, version)
            .openSocket(sessionToken: nil, options: options, deadline: Fixture.deadline)
        fixture.keep(socket)
        self.socket = socket
        lastCounter = -1
        processedCount = 0
    }

    /// Simulates a lost network.
    func loseSocket() async {
        processPackets()
        await socket?.abort()
        socket = nil
    }

    func closeSocket() async { await socket?.close() }

    /// Processes all received packets in order, as the client does. A wrong counter would make it replay.
    func processPackets() {
        guard let socket else { return }
        for packet in socket.packets(from: processedCount) {
            fixture.equal(packet.counter, lastCounter + 1, "counter")
            lastCounter = packet.counter ?? -1
            lastTimestamp = packet.timestamp
            processedCount = packet.index + 1
        }
    }

    /// Sends a request that must succeed. Request ids are r1, r2, … over the client's lifetime.
    @discardableResult
    func request(
        _ method: String, object: String? = nil, data: JSONValue? = nil, line: UInt = #line
    ) async throws -> JSONValue {
        let answer = try await answer(method, object: object, data: data)
        guard answer.body["success"].bool == true else {
            throw HarnessError("\(method): \(answer.body) (line \(line))")
        }
        return answer.data
    }

    /// Sends a request and returns its response, successful or not.
    func answer(_ method: String, object: String? = nil, data: JSONValue? = nil) async throws -> ReceivedPacket {
        let socket = try fixture.need(socket, "open socket")
        requests += 1
        let id = "r\(requests)"
        var body: JSONValue = ["method": .string(method), "request_id": .string(id)]
        if let object { body["object_id"] = .string(object) }
        if let data { body["data"] = data }
        try await socket.sendPacket(["type": "request", "body": body])
        let packet = try await socket.nextPacket("the answer to \(method)", deadline: Fixture.deadline) {
            $0.type == "response" && $0.requestID == id
        }
        fixture.equal(packet.body["method"].string, method, "method")
        return packet
    }

    func signal(_ action: String, in conversation: String) async throws {
        let socket = try fixture.need(socket, "open socket")
        try await socket.sendPacket([
            "type": "signal",
            "body": [
                "type": "typing_indicator", "object": ["id": .string(conversation)],
                "data": ["action": .string(action)],
            ],
        ])
    }

    @discardableResult
    func change(
        _ operation: String, _ type: String, _ id: String? = nil,
        where matches: @escaping @Sendable (JSONValue) -> Bool = { _ in true }
    ) async throws -> ReceivedPacket {
        let socket = try fixture.need(socket, "open socket")
        return try await socket.change(operation, type, id, where: matches)
    }

    // MARK: Creating

    /// Creates a conversation: loads the participants' identities and then sends the create, which includes the
    /// creator.
    func converse(with others: [StockClient], distinct: Bool = false) async throws -> String {
        for other in others { try await rest("GET", "/identities/\(other.userID)", gives: 200) }
        let participants = others.map(\.id) + [id]
        let uuid = Layer.newConversation()
        let data = try await request(
            "Conversation.create",
            data: [
                "participants": .array(participants.map { .string($0) }), "distinct": .bool(distinct), "metadata": nil,
                "id": .string(uuid),
            ])
        let conversation = try fixture.need(data["id"].string, "id")
        if !distinct { fixture.equal(conversation, uuid, "id of the conversation") }
        checkConversation(data)
        return conversation
    }

    /// Returns a message in the format of this client's version.
    func message(_ text: String) -> JSONValue {
        let id = Layer.newMessage()
        var part: JSONValue = ["mime_type": "text/plain", "body": .string(text)]
        if version == .v3 {
            part["mime_type"] = "application/vnd.layer.text+json;role=root"
            part["body"] = .string((["text": .string(text)] as JSONValue).text)
            part["id"] = .string("\(id)/parts/\(Layer.uuid())")
        }
        return [
            "parts": [part], "id": .string(id),
            "notification": ["text": .string(text), "title": .string("New Message from \(userID)")],
        ]
    }

    /// Sends a message over the socket and checks the parts of the answer that the client uses.
    @discardableResult
    func send(_ text: String, to conversation: String) async throws -> JSONValue {
        let message = message(text)
        let data = try await request("Message.create", object: conversation, data: message)
        fixture.equal(data["id"], message["id"], "id of the message")
        if version == .v3 { fixture.equal(data["parts"].ids, message["parts"].ids, "ids of the parts") }
        fixture.equal(data["parts"][0]["mime_type"], message["parts"][0]["mime_type"], "MIME type")
        checkMessage(data)
        return data
    }

    // MARK: Properties that the client reads unchecked

    nonisolated func checkConversation(_ object: JSONValue) {
        for member in object["participants"].array ?? [.null] {
            fixture.check(member["id"].string != nil, "a participant is \(member)")
        }
        fixture.check(object["metadata"].object != nil, "metadata is \(object["metadata"])")
        fixture.check(object["url"].string?.hasPrefix("https://") == true, "url is \(object["url"])")
        fixture.check(Layer.date(object["created_at"].string) != nil, "created_at is \(object["created_at"])")
        if !object["last_message"].isNull { checkMessage(object["last_message"]) }
    }

    nonisolated func checkMessage(_ object: JSONValue) {
        fixture.check(object["sender"].object != nil, "sender is \(object["sender"])")
        fixture.check(object["conversation"]["id"].string != nil, "conversation is \(object["conversation"])")
        fixture.check(object["parts"].array?.isEmpty == false, "parts are \(object["parts"])")
        fixture.check(object["position"].int != nil, "position is \(object["position"])")
        fixture.check(object["url"].string?.hasPrefix("https://") == true, "url is \(object["url"])")
        fixture.check(Layer.date(object["sent_at"].string) != nil, "sent_at is \(object["sent_at"])")
        let sender = object["sender"]["id"].string ?? ""
        fixture.equal(object["recipient_status"][sender], "read", "the sender's own status")
    }
}
