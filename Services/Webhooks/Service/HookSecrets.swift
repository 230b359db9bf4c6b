// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
package import StrataModel

/// Encrypts the secrets of hooks for storage with AES-256-GCM. The key is derived from the service's secret for this
/// purpose only.
///
/// The hook's id is authenticated data, so a stored secret cannot be moved to another hook.
package struct HookSecrets: Sendable {
    struct Unreadable: Error {}

    /// The format version, the first byte of a stored secret.
    private static let format: UInt8 = 1
    private let key: SymmetricKey

    /// - Parameter serviceSecret: a secret that all instances hold. With another one, stored secrets cannot be read.
    package init(serviceSecret: String) {
        key = HKDF<SHA256>
            .deriveKey(
                inputKeyMaterial: SymmetricKey(data: Data(serviceSecret.utf8)),
                info: Data("strata webhook secret v1".utf8), outputByteCount: 32)
    }

    package func seal(_ secret: String, of id: WebhookID, in app: AppID) throws -> [UInt8] {
        let box = try AES.GCM.seal(Data(secret.utf8), using: key, authenticating: Self.place(id, app))
        return [Self.format] + Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
    }

    /// Returns the key that signs a hook's events.
    /// - Throws: ``Unreadable`` if the stored secret was altered, or encrypted with another key.
    func open(_ sealed: [UInt8], of id: WebhookID, in app: AppID) throws(Unreadable) -> SymmetricKey {
        guard sealed.first == Self.format, let box = try? AES.GCM.SealedBox(combined: Data(sealed.dropFirst())),
            let secret = try? AES.GCM.open(box, using: key, authenticating: Self.place(id, app))
        else { throw Unreadable() }
        return SymmetricKey(data: secret)
    }

    private static func place(_ id: WebhookID, _ app: AppID) -> Data { Data(id.layerID(in: app).utf8) }
}
