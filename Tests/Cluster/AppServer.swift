// SPDX-License-Identifier: Apache-2.0

import Foundation
package import ProtocolClient
import StrataCommand

/// A client of the Server API: an app's own server.
package struct AppServer: Sendable {
    package let app: TestApp
    package var token: String
    package var version = "3.0"

    package init(_ app: TestApp) {
        self.app = app
        token = app.app.serverToken
    }

    /// The app's UUID as used in paths.
    package var appID: String { app.app.id.uuidString.lowercased() }

    /// - Parameter path: The path below `/apps/:app`.
    package func call(
        _ method: String, _ path: String, _ body: JSONValue? = nil, app other: String? = nil,
        headers: [String: String] = [:], via gateway: Int = 0, deadline: ContinuousClock.Instant = Waiting.deadline
    ) async throws -> RESTResponse {
        let type = path.hasPrefix("/webhooks") ? "application/vnd.layer.webhooks+json" : "application/vnd.layer+json"
        let own = ["Authorization": "Bearer \(token)", "Accept": "\(type); version=\(version)"]
        return try await app.system.client(gateway)
            .call(
                method, "/apps/\(other ?? appID)\(path)", body: body, headers: own.merging(headers) { $1 },
                deadline: deadline)
    }

    /// Makes a call on behalf of a user and requires success. The user's id is percent-encoded here.
    @discardableResult
    package func does(
        _ method: String, as user: String, _ path: String, _ body: JSONValue? = nil, fileID: String = #fileID,
        line: Int = #line
    ) async throws -> RESTResponse {
        let answer = try await call(method, "/users/\(Self.escaped(user))\(path)", body)
        guard answer.isSuccess else {
            throw UnexpectedAnswer("\(method) \(path): \(answer.status) \(answer.json)", fileID, line)
        }
        return answer
    }

    package static func escaped(_ user: String) -> String {
        user.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? user
    }

    /// Registers a webhook and returns its UUID. The webhook becomes active later.
    package func register(_ webhook: JSONValue) async throws -> String {
        let answer = try await call("POST", "/webhooks", webhook)
        guard answer.status == 201, let id = answer.json["id"].string?.split(separator: "/").last else {
            throw UnexpectedAnswer("the webhook is not registered: \(answer.status) \(answer.json)", #fileID, #line)
        }
        return String(id)
    }

    /// Waits until a webhook is active. From then on all its events are recorded.
    package func awaitActive(webhook id: String) async throws {
        let deadline = Waiting.deadline
        while true {
            let webhook = try await call("GET", "/webhooks/\(id)").json
            if webhook["status"].string == "active" { return }
            // On a busy machine the receiver may answer the challenge too late. Then activate the webhook again.
            if webhook["status_reason"].string?.contains("no answer") == true {
                _ = try await call("POST", "/webhooks/\(id)/activate")
            }
            guard .now < deadline else {
                throw UnexpectedAnswer("webhook \(id) does not become active: \(webhook)", #fileID, #line)
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
