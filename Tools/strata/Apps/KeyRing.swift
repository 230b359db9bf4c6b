// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import _CryptoExtras

/// The private keys of a home. `strata token` signs with them for the apps that were created here.
struct KeyRing {
    /// The description of an app, without its private key.
    struct Entry: Codable, Equatable, Sendable {
        let app: UUID
        let provider: UUID
        let key: UUID
        let name: String
    }

    let home: StrataHome

    /// Stores the private key of an app.
    /// - Returns: The path of the key's file, mode 0600.
    func addApp(_ app: NewApp, privateKey: String) throws -> String {
        try home.makeKeys()
        let file = keyFile(app.keyID)
        try PrivateFile.write(privateKey, to: file)
        let entry = Entry(app: app.id, provider: app.providerID, key: app.keyID, name: app.name)
        try PrivateFile.write(try JSONEncoder().encode(entry), to: entryFile(app.id))
        return file
    }

    /// Removes the key of an app whose registration failed.
    func remove(_ app: NewApp) {
        unlink(entryFile(app.id))
        unlink(keyFile(app.keyID))
    }

    /// Removes the key of a deleted app.
    /// - Returns: True if there was one.
    func forget(_ app: UUID) -> Bool {
        guard let entry = readEntry(at: entryFile(app)) else { return false }
        unlink(entryFile(app))
        unlink(keyFile(entry.key))
        return true
    }

    /// Returns the app for which `strata token` signs.
    /// - Parameter app: The id of the app. nil: the only app of the home.
    func entry(for app: UUID?) throws -> Entry {
        if let app {
            guard let entry = readEntry(at: entryFile(app)) else {
                throw CommandFailure(
                    .noInput,
                    "There is no private key for \(LayerID.app.text(app)) in \(home.keys). Give it with --key FILE."
                )
            }
            return entry
        }
        let all = entries()
        guard let only = all.first else {
            throw CommandFailure(
                .noInput, "No app has been created in \(home.path) yet. Create one with: strata app create")
        }
        guard all.count == 1 else {
            let names = all.map { "\n  \(LayerID.app.text($0.app))  \($0.name)" }.joined()
            throw CommandFailure(.usage, "There are several apps; say which one with --app:\(names)")
        }
        return only
    }

    func privateKey(of entry: Entry) throws -> String {
        try AppKeyPair.readText(at: keyFile(entry.key))
    }

    func entries() -> [Entry] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: home.keys)) ?? []
        return names.filter { $0.hasSuffix(".json") }.sorted().compactMap { readEntry(at: "\(home.keys)/\($0)") }
    }

    private func readEntry(at path: String) -> Entry? {
        FileManager.default.contents(atPath: path).flatMap { try? JSONDecoder().decode(Entry.self, from: $0) }
    }

    private func keyFile(_ key: UUID) -> String {
        "\(home.keys)/\(key.uuidString.lowercased()).pem"
    }

    private func entryFile(_ app: UUID) -> String {
        "\(home.keys)/\(app.uuidString.lowercased()).json"
    }
}

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
