// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import ProtocolClient

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Runs a demo: two users try all functions over the public API.",
        discussion: """
            Plays against the running `strata dev`, or against --url, in an app made for it. It shows what happens \
            and when, and exits with 0 only if every packet that had to come came, in order, once. Any process of the \
            system may be killed meanwhile. With --url, what the owner of the new app needs to know is printed at the \
            end, this once.
            """)

    @Option(
        help:
            "Base URL of a gateway or load balancer. (STRATA_URL; default: those of the running `strata dev`)"
    )
    var url: String?
    @Option(name: .customLong("url2"), help: "Base URL of another gateway of the same system.")
    var secondURL: String?
    @OptionGroup var trust: TrustOption
    @Option(help: "An app that exists already. (default: a new one)")
    var app: String?
    @Option(
        help: ArgumentHelp(
            "PEM file of the app's private key, if it was not made here; needs --key-id and --provider.",
            valueName: "file"))
    var key: String?
    @Option(help: "Id of that key.")
    var keyID: String?
    @Option(help: "Id of the app's provider.")
    var provider: String?
    @OptionGroup var database: DatabaseOption
    @Option(
        help: ArgumentHelp(
            "Seconds after which typing pauses, and then finishes, by the system's settings.", valueName: "seconds"))
    var typingSeconds = 10.0

    func validate() throws {
        guard url != nil || secondURL == nil else { throw ValidationError("--url2 needs --url.") }
        guard (0.1...600).contains(typingSeconds) else {
            throw ValidationError("--typing-seconds must be between 0.1 and 600.")
        }
        let own = [key, keyID, provider].compactMap { $0 }
        guard own.isEmpty || (own.count == 3 && app != nil) else {
            throw ValidationError("--app, --key, --key-id and --provider go together.")
        }
    }

    func run() async throws {
        let home = StrataHome()
        // Check the options before anything is requested or created.
        let known = try knownApp(home)
        let given = try url ?? OperatorSettings().value("STRATA_URL")
        let (urls, trust) = try await addresses(in: home, given: given)
        try await GatewayClients.with(urls, trusting: trust) { gateways in
            for gateway in gateways { _ = try await GatewayClients.nonce(of: gateway) }
            let new = known == nil ? try await newApp(home) : nil
            guard let app = known ?? new.map(DemoSystem.App.init) else { return }
            try await play(DemoSystem(gateways: gateways, app: app, home: given == nil ? home : nil))
            if let new, given != nil {
                Console.standard.say("\nThe app of this demo is yours:\n\n\(AppCard(new, privateKey: new.privateKey))")
            }
        }
    }

    private func play(_ system: DemoSystem) async throws {
        let transcript = DemoTranscript(console: .standard)
        let script = DemoScript(
            system: system, transcript: transcript, typingPeriod: .milliseconds(Int64(typingSeconds * 1000)))
        try await script.play()
        guard transcript.missing.isEmpty else {
            let list = transcript.missing.map { "\n  ✗ \($0)" }.joined()
            transcript.close("Failed. What was missing or wrong:\(list)")
            throw ExitCode(1)
        }
        transcript.close("Passed: every packet that had to come came, in order, once.")
    }

    // MARK: Gateways

    /// Returns the gateways' URLs and the certificates to trust.
    /// - Parameter given: The URL of a gateway. nil: the gateways of the running `strata dev`.
    private func addresses(in home: StrataHome, given: String?) async throws -> ([String], ServerTrust) {
        if let given {
            let gateways = [given, secondURL].compactMap { $0 }
            return (gateways, try trust.serverTrust(for: gateways))
        }
        let state = try await RunningState.ofRunning(in: home)
        guard let pem = try? String(contentsOfFile: state.certificate, encoding: .utf8) else {
            throw CommandFailure(.noInput, "The certificate \(state.certificate) cannot be read.")
        }
        return (state.httpsURLs, .roots(pem: pem))
    }

    // MARK: The app

    /// Returns the app of the options; nil if none is given.
    private func knownApp(_ home: StrataHome) throws -> DemoSystem.App? {
        guard let app else { return nil }
        let id = try LayerID.app.parse(app, option: "--app")
        if let key, let keyID, let provider {
            return DemoSystem.App(
                id: id, provider: try LayerID.provider.parse(provider, option: "--provider"),
                key: try LayerID.key.parse(keyID, option: "--key-id"),
                privateKey: try AppKeyPair.privateKey(ofFile: key), isNew: false)
        }
        let ring = KeyRing(home: home)
        let entry = try ring.entry(for: id)
        return DemoSystem.App(
            id: entry.app, provider: entry.provider, key: entry.key, privateKey: try ring.privateKey(of: entry),
            isNew: false)
    }

    /// Creates an app for the demo. Its private key is not stored.
    private func newApp(_ home: StrataHome) async throws -> NewApp {
        let new = try NewApp(name: "Demo")
        try await database.stores(in: home).emptiest().store.insert(new)
        return new
    }
}

extension DemoSystem.App {
    fileprivate init(_ new: NewApp) {
        self.init(id: new.id, provider: new.providerID, key: new.keyID, privateKey: new.privateKey ?? "", isNew: true)
    }
}

/// The system that the demo uses: its gateways, and an app with its private key.
struct DemoSystem: Sendable {
    struct App: Sendable {
        let id: UUID
        let provider: UUID
        let key: UUID
        let privateKey: String
        /// True if the app was created for this demo.
        let isNew: Bool
    }

    let gateways: [ProtocolClient]
    let app: App
    /// The home of a system on this machine, whose state file shows restarted processes. nil for another system.
    let home: StrataHome?

    /// Returns the process ids that typing depends on, by process name; nil if they are unknown.
    func ephemeralProcesses() -> [String: Int32]? {
        guard let home, let state = try? RunningState.read(home.state) else { return nil }
        let processes =
            (state.instances(of: "presence") + state.instances(of: "redis") + state.instances(of: "gateway"))
            .map { ($0.name, $0.pid) }
        return Dictionary(processes) { $1 }
    }

    func identityToken(user: String, displayName: String, nonce: String) async throws -> String {
        try await IdentityToken(
            provider: app.provider, key: app.key, user: user, nonce: nonce, displayName: displayName
        )
        .signed(with: app.privateKey)
    }
}
