// SPDX-License-Identifier: Apache-2.0
import Crypto
import CryptoExtras
import Foundation
import ServiceKit

/// Makes identity tokens as an app's server does, valid or invalid.
struct TokenMaker {
    /// One of two keys shared by all tests, because generating keys is slow.
    static let key = rsaKey()
    static let otherKey = rsaKey()

    var header: [String: Any]
    var claims: [String: Any]
    var signer: Signer = .rsa(TokenMaker.key)
    /// The issue time in seconds since 1970.
    let time: Int

    enum Signer {
        case rsa(_RSA.Signing.PrivateKey)
        /// RSA with PSS padding (PS256).
        case pss(_RSA.Signing.PrivateKey)
        case hmac(secret: [UInt8])
        case nobody
    }

    init(user: String, provider: UUID, keyID: UUID, nonce: String, now: Date = Date()) {
        time = Int(now.timeIntervalSince1970)
        header = ["typ": "JWT", "alg": "RS256", "cty": "layer-eit;v=1", "kid": keyID.uuidString.lowercased()]
        claims = [
            "iss": provider.uuidString.lowercased(), "prn": user, "iat": time, "exp": time + 300, "nce": nonce,
        ]
    }

    func text() throws -> String {
        let head = Base64URL.encode(try JSONSerialization.data(withJSONObject: header))
        let body = Base64URL.encode(try JSONSerialization.data(withJSONObject: claims))
        let signed = Array("\(head).\(body)".utf8)
        return "\(head).\(body).\(Base64URL.encode(try signature(of: signed)))"
    }

    func changed(_ change: (inout TokenMaker) -> Void) -> TokenMaker {
        var copy = self
        change(&copy)
        return copy
    }

    private func signature(of signed: [UInt8]) throws -> [UInt8] {
        switch signer {
        case .rsa(let key): Array(try key.signature(for: signed, padding: .insecurePKCS1v1_5).rawRepresentation)
        case .pss(let key): Array(try key.signature(for: signed, padding: .PSS).rawRepresentation)
        case .hmac(let secret): Array(HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: secret)))
        case .nobody: []
        }
    }

    private static func rsaKey() -> _RSA.Signing.PrivateKey {
        do {
            return try _RSA.Signing.PrivateKey(keySize: .bits2048)
        } catch {
            preconditionFailure("no RSA key could be made: \(error)")
        }
    }
}
