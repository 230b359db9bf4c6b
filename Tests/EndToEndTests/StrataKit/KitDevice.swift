// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import StrataKit
import TestCluster
import TestTiers
import Testing

extension KitUser {
    static func client(of app: TestApp, behind proxy: CuttingProxy, folder: URL) throws -> StrataClient {
        guard let server = URL(string: "http://127.0.0.1:\(proxy.port)") else { throw KitProblem("no URL") }
        return try StrataClient(appID: app.id, options: .init(server: server, directory: folder))
    }

    /// Starts a proxy in front of a gateway.
    static func proxy(of app: TestApp, via gateway: Int = 0) async throws -> CuttingProxy {
        let address = app.system.client(gateway).baseURL
        guard let port = URLComponents(string: address)?.port else { throw KitProblem("\(address) has no port") }
        return try await CuttingProxy.start(to: [port])
    }

    /// Signs a user in, on an existing client.
    @discardableResult
    static func signIn(_ name: String, to app: TestApp, on client: StrataClient) async throws -> Identity {
        let nonce = try await client.requestAuthenticationNonce()
        return try await client.authenticate(identityToken: try await app.identityToken(name, nonce: nonce))
    }

    /// Returns the directory in which a client keeps the app's sessions and stores.
    static func files(of app: TestApp, in folder: URL) -> URL {
        folder.appending(path: app.id.split(separator: "/").last.map(String.init) ?? "")
    }

    static func token(of user: String, _ app: TestApp, in folder: URL) throws -> String {
        func content(_ name: String) throws -> JSONValue {
            try JSONValue(parsing: Data(contentsOf: files(of: app, in: folder).appending(path: name)))
        }
        let session = try content("sessions.json")["sessions"].array?.first { $0["userID"].string == user }
        guard let store = session?["store"].string, let token = try content("tokens.json")[store].string else {
            throw KitProblem("\(user) has no token")
        }
        return token
    }

    /// Ends a session on the server and waits until the gateways refuse it.
    static func end(_ token: String, _ app: TestApp) async throws {
        _ = try await app.system.client().signOut(token: token, deadline: Waiting.deadline)
        try await isOver(token, app)
    }

    /// Waits until a session is refused. A gateway caches a session for some seconds.
    static func isOver(_ token: String, _ app: TestApp) async throws {
        for gateway in 0..<2 {
            try await eventually("the session is over") {
                try await app.system.client(gateway, .v3).call("GET", "/", token: token, deadline: Waiting.deadline)
                    .status == 401
            }
        }
    }
}
