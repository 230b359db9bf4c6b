// SPDX-License-Identifier: Apache-2.0

import Foundation
package import ProtocolClient
package import StrataCommand
import TestSupport

/// An app for one test, with no users of other tests.
package struct TestApp: Sendable {
    package struct Key: Sendable {
        package let privateKey: String
        package let privateKeyFile: String
        package let publicKeyFile: String
    }

    /// The key pair of all test apps. It is shared because generating one is slow.
    package static let key = Task { try makeKey("app-key") }

    /// A key pair that belongs to no app.
    package static let strangeKey = Task { try makeKey("strange-key") }

    package let system: any TestSystem
    package let app: NewApp
    package let privateKey: String
    package let privateKeyFile: String

    package var id: String { LayerID.app.text(app.id) }

    package func signIn(_ user: String, via gateway: Int = 0, version: ProtocolVersion = .v3) async throws -> TestUser {
        let client = system.client(gateway, version)
        let nonce = try await client.nonce(deadline: Waiting.deadline)
        let token = try await identityToken(user, nonce: nonce)
        let session = try await client.signIn(appID: id, identityToken: token, deadline: Waiting.deadline)
        return TestUser(app: self, user: user, gateway: gateway, version: version, token: session)
    }

    /// Signs in several users, distributed over the gateways.
    package func signIn(_ users: [String]) async throws -> [TestUser] {
        var result: [TestUser] = []
        for (index, user) in users.enumerated() { result.append(try await signIn(user, via: index)) }
        return result
    }

    package func identityToken(_ user: String, nonce: String, signedWith key: String? = nil) async throws -> String {
        try await IdentityToken(
            provider: app.providerID, key: app.keyID, user: user, nonce: nonce, displayName: user.capitalized
        )
        .signed(with: key ?? privateKey)
    }

    private static func makeKey(_ name: String) throws -> Key {
        let directory = try TestDirectory.make(name)
        let pair = try AppKeyPair.make()
        let key = Key(
            privateKey: pair.privateKey, privateKeyFile: directory + "/private.pem",
            publicKeyFile: directory + "/public.pem")
        try Data(pair.privateKey.utf8).write(to: URL(fileURLWithPath: key.privateKeyFile))
        try Data(pair.publicKey.utf8).write(to: URL(fileURLWithPath: key.publicKeyFile))
        return key
    }
}
