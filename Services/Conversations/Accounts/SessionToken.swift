// SPDX-License-Identifier: Apache-2.0
import Crypto
import ServiceKit

/// What a client shows to be let in: 256 random bits, given out once. We keep only its digest.
struct SessionToken: Sendable {
    /// 43 characters of `A–Z a–z 0–9 - _`, which stock clients can carry anywhere (docs/conformance.md §3.4).
    let text: String

    /// SHA-256 of ``text``: how the session is known from then on.
    var digest: [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }

    static func random() -> SessionToken {
        var generator = SystemRandomNumberGenerator()
        return SessionToken(text: Base64URL.encode((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }))
    }
}
