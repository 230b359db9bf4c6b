// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import StrataCommand
import TestCluster
import Testing

/// A client of the Server API: an app's own server.
struct AppServer {
    let app: TestApp
    var token: String
    var version = "3.0"

    init(_ app: TestApp) {
        self.app = app
        token = app.app.serverToken
    }

    /// The app's UUID as used in paths.
    var appID: String { app.app.id.uuidString.lowercased() }

    /// - Parameter path: The path below `/apps/:app`.
    func call(
        _ method: String, _ path: String, _ body: JSONValue? = nil, app other: String? = nil,
        headers: [String: String] = [:], via gateway: Int = 0
    ) async throws -> RESTResponse {
        let type = path.hasPrefix("/webhooks") ? "application/vnd.layer.webhooks+json" : "application/vnd.layer+json"
        let own = ["Authorization": "Bearer \(token)", "Accept": "\(type); version=\(version)"]
        return try await app.system.client(gateway)
            .call(
                method, "/apps/\(other ?? appID)\(path)", body: body, headers: own.merging(headers) { $1 },
                deadline: Waiting.deadline)
    }

    /// Makes a call on behalf of a user and requires success. The user's id is percent-encoded here.
    @discardableResult
    func does(
        _ method: String, as user: String, _ path: String, _ body: JSONValue? = nil, fileID: String = #fileID,
        line: Int = #line
    ) async throws -> RESTResponse {
        let answer = try await call(method, "/users/\(Self.escaped(user))\(path)", body)
        guard answer.isSuccess else {
            throw UnexpectedAnswer("\(method) \(path): \(answer.status) \(answer.json)", fileID, line)
        }
        return answer
    }

    static func escaped(_ user: String) -> String {
        user.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? user
    }
}

/// Expects a status. A failure shows the answer's body.
func succeeds(_ answer: RESTResponse, _ status: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    #expect(answer.status == status, "\(answer.json)", sourceLocation: sourceLocation)
}
