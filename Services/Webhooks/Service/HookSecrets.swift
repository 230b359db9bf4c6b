// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
package import StrataModel

/// Encrypts the secrets of hooks before they are stored, with AES-256-GCM and a key that is derived from a secret of the service for this purpose only.
///
/// The hook is part of what is authenticated: a stored secret cannot be moved to another hook.
package struct HookSecrets: Sendable {
    /// A stored secret that was altered, or encrypted with another key.
    struct Unreadable: Error {}

    /// The first byte of what is stored.
    private static let format: UInt8 = 1
    private let key: SymmetricKey

    /// - Parameter serviceSecret: a secret that all instances hold; with another one, stored secrets cannot be read.
    package init(serviceSecret: String) {
        key = HKDF<SHA256>
            .deriveKey(
                inputKeyMaterial: SymmetricKey(data: Data(serviceSecret.utf8)), info: Data("strata webhook secret v1".utf8), outputByteCount: 32)
    }

    /// Returns what is stored of the secret of a hook.
    package func seal(_ secret: String, of id: WebhookID, in app: AppID) throws -> [UInt8] {
        let box = try AES.GCM.seal(Data(secret.utf8), using: key, authenticating: Self.place(id, app))
        return [Self.format] + Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
    }

    /// Returns the key of the signatures that a hook's receiver checks.
    func open(_ sealed: [UInt8], of id: WebhookID, in app: AppID) throws(Unreadable) -> SymmetricKey {
        guard sealed.first == Self.format, let box = try? AES.GCM.SealedBox(combined: Data(sealed.dropFirst())),
            let secret = try? AES.GCM.open(box, using: key, authenticating: Self.place(id, app))
        else { throw Unreadable() }
        return SymmetricKey(data: secret)
    }

    private static func place(_ id: WebhookID, _ app: AppID) -> Data { Data(id.layerID(in: app).utf8) }
}
