// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient

/// The demo page of a system on this machine: Alice and Bob side by side in a browser, in an app of their own.
struct DemoPage {
    /// The app, as stored in the home.
    private struct App: Codable {
        let id: UUID
        let provider: UUID
        let key: UUID
        let privateKey: String
    }

    let home: StrataHome
    /// The URL of the database, as its owner.
    let database: String

    private var file: String { home.path + "/demo.json" }

    /// Signs both users in. The app is created at the first start, and again if it was deleted.
    /// - Parameter gateway: The base URL of a gateway.
    /// - Returns: The page's address. The session tokens are in its fragment, which browsers send to no server.
    func address(at gateway: String) async throws -> String {
        try await GatewayClients.with([gateway], trusting: .system) { clients in
            guard let client = clients.first else { return "" }
            if let known = storedApp() {
                do {
                    return try await address(of: known, at: client)
                } catch let error as ProtocolClientError where error.answer?.json["id"].string == "invalid_app_id" {}
            }
            return try await address(of: try await makeApp(), at: client)
        }
    }

    private func address(of app: App, at client: ProtocolClient) async throws -> String {
        var fragment = "app=\(LayerID.app.text(app.id))"
        for (user, name) in [("alice", "Alice"), ("bob", "Bob")] {
            let nonce = try await GatewayClients.nonce(of: client)
            let token = IdentityToken(
                provider: app.provider, key: app.key, user: user, nonce: nonce, displayName: name)
            let session = try await client.signIn(
                appID: LayerID.app.text(app.id), identityToken: try await token.signed(with: app.privateKey))
            fragment += "&\(user)=\(session)"
        }
        return "\(client.baseURL)/demo/#\(fragment)"
    }

    private func storedApp() -> App? {
        FileManager.default.contents(atPath: file).flatMap { try? JSONDecoder().decode(App.self, from: $0) }
    }

    private func makeApp() async throws -> App {
        let new = try NewApp(name: "Demo page")
        try await AppStore(url: database).insert(new)
        let app = App(id: new.id, provider: new.providerID, key: new.keyID, privateKey: new.privateKey ?? "")
        try PrivateFile.write(try JSONEncoder().encode(app), to: file)
        return app
    }
}
