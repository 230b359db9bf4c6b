// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import StrataModel

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Makes an identity token, to sign in as a user for tests.",
        discussion: """
            In production your own server makes these, with the app's private key. The token names a nonce of the gateway; without --nonce one is \
            fetched. It is good for one POST /sessions.
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
