// SPDX-License-Identifier: Apache-2.0

import Foundation
import _CryptoExtras

/// The RSA keys with which an app's server signs identity tokens (RS256).
package enum AppKeyPair {
    /// Generates a key pair of 2048 bits.
    /// - Returns: Both keys as PEM, the private one as PKCS #8.
    package static func make() throws -> (privateKey: String, publicKey: String) {
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        return (key.pkcs8PEMRepresentation + "\n", key.publicKey.pemRepresentation + "\n")
    }

    /// Reads a public key.
    /// - Returns: The key as PEM (SubjectPublicKeyInfo).
    /// - Throws: ``CommandFailure`` if the file does not contain an RSA public key of at least 2048 bits.
    static func publicKey(ofFile path: String) throws -> String {
        let text = try readText(at: path)
        guard !text.contains("PRIVATE KEY") else {
            throw CommandFailure(
                .usage, "\(path) contains a private key. Give the public key instead, and keep the private one secret.")
        }
        guard let key = try? _RSA.Signing.PublicKey(pemRepresentation: text) else {
            throw CommandFailure(
                .usage, "\(path) does not contain an RSA public key of at least 2048 bits in PEM form.")
        }
        return key.pemRepresentation + "\n"
    }

    /// Reads a private key.
    /// - Returns: The text of the file.
    /// - Throws: ``CommandFailure`` if the file does not contain an RSA private key of at least 2048 bits.
    static func privateKey(ofFile path: String) throws -> String {
        let text = try readText(at: path)
        guard (try? _RSA.Signing.PrivateKey(pemRepresentation: text)) != nil else {
            throw CommandFailure(
                .usage, "\(path) does not contain an RSA private key of at least 2048 bits in PEM form.")
        }
        return text
    }

    static func readText(at path: String) throws -> String {
        do {
            return try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            throw CommandFailure(.noInput, "The file \(path) cannot be read: \(error.localizedDescription)")
        }
    }
}
