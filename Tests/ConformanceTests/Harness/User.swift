// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

struct User: Sendable {
    let fixture: Fixture
    let userID: String
    let session: String
    let gateway: Int
    let version: ProtocolVersion

    var id: String { Layer.identity(userID) }
    var client: ProtocolClient { fixture.system.client(gateway, version) }

    /// Sends a request with the user's session and returns the answer, successful or not.
    func call(
        _ method: String, _ path: String, _ body: JSONValue? = nil, headers: [String: String] = [:]
    ) async throws -> RESTResponse {
        try await client.call(method, path, body: body, token: session, headers: headers, deadline: Fixture.deadline)
    }

    /// Sends a request that must succeed.
    @discardableResult
    func does(
        _ method: String, _ path: String, _ body: JSONValue? = nil, line: UInt = #line
    ) async throws -> RESTResponse {
        let answer = try await call(method, path, body)
        guard answer.isSuccess else {
            throw HarnessError("\(method) \(path): \(answer.status) \(answer.json) (line \(line))")
        }
        return answer
    }

    func get(_ path: String, line: UInt = #line) async throws -> JSONValue {
        try await does("GET", path, line: line).json
    }

    /// Loads an object as the server shows it to the user.
    func load(_ id: String, line: UInt = #line) async throws -> JSONValue { try await get(Layer.path(id), line: line) }

    func patch(_ id: String, _ operations: JSONValue..., line: UInt = #line) async throws {
        try await does("PATCH", Layer.path(id), .array(operations), line: line)
    }

    // MARK: Conversations

    /// Creates a conversation over REST, by default not distinct.
    /// - Returns: The conversation's id.
    @discardableResult
    func converse(
        _ others: User..., metadata: JSONValue? = nil, distinct: Bool = false, line: UInt = #line
    ) async throws -> String {
        try await converse(others.map(\.id), metadata: metadata, distinct: distinct, line: line)
    }

    @discardableResult
    func converse(
        _ others: [String], metadata: JSONValue? = nil, distinct: Bool = false, line: UInt = #line
    ) async throws -> String {
        let answer = try await does(
            "POST", "/conversations", Self.conversation(others, metadata: metadata, distinct: distinct), line: line)
        return try fixture.need(answer.json["id"].string, "id in the answer to a create", line: line)
    }

    static func conversation(
        _ others: [String], metadata: JSONValue? = nil, distinct: Bool? = false, id: String? = nil
    ) -> JSONValue {
        var body: JSONValue = ["participants": .array(others.map { .string($0) })]
        if let distinct { body["distinct"] = .bool(distinct) }
        if let metadata { body["metadata"] = metadata }
        if let id { body["id"] = .string(id) }
        return body
    }

    // MARK: Messages

    @discardableResult
    func send(_ text: String, to conversation: String, line: UInt = #line) async throws -> JSONValue {
        try await does("POST", Layer.path(conversation) + "/messages", Self.message(text), line: line).json
    }

    func sendID(_ text: String, to conversation: String, line: UInt = #line) async throws -> String {
        try fixture.need(
            try await send(text, to: conversation, line: line)["id"].string, "id of the message", line: line)
    }

    static func message(_ text: String, id: String? = nil) -> JSONValue {
        var body: JSONValue = ["parts": [["mime_type": "text/plain", "body": .string(text)]]]
        if let id { body["id"] = .string(id) }
        return body
    }

    func receipt(_ type: String, _ message: String, line: UInt = #line) async throws {
        try await does("POST", Layer.path(message) + "/receipts", ["type": .string(type)], line: line)
    }

    // MARK: Sockets

    /// Opens a socket and sends a request, so that the server sends changes (docs/conformance.md §12.1).
    func socket(
        gateway: Int? = nil, version: ProtocolVersion? = nil, isChecked: Bool = true
    ) async throws -> ProtocolSocket {
        let socket = try await silentSocket(gateway: gateway, version: version, isChecked: isChecked)
        _ = try await socket.request("Counter.read", deadline: Fixture.deadline)
        return socket
    }

    /// Opens a socket without sending a request.
    func silentSocket(
        gateway: Int? = nil, version: ProtocolVersion? = nil, options: ProtocolSocket.Options = .init(),
        isChecked: Bool = true
    ) async throws -> ProtocolSocket {
        let client = fixture.system.client(gateway ?? self.gateway, version ?? self.version)
        let socket = try await client.openSocket(sessionToken: session, options: options, deadline: Fixture.deadline)
        fixture.keep(socket, isChecked: isChecked)
        return socket
    }
}

// Patch operations

func set(_ property: String, _ value: JSONValue) -> JSONValue {
    ["operation": "set", "property": .string(property), "value": value]
}
func delete(_ property: String) -> JSONValue { ["operation": "delete", "property": .string(property)] }
func add(_ user: User) -> JSONValue { ["operation": "add", "property": "participants", "id": .string(user.id)] }
func remove(_ user: User) -> JSONValue { ["operation": "remove", "property": "participants", "id": .string(user.id)] }
