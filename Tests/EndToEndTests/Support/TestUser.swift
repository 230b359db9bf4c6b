// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import Testing

/// A user with a session.
struct TestUser: Sendable {
    let app: TestApp
    let user: String
    /// The gateway he talks to unless he is told otherwise.
    let gateway: Int
    let version: ProtocolVersion
    let token: String

    var identity: String { "layer:///identities/\(user)" }
    var client: ProtocolClient { app.cluster.client(gateway, version) }

    /// A call with his session.
    func call(_ method: String, _ path: String, _ body: JSONValue? = nil, headers: [String: String] = [:]) async throws -> RESTAnswer {
        try await client.call(method, path, body: body, token: token, headers: headers, deadline: Waiting.deadline)
    }

    /// A call that has to succeed.
    @discardableResult
    func does(
        _ method: String, _ path: String, _ body: JSONValue? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> RESTAnswer {
        let answer = try await call(method, path, body)
        try #require(answer.isSuccess, "\(method) \(path): \(answer.status) \(answer.json)", sourceLocation: sourceLocation)
        return answer
    }

    /// Opens a socket that has asked for something, so that it is sent changes; see spec 16.1.
    func open(via gateway: Int? = nil) async throws -> ProtocolSocket {
        let socket = try await openSilent(via: gateway)
        _ = try await socket.request("Counter.read", deadline: Waiting.deadline)
        return socket
    }

    /// Opens a socket that has not asked for anything yet.
    func openSilent(via gateway: Int? = nil) async throws -> ProtocolSocket {
        try await app.cluster.client(gateway ?? self.gateway, version).openSocket(sessionToken: token, deadline: Waiting.deadline)
    }

    /// Creates a conversation over REST.
    func converse(
        with others: [TestUser], metadata: JSONValue? = nil, distinct: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Conversation {
        var body: JSONValue = ["participants": .array(others.map { .string($0.identity) }), "distinct": .bool(distinct)]
        if let metadata { body["metadata"] = metadata }
        let answer = try await does("POST", "/conversations", body, sourceLocation: sourceLocation)
        return Conversation(id: try #require(answer.json["id"].string, sourceLocation: sourceLocation))
    }

    /// Sends a message over REST.
    /// - Returns: its id.
    @discardableResult
    func send(_ text: String, to conversation: Conversation, sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        let answer = try await does("POST", conversation.path + "/messages", Self.message(text), sourceLocation: sourceLocation)
        return try #require(answer.json["id"].string, sourceLocation: sourceLocation)
    }

    /// Patches a conversation.
    func patch(_ conversation: Conversation, _ operations: JSONValue..., sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await does("PATCH", conversation.path, .array(operations), sourceLocation: sourceLocation)
    }

    /// The conversation as the server shows it to him.
    func view(of conversation: Conversation, sourceLocation: SourceLocation = #_sourceLocation) async throws -> JSONValue {
        try await does("GET", conversation.path, sourceLocation: sourceLocation).json
    }

    static func message(_ text: String, id: String? = nil) -> JSONValue {
        var body: JSONValue = ["parts": [["mime_type": "text/plain", "body": .string(text)]]]
        if let id { body["id"] = .string(id) }
        return body
    }
}

/// A conversation's names.
struct Conversation: Sendable, Hashable {
    let id: String

    /// Of its REST resource.
    var path: String { layerPath(id) }

    static func newID() -> String { "layer:///conversations/\(UUID().uuidString.lowercased())" }
}

/// A patch operation.
func set(_ property: String, _ value: JSONValue) -> JSONValue { ["operation": "set", "property": .string(property), "value": value] }
func delete(_ property: String) -> JSONValue { ["operation": "delete", "property": .string(property)] }
func add(_ user: TestUser) -> JSONValue { ["operation": "add", "property": "participants", "id": .string(user.identity)] }
func remove(_ user: TestUser) -> JSONValue { ["operation": "remove", "property": "participants", "id": .string(user.identity)] }

/// `/messages/…` of `layer:///messages/…`.
func layerPath(_ id: String) -> String { String(id.dropFirst("layer://".count)) }
