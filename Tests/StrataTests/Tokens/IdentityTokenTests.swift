// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Testing
import _CryptoExtras

@testable import StrataCommand

@Suite("an identity token")
struct IdentityTokenTests {
    @Test("a token has user, lifetime and nonce, and is signed with the app's key by RS256")
    func content() async throws {
        let app = try NewApp(name: "Chat")
        let token = IdentityToken(
            provider: app.providerID, key: app.keyID, user: "alice", nonce: "n-1", displayName: "Alice",
            issuedAt: Date(timeIntervalSince1970: 1_700_000_000),
            lifetime: .seconds(60))
        let text = try await token.signed(with: try #require(app.privateKey))
        let parts = text.split(separator: ".").map(String.init)
        #expect(parts.count == 3)
        let header = try object(parts[0])
        #expect(header["alg"] as? String == "RS256")
        #expect(header["typ"] as? String == "JWT")
        #expect(header["cty"] as? String == "layer-eit;v=1")
        #expect(header["kid"] as? String == LayerID.key.text(app.keyID))
        let claims = try object(parts[1])
        #expect(claims["iss"] as? String == LayerID.provider.text(app.providerID))
        #expect(claims["prn"] as? String == "alice")
        #expect(claims["iat"] as? Int == 1_700_000_000)
        #expect(claims["exp"] as? Int == 1_700_000_060)
        #expect(claims["nce"] as? String == "n-1")
        #expect(claims["display_name"] as? String == "Alice")
        #expect(claims.count == 6)

        let key = try _RSA.Signing.PublicKey(pemRepresentation: app.publicKey)
        let signature = _RSA.Signing.RSASignature(rawRepresentation: try #require(Data(base64URL: parts[2])))
        #expect(key.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8), padding: .insecurePKCS1v1_5))
    }

    @Test("a token requires a private key, and the error does not show other input")
    func wrongKey() async throws {
        let token = IdentityToken(provider: UUID(), key: UUID(), user: "alice", nonce: "n-1")
        let failure = await #expect(throws: CommandFailure.self) { try await token.signed(with: "super-secret") }
        #expect(failure?.message.contains("super-secret") == false)
    }

    @Test("the command requires a user, a valid lifetime, and a complete key of its own")
    func options() throws {
        #expect(throws: (any Error).self) { try TokenCommand.parse([]) }
        #expect(throws: (any Error).self) { try TokenCommand.parse(["--user", ""]) }
        #expect(throws: (any Error).self) { try TokenCommand.parse(["--user", "alice", "--valid-for", "0"]) }
        #expect(throws: (any Error).self) { try TokenCommand.parse(["--user", "alice", "--key", "k.pem"]) }
        #expect(try TokenCommand.parse(["--user", "alice", "--nonce", "n"]).nonce == "n")
    }

    private func object(_ part: String) throws -> [String: Any] {
        let bytes = try #require(Data(base64URL: part))
        return try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
    }
}
