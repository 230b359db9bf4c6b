// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import StrataKit

/// A user of an app. This command signs the user's identity tokens, as the app's own backend would.
struct ChatAccount: Sendable {
    struct Server: Sendable {
        let url: URL
        /// The trusted certificates, PEM. nil: those of public authorities.
        let certificates: String?
    }

    let app: KeyRing.Entry
    let privateKey: String
    let user: String
    let displayName: String?

    /// Returns a connected client with the user signed in.
    /// - Parameter directory: The directory of the local store.
    func signIn(to server: Server, directory: URL) async throws -> StrataClient {
        do {
            let client = try StrataClient(
                appID: LayerID.app.text(app.app),
                options: .init(
                    server: server.url, syncPolicy: .partialHistory(count: 50), directory: directory,
                    // Log lines would be written across the screen.
                    logger: Logger(label: "strata.chat") { _ in SwiftLogNoOpLogHandler() },
                    trustedCertificates: server.certificates))
            try await client.connect()
            // A user who signed in on this machine before stays signed in. A new display name requires a new token.
            let isSignedIn = await client.authenticatedUser != nil
            if !isSignedIn || displayName != nil {
                try await authenticate(client, nonce: try await client.requestAuthenticationNonce())
            }
            return client
        } catch let error as StrataError {
            throw CommandFailure(.unavailable, "\(user.onOneLine) cannot sign in: \(error.message.onOneLine)")
        }
    }

    func authenticate(_ client: StrataClient, nonce: String) async throws {
        let token = IdentityToken(
            provider: app.provider, key: app.key, user: user, nonce: nonce, displayName: displayName)
        try await client.authenticate(identityToken: try await token.signed(with: privateKey))
    }
}
