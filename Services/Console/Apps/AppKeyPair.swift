// SPDX-License-Identifier: Apache-2.0
import CryptoExtras
import NIOPosix
import StrataModel

/// A pair of RSA keys of an app. The private one is shown once and stored nowhere.
struct AppKeyPair: Sendable {
    /// PEM, PKCS #8; nil: the owner keeps it.
    let privateKey: String?
    /// PEM, SubjectPublicKeyInfo.
    let publicKey: String

    /// Generates a pair of 2048 bits, on a thread that may be busy for a while.
    static func make() async throws -> AppKeyPair {
        try await NIOThreadPool.singleton.runIfActive {
            let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
            return AppKeyPair(
                privateKey: key.pkcs8PEMRepresentation + "\n", publicKey: key.publicKey.pemRepresentation + "\n")
        }
    }

    /// Reads a public key whose private one the owner keeps.
    /// - Throws: `invalid_property` for any other text.
    init(publicKey text: String) throws(Failure) {
        guard !text.contains("PRIVATE KEY") else {
            throw .invalid("public_key", reason: "must not be a private key")
        }
        guard let key = try? _RSA.Signing.PublicKey(pemRepresentation: text) else {
            throw .invalid("public_key", reason: "must be an RSA public key of at least 2048 bits in PEM form")
        }
        self.init(privateKey: nil, publicKey: key.pemRepresentation + "\n")
    }

    private init(privateKey: String?, publicKey: String) {
        (self.privateKey, self.publicKey) = (privateKey, publicKey)
    }
}
