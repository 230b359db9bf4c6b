// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// The environment of a Server API rule: the app's own server, and the rule's own users.
struct ServerFixture: Sendable {
    /// The fixture for clients of these users, in version 3.0.
    let users: Fixture
    let version: ServerAPIVersion

    var system: TestedSystem { users.system }
    var mark: String { users.mark }
    /// True if users are identified by their ids alone.
    var isOld: Bool { version < .v2 }
    var appID: String { Layer.last(system.app.id).lowercased() }
    /// The prefix of URLs of the server's objects.
    var base: String { "\(system.publicURL)/apps/\(appID)" }

    // MARK: Checks

    func check(_ isSo: Bool, _ what: @autoclosure () -> String, line: UInt = #line) {
        users.check(isSo, what(), line: line)
    }
    func equal<Value: Equatable>(_ actual: Value, _ expected: Value, _ what: String = "", line: UInt = #line) {
        users.equal(actual, expected, what, line: line)
    }
    func need<Value>(_ value: Value?, _ what: String, line: UInt = #line) throws -> Value {
        try users.need(value, what, line: line)
    }

    func refused(
        _ answer: RESTResponse, _ id: String, property: String? = nil, header: String? = nil, line: UInt = #line
    ) {
        // Clients of the Server API get no nonce.
        if id == "authentication_required" {
            equal("\(answer.status) \(answer.errorID ?? "")", "401 authentication_required", line: line)
            return
        }
        if id == "object_deleted" {
            equal(
                "\(answer.status) \(answer.errorID ?? "") \(answer.json["code"].int ?? 0)", "410 object_deleted 103",
                line: line)
            return
        }
        users.refused(answer, id, property: property, header: header, needsData: false, line: line)
    }

    // MARK: Calls

    /// - Parameter path: The path below `/apps/:app`, or a complete URL.
    func call(
        _ method: String, _ path: String, _ body: JSONValue? = nil, headers: [String: String] = [:], gateway: Int = 0
    ) async throws -> RESTResponse {
        var own = [
            "Authorization": "Bearer \(system.app.serverToken)",
            "Accept": "application/vnd.layer+json; version=\(version.rawValue)",
            "Content-Type": method == "PATCH" ? "application/vnd.layer-patch+json" : "application/json",
        ]
        own.merge(headers) { $1 }
        let whole =
            path.hasPrefix("https://") ? String(path.dropFirst(system.publicURL.count)) : "/apps/\(appID)\(path)"
        return try await system.client(gateway, .v3)
            .call(method, whole, body: body, headers: own, deadline: Fixture.deadline)
    }

    /// Makes a call that must succeed, with this status if given.
    @discardableResult
    func does(
        _ method: String, _ path: String, _ body: JSONValue? = nil, status: Int? = nil, headers: [String: String] = [:],
        line: UInt = #line
    ) async throws -> JSONValue {
        let answer = try await call(method, path, body, headers: headers)
        guard status.map({ $0 == answer.status }) ?? answer.isSuccess else {
            throw HarnessError("\(method) \(path): \(answer.status) \(answer.json) (line \(line))")
        }
        return answer.json
    }

    // MARK: Users

    /// Returns the id of a user of this rule, whether the user signs in or not.
    func user(_ name: String) -> String { "\(name).\(mark)" }
    /// Returns a reference to a user as requests of this version contain it.
    func reference(_ user: String) -> JSONValue { .string(isOld ? user : Layer.identity(user)) }
    /// Returns the user ids in a list of users of this version.
    func ids(_ list: JSONValue) -> Set<String> {
        Set((list.array ?? []).compactMap { isOld ? $0.string : $0["user_id"].string })
    }
    func status(_ message: JSONValue, _ user: String) -> String? {
        message["recipient_status"][isOld ? user : Layer.identity(user)].string
    }

    /// Signs in users, which gives them identities.
    func identify(_ names: String...) async throws { for name in names { _ = try await users.user(name) } }

    /// Creates identities for users who never signed in.
    func create(_ names: String...) async throws {
        for name in names {
            try await does(
                "POST", "/users/\(user(name))/identity", ["display_name": .string(name.capitalized)], status: 201)
        }
    }

    // MARK: Objects

    /// Creates a conversation of these users, by default not distinct.
    func converse(
        _ names: String..., metadata: JSONValue? = nil, distinct: Bool = false, line: UInt = #line
    ) async throws -> JSONValue {
        var body: JSONValue = ["participants": .array(names.map { reference(user($0)) }), "distinct": .bool(distinct)]
        if let metadata { body["metadata"] = metadata }
        return try await does("POST", "/conversations", body, line: line)
    }

    /// Returns the path of an object with such an id: `/conversations/:id`.
    func path(_ object: JSONValue) -> String { Layer.path(object["id"].string ?? "") }

    func message(_ text: String, from name: String) -> JSONValue {
        let parts: JSONValue = [["mime_type": "text/plain", "body": .string(text)]]
        return isOld
            ? ["sender": ["user_id": .string(user(name))], "parts": parts]
            : ["sender_id": .string(Layer.identity(user(name))), "parts": parts]
    }

    func send(
        _ text: String, from name: String, to conversation: JSONValue, line: UInt = #line
    ) async throws -> JSONValue {
        try await does("POST", path(conversation) + "/messages", message(text, from: name), status: 201, line: line)
    }

    func path(_ message: JSONValue, in conversation: JSONValue) -> String {
        "\(path(conversation))/messages/\(Layer.last(message["id"].string ?? ""))"
    }
}
