// SPDX-License-Identifier: Apache-2.0
import Crypto
public import FoundationEssentials

/// A proof that a sign-in is recent. Any gateway issues it; the conversations service consumes it once.
///
/// A nonce carries its expiry, 144 random bits, and a code that only holders of the cluster secret can compute. Issuing
/// one therefore stores nothing, and a refused request costs no write. The service that consumes a nonce stores
/// ``digest`` until ``expiresAt``.
public struct Nonce: Hashable, Sendable {
    /// The key that signs and verifies nonces, derived from the cluster secret for this purpose only.
    public struct Key: Sendable {
        fileprivate let key: SymmetricKey

        /// - Parameter clusterSecret: The secret that all processes of the installation share.
        public init(clusterSecret: String) {
            key = HKDF<SHA256>
                .deriveKey(
                    inputKeyMaterial: SymmetricKey(data: Array(clusterSecret.utf8)),
                    info: Array("strata nonce v1".utf8), outputByteCount: 32)
        }
    }

    /// The nonce as clients see it: 56 characters of `A–Z a–z 0–9 - _`.
    public let text: String
    /// The SHA-256 of the nonce's bytes.
    public let digest: [UInt8]
    /// The expiry, in whole seconds.
    public let expiresAt: Date

    private static let randomBytes = 18
    private static let codeBytes = 16
    private static let bodyBytes = 8 + randomBytes

    /// Issues a new nonce.
    /// - Parameters:
    ///   - now: The time from which the nonce is valid.
    ///   - lifetime: The validity period; default 600 s.
    public static func issue(with key: Key, at now: Date = Date(), lifetime: Duration = .seconds(600)) -> Nonce {
        let expiry = Int64(now.timeIntervalSince1970) + lifetime.components.seconds
        var body = withUnsafeBytes(of: expiry.bigEndian) { Array($0) }
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<randomBytes { body.append(UInt8.random(in: .min ... .max, using: &generator)) }
        let bytes = body + code(of: body, key)
        return Nonce(bytes: bytes, text: Base64URL.encode(bytes), expiry: expiry)
    }

    /// Returns the nonce, or nil unless it was issued with this key and is valid at `now`. Does not check whether it
    /// was already used.
    public static func verify(_ text: String, with key: Key, at now: Date = Date()) -> Nonce? {
        guard text.utf8.count == 56, let bytes = Base64URL.decode(text), bytes.count == bodyBytes + codeBytes else {
            return nil
        }
        guard isEqual(bytes[bodyBytes...], to: code(of: bytes[..<bodyBytes], key)) else { return nil }
        let expiry = bytes[..<8].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        guard Double(expiry) > now.timeIntervalSince1970 else { return nil }
        return Nonce(bytes: bytes, text: text, expiry: expiry)
    }

    private init(bytes: [UInt8], text: String, expiry: Int64) {
        self.text = text
        digest = Array(SHA256.hash(data: bytes))
        expiresAt = Date(timeIntervalSince1970: TimeInterval(expiry))
    }

    private static func code(of body: some DataProtocol, _ key: Key) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: body, using: key.key)).prefix(codeBytes).map { $0 }
    }

    /// Compares two codes in constant time.
    private static func isEqual(_ left: ArraySlice<UInt8>, to right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
