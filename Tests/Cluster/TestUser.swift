// SPDX-License-Identifier: Apache-2.0

import Foundation
package import ProtocolClient

package struct TestUser: Sendable {
    package let app: TestApp
    package let user: String
    /// The user's gateway, unless a call names another one.
    package let gateway: Int
    package let version: ProtocolVersion
    package let token: String

    package var identity: String { "layer:///identities/\(user)" }
    package var client: ProtocolClient { app.system.client(gateway, version) }

    package func call(
        _ method: String, _ path: String, _ body: JSONValue? = nil, headers: [String: String] = [:]
    ) async throws -> RESTResponse {
        try await client.call(method, path, body: body, token: token, headers: headers, deadline: Waiting.deadline)
    }

    /// Makes a call and throws if it fails.
    @discardableResult
    package func does(
        _ method: String, _ path: String, _ body: JSONValue? = nil, fileID: String = #fileID, line: Int = #line
    ) async throws -> RESTResponse {
        let answer = try await call(method, path, body)
        guard answer.isSuccess else {
            throw UnexpectedAnswer("\(method) \(path): \(answer.status) \(answer.json)", fileID, line)
        }
        return answer
    }

    /// Opens a socket and makes a request, so that the socket receives changes (docs/conformance.md §12.1).
    package func open(via gateway: Int? = nil) async throws -> ProtocolSocket {
        let socket = try await openSilent(via: gateway)
        _ = try await socket.request("Counter.read", deadline: Waiting.deadline)
        return socket
    }

    /// Opens a socket without making a request.
    package func openSilent(via gateway: Int? = nil) async throws -> ProtocolSocket {
        try await app.system.client(gateway ?? self.gateway, version)
            .openSocket(sessionToken: token, deadline: Waiting.deadline)
    }

    /// Creates a conversation over REST.
    package func converse(
        with others: [TestUser], metadata: JSONValue? = nil, distinct: Bool = true, fileID: String = #fileID,
        line: Int = #line
    ) async throws -> Conversation {
        var body: JSONValue = [
            "participants": .array(others.map { .string($0.identity) }), "distinct": .bool(distinct),
        ]
        if let metadata { body["metadata"] = metadata }
        let answer = try await does("POST", "/conversations", body, fileID: fileID, line: line)
        guard let id = answer.json["id"].string else { throw UnexpectedAnswer("no id: \(answer.json)", fileID, line) }
        return Conversation(id: id)
    }

    /// Sends a message over REST.
    /// - Returns: The id of the message.
    @discardableResult
    package func send(
        _ text: String, to conversation: Conversation, fileID: String = #fileID, line: Int = #line
    ) async throws -> String {
        let answer = try await does(
            "POST", conversation.path + "/messages", Self.message(text), fileID: fileID, line: line)
        guard let id = answer.json["id"].string else { throw UnexpectedAnswer("no id: \(answer.json)", fileID, line) }
        return id
    }

    package func patch(
        _ conversation: Conversation, _ operations: JSONValue..., fileID: String = #fileID, line: Int = #line
    ) async throws {
        try await does("PATCH", conversation.path, .array(operations), fileID: fileID, line: line)
    }

    /// Returns the conversation as the server shows it to the user.
    package func view(
        of conversation: Conversation, fileID: String = #fileID, line: Int = #line
    ) async throws -> JSONValue {
        try await does("GET", conversation.path, fileID: fileID, line: line).json
    }

    package static func message(_ text: String, id: String? = nil) -> JSONValue {
        var body: JSONValue = ["parts": [["mime_type": "text/plain", "body": .string(text)]]]
        if let id { body["id"] = .string(id) }
        return body
    }
}

/// An unexpected answer that ends a test.
package struct UnexpectedAnswer: Error, CustomStringConvertible {
    package let description: String

    package init(_ what: String, _ fileID: String, _ line: Int) { description = "\(what) (\(fileID):\(line))" }
}

/// A reference to a conversation.
package struct Conversation: Sendable, Hashable {
    package let id: String

    package init(id: String) { self.id = id }

    package var path: String { layerPath(id) }

    package static func newID() -> String { "layer:///conversations/\(UUID().uuidString.lowercased())" }
}

package func set(_ property: String, _ value: JSONValue) -> JSONValue {
    ["operation": "set", "property": .string(property), "value": value]
}
package func delete(_ property: String) -> JSONValue { ["operation": "delete", "property": .string(property)] }
package func add(_ user: TestUser) -> JSONValue {
    ["operation": "add", "property": "participants", "id": .string(user.identity)]
}
package func remove(_ user: TestUser) -> JSONValue {
    ["operation": "remove", "property": "participants", "id": .string(user.identity)]
}

/// Converts an id to a path: `layer:///messages/…` becomes `/messages/…`.
package func layerPath(_ id: String) -> String { String(id.dropFirst("layer://".count)) }
