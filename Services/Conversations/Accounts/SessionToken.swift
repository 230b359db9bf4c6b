// SPDX-License-Identifier: Apache-2.0
import Crypto
import ServiceKit

/// The secret that authenticates a client: 256 random bits, issued once. The database stores only its digest.
struct SessionToken: Sendable {
    /// 43 characters of `A–Z a–z 0–9 - _`, which stock clients can send in every place (docs/conformance.md §3.4).
    let text: String

    /// The SHA-256 of ``text``, which identifies the session.
    var digest: [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }

    static func random() -> SessionToken {
        var generator = SystemRandomNumberGenerator()
        return SessionToken(
            text: Base64URL.encode((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }))
    }
}
