// SPDX-License-Identifier: Apache-2.0

public import Foundation
import JWTKit

/// A token with which an app's server vouches for a user: a JWS signed with RS256, header `cty` `layer-eit;v=1`.
public struct IdentityToken: Sendable, Equatable {
    /// The provider of the app.
    public var provider: UUID
    /// The app's key that signs the token.
    public var key: UUID
    /// The user who signs in.
    public var user: String
    /// The nonce, from `POST /nonces` or from a 401 response.
    public var nonce: String
    /// The name that other users see, if given.
    public var displayName: String?
    /// The time of issue.
    public var issuedAt: Date
    /// The validity period; default 600 s.
    public var lifetime: Duration

    /// Creates the content of a token.
    public init(
        provider: UUID, key: UUID, user: String, nonce: String, displayName: String? = nil, issuedAt: Date = Date(),
        lifetime: Duration = .seconds(600)
    ) {
        self.provider = provider
        self.key = key
        self.user = user
        self.nonce = nonce
        self.displayName = displayName
        self.issuedAt = issuedAt
        self.lifetime = lifetime
    }

    /// Returns the signed token in compact form.
    /// - Parameter privateKey: The RSA private key, PEM.
    /// - Throws: ``CommandFailure`` if the key is invalid.
    public func signed(with privateKey: String) async throws -> String {
        guard let rsa = try? Insecure.RSA.PrivateKey(pem: privateKey) else {
            throw CommandFailure(.usage, "The private key is not an RSA key of at least 2048 bits in PEM form.")
        }
        let id = JWKIdentifier(string: LayerID.key.text(key))
        let keys = await JWTKeyCollection().add(rsa: rsa, digestAlgorithm: .sha256, kid: id)
        var header = JWTHeader()
        header.typ = "JWT"
        header.cty = "layer-eit;v=1"
        let issued = Int(issuedAt.timeIntervalSince1970)
        let claims = Claims(
            iss: LayerID.provider.text(provider), prn: user, iat: issued,
            exp: issued + Int(lifetime.components.seconds), nce: nonce,
            display_name: displayName)
        return try await keys.sign(claims, kid: id, header: header)
    }

    /// The claims. Times are whole seconds, so JWTKit's date claims are not used.
    private struct Claims: JWTPayload {
        var iss: String
        var prn: String
        var iat: Int
        var exp: Int
        var nce: String
        var display_name: String?

        func verify(using algorithm: some JWTAlgorithm) async throws {}
    }
}
