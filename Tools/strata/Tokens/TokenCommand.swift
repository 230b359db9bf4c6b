// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
public import Foundation
import JWTKit
import StrataModel

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Makes an identity token, to sign in as a user for tests.",
        discussion: """
            In production your own server makes these, with the app's private key. The token names a nonce of the \
            gateway; without --nonce one is fetched. It is good for one POST /sessions.
            """)

    @Option(help: "The app. Optional if only one exists.")
    var app: String?
    @Option(help: "The user's id in your own system.")
    var user: String
    @Option(help: "A nonce of the gateway; without it one is fetched.")
    var nonce: String?
    @Option(help: "The user's display name.")
    var displayName: String?
    @Option(help: "Lifetime of the token in seconds.")
    var validFor = 600
    @Option(
        help: ArgumentHelp(
            "PEM file of the app's private key, if it was not made here; needs --key-id and --provider.",
            valueName: "file"))
    var key: String?
    @Option(help: "Id of that key.")
    var keyID: String?
    @Option(help: "Id of the app's provider.")
    var provider: String?
    @Option(help: "Base URL of the gateway to fetch a nonce from. (default: the one of the running `strata dev`)")
    var gateway: String?
    @OptionGroup var trust: TrustOption
    @Flag(help: "Print JSON.")
    var json = false

    /// The maximum length of a display name in Unicode scalars, which the service counts as well.
    static let displayNameLimit = 128

    func validate() throws {
        guard UserID(user) != nil else {
            throw ValidationError(
                "--user must have 1 to \(Limits.userIDBytes) bytes of UTF-8, and no control characters.")
        }
        guard nonce?.isEmpty != true else { throw ValidationError("--nonce must not be empty.") }
        guard displayName.map({ (1...Self.displayNameLimit).contains($0.unicodeScalars.count) }) != false else {
            throw ValidationError("--display-name must have 1 to \(Self.displayNameLimit) characters.")
        }
        guard (1...86_400).contains(validFor) else {
            throw ValidationError("--valid-for must be between 1 and 86400 seconds.")
        }
        let own = [key, keyID, provider].compactMap { $0 }
        guard own.isEmpty || own.count == 3 else {
            throw ValidationError("--key, --key-id and --provider go together.")
        }
    }

    func run() async throws {
        let home = StrataHome()
        let signer = try findSigner(home)
        let nonce = try await findNonce(home)
        let token = IdentityToken(
            provider: signer.provider, key: signer.key, user: user, nonce: nonce, displayName: displayName,
            lifetime: .seconds(validFor))
        let text = try await token.signed(with: signer.privateKey)
        if json { return try Console.standard.say(json: ["identity_token": text, "nonce": nonce]) }
        Console.standard.say(text)
    }

    private func findSigner(_ home: StrataHome) throws -> (provider: UUID, key: UUID, privateKey: String) {
        if let key, let keyID, let provider {
            let id = try LayerID.key.parse(keyID, option: "--key-id")
            return (
                try LayerID.provider.parse(provider, option: "--provider"), id, try AppKeyPair.privateKey(ofFile: key)
            )
        }
        let ring = KeyRing(home: home)
        let entry = try ring.entry(for: try app.map { try LayerID.app.parse($0, option: "--app") })
        return (entry.provider, entry.key, try ring.privateKey(of: entry))
    }

    private func findNonce(_ home: StrataHome) async throws -> String {
        if let nonce { return nonce }
        let base = if let gateway { gateway } else { try await RunningState.ofRunning(in: home).httpURLs.first }
        guard let base else { throw CommandFailure(.unavailable, "No gateway runs. Give --nonce, or --gateway URL.") }
        return try await GatewayClients.with([base], trusting: try trust.serverTrust(for: [base])) { gateways in
            try await GatewayClients.nonce(of: gateways[0])
        }
    }
}

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
