// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import ProtocolClient
import _CryptoExtras

/// An app with the credentials for signing identity tokens.
struct TestedApp: Sendable {
    let id: String
    let provider: String
    let key: String
    let serverToken: String
    let tokens: TokenMaker

    /// Creates an app from the output of `strata app create --json`.
    init(json: JSONValue) throws {
        guard let id = json["app"].string, let provider = json["provider"].string, let key = json["key"].string,
            let serverToken = json["serverToken"].string, let file = json["privateKeyFile"].string
        else {
            throw HarnessError(
                "an app is described by app, provider, key, serverToken and privateKeyFile, not by \(json)")
        }
        self.id = id
        self.provider = provider
        self.key = key
        self.serverToken = serverToken
        tokens = try TokenMaker(pem: String(contentsOfFile: file, encoding: .utf8))
    }

    var header: JSONValue { ["typ": "JWT", "alg": "RS256", "cty": "layer-eit;v=1", "kid": .string(key)] }

    func claims(_ user: String, nonce: String, name: String?) -> JSONValue {
        let now = Int64(Date().timeIntervalSince1970)
        var claims: JSONValue = [
            "iss": .string(provider), "prn": .string(user), "iat": .integer(now), "exp": .integer(now + 600),
            "nce": .string(nonce),
        ]
        if let name { claims["display_name"] = .string(name) }
        return claims
    }
}

/// Signs compact JWS, valid and invalid ones.
struct TokenMaker: Sendable {
    private let privateKey: _RSA.Signing.PrivateKey

    init(pem: String) throws { privateKey = try _RSA.Signing.PrivateKey(pemRepresentation: pem) }

    /// Creates a key that no server knows.
    init() throws { privateKey = try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    /// Returns a token signed with RS256, whatever its header says.
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

/// An error of the harness, which prevents a rule from being checked.
struct HarnessError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
