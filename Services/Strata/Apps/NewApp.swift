// SPDX-License-Identifier: Apache-2.0

import Crypto
public import Foundation

/// An app about to be registered, with everything its owner needs to know. The Server API token is in no database: only its SHA-256 is.
public struct NewApp: Sendable {
    /// The app.
    public let id: UUID
    /// What identity tokens name as their issuer.
    public let providerID: UUID
    /// What identity tokens name as their key.
    public let keyID: UUID
    /// For people.
    public let name: String
    /// PEM.
    public let publicKey: String
    /// PEM; nil if the owner keeps it.
    public let privateKey: String?
    /// What the app's own server authenticates with.
    public let serverToken: String

    /// Makes ids, a token and, unless a public key is given, a pair of keys.
    /// - Parameters:
    ///   - name: for people, at most 200 characters.
    ///   - publicKeyFile: PEM file of an RSA public key.
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

    /// What the database keeps of the token.
    var serverTokenDigest: [UInt8] {
        Array(SHA256.hash(data: Data(serverToken.utf8)))
    }
}
