// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import ProtocolClient
import _CryptoExtras

/// An app, with what is needed to vouch for its users.
struct TestedApp: Sendable {
    let id: String
    let provider: String
    let key: String
    /// Of the app's own server.
    let serverToken: String
    let tokens: TokenMaker

    /// From what `strata app create --json` prints.
    init(json: JSONValue) throws {
        guard let id = json["app"].string, let provider = json["provider"].string, let key = json["key"].string,
            let serverToken = json["serverToken"].string, let file = json["privateKeyFile"].string
        else { throw HarnessError("an app is described by app, provider, key, serverToken and privateKeyFile, not by \(json)") }
        self.id = id
        self.provider = provider
        self.key = key
        self.serverToken = serverToken
        tokens = try TokenMaker(pem: String(contentsOfFile: file, encoding: .utf8))
    }

    /// The header of a good identity token.
    var header: JSONValue { ["typ": "JWT", "alg": "RS256", "cty": "layer-eit;v=1", "kid": .string(key)] }

    /// The claims of a good identity token.
    func claims(_ user: String, nonce: String, name: String?) -> JSONValue {
        let now = Int64(Date().timeIntervalSince1970)
        var claims: JSONValue = [
            "iss": .string(provider), "prn": .string(user), "iat": .integer(now), "exp": .integer(now + 600), "nce": .string(nonce),
        ]
        if let name { claims["display_name"] = .string(name) }
        return claims
    }
}

/// Signs compact JWS, good and bad ones.
struct TokenMaker: Sendable {
    private let privateKey: _RSA.Signing.PrivateKey

    init(pem: String) throws { privateKey = try _RSA.Signing.PrivateKey(pemRepresentation: pem) }

    /// A key that no server knows.
    init() throws { privateKey = try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    /// Header and claims, signed with RS256 whatever the header says.
    func token(header: JSONValue, claims: JSONValue) throws -> String {
        let text = Self.base64URL(Data(header.text.utf8)) + "." + Self.base64URL(Data(claims.text.utf8))
        let signature = try privateKey.signature(for: SHA256.hash(data: Data(text.utf8)), padding: .insecurePKCS1v1_5)
        return text + "." + Self.base64URL(signature.rawRepresentation)
    }

    static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }
}

/// The tests themselves could not go on.
struct HarnessError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
