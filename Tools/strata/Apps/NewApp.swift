// SPDX-License-Identifier: Apache-2.0
import Crypto
public import Foundation

/// An app to be registered, with everything its owner needs. The database stores only the SHA-256 of the Server API
/// token.
public struct NewApp: Sendable {
    /// The app's id.
    public let id: UUID
    /// The id of the provider, which identity tokens name as their issuer.
    public let providerID: UUID
    /// The id of the key, which identity tokens name as their key.
    public let keyID: UUID
    /// The app's name for people.
    public let name: String
    /// The public key, PEM.
    public let publicKey: String
    /// The private key, PEM; nil if the owner keeps it.
    public let privateKey: String?
    /// The token with which the app's own server authenticates.
    public let serverToken: String
    /// The id under which the token is listed and revoked.
    let serverTokenID = UUID()

    /// Generates ids, a token and, unless a public key is given, a key pair.
    /// - Parameters:
    ///   - name: The app's name, at most 200 characters.
    ///   - publicKeyFile: The PEM file of an RSA public key.
    public init(name: String, publicKeyFile: String? = nil) throws {
        let trimmed = name.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !trimmed.isEmpty, trimmed.count <= 200, !trimmed.contains("\0") else {
            throw CommandFailure(.usage, "--name must have 1 to 200 characters.")
        }
        self.name = trimmed
        if let publicKeyFile {
            publicKey = try AppKeyPair.publicKey(ofFile: publicKeyFile)
            privateKey = nil
        } else {
            let pair = try AppKeyPair.make()
            publicKey = pair.publicKey
            privateKey = pair.privateKey
        }
        id = UUID()
        providerID = UUID()
        keyID = UUID()
        serverToken = RandomToken.make()
    }

    /// The digest of the token, as the database stores it.
    var serverTokenDigest: [UInt8] {
        Array(SHA256.hash(data: Data(serverToken.utf8)))
    }
}

/// A text with everything the owner of a new app needs.
struct AppCard: CustomStringConvertible {
    private let app: NewApp
    private let keyLine: String
    private let privateKey: String?

    /// - Parameter keyFile: The file of the private key; nil if the owner has the key.
    init(_ app: NewApp, keyFile: String?) {
        self.app = app
        keyLine = keyFile ?? "kept by you"
        privateKey = nil
    }

    /// - Parameter privateKey: The private key, PEM. It is stored nowhere else.
    init(_ app: NewApp, privateKey: String?) {
        self.app = app
        keyLine = "below"
        self.privateKey = privateKey
    }

    var description: String {
        """
        app id            \(LayerID.app.text(app.id))
        provider id       \(LayerID.provider.text(app.providerID))
        key id            \(LayerID.key.text(app.keyID))
        private key       \(keyLine)
        Server API token  \(app.serverToken)

        \(privateKey.map { "\($0)\n\nThe key and the token are shown only once." } ?? "The token is shown only once.")
        """
    }
}
