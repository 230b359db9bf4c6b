// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import ProtocolClient

/// `strata demo`.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Two users try everything, over the public API.",
        discussion: """
            Plays against the running `strata dev`, or against --url, in an app made for it. It shows what happens and when, and exits with 0 only if \
            every packet that had to come came, in order, once. Any process of the system may be killed meanwhile. With --url, what the owner of the new \
            app needs to know is printed at the end, this once.
            """)

    @Option(help: "Base URL of a gateway, or of what stands before them. (STRATA_URL; default: those of the running `strata dev`)")
    var url: String?
    @Option(name: .customLong("url2"), help: "Base URL of another gateway of the same system.")
    var secondURL: String?
    @Flag(help: "Accept any TLS certificate of --url.")
    var insecure = false
    @Option(help: ArgumentHelp("PEM file of the certificates to trust, instead of those of public authorities. (STRATA_CA)", valueName: "file"))
    var ca: String?
    @Option(help: "An app that exists already. (default: a new one)")
    var app: String?
    @Option(help: ArgumentHelp("PEM file of the app's private key, if it was not made here; needs --key-id and --provider.", valueName: "file"))
    var key: String?
    @Option(help: "Id of that key.")
    var keyID: String?
    @Option(help: "Id of the app's provider.")
    var provider: String?
    @OptionGroup var database: DatabaseOption
    @Option(help: ArgumentHelp("After how long, by the system's settings, typing pauses, and then finishes.", valueName: "seconds"))
    var typingSeconds = 10.0

    func validate() throws {
        guard url != nil || secondURL == nil else { throw ValidationError("--url2 needs --url.") }
        guard (0.1...600).contains(typingSeconds) else { throw ValidationError("--typing-seconds must be between 0.1 and 600.") }
        let own = [key, keyID, provider].compactMap { $0 }
        guard own.isEmpty || (own.count == 3 && app != nil) else { throw ValidationError("--app, --key, --key-id and --provider go together.") }
    }

    func run() async throws {
        let home = StrataHome()
        let settings = OperatorSettings()
        let urls = try [url ?? settings.value("STRATA_URL"), secondURL].compactMap { $0 }
        let gateways = urls.isEmpty ? try await findGateways(home) : try urls.map { try client($0, try trust(settings)) }
        let (app, new) = try await findApp(home)
        let system = DemoSystem(gateways: gateways, app: app, home: urls.isEmpty ? home : nil)
        let transcript = DemoTranscript(console: .standard)
        let script = DemoScript(system: system, transcript: transcript, typingPeriod: .milliseconds(Int64(typingSeconds * 1000)))
        await script.play()
        await system.shutdown()
        guard transcript.missing.isEmpty else {
            let list = transcript.missing.map { "\n  ✗ \($0)" }.joined()
            transcript.close("Failed. What was missing or wrong:\(list)")
            throw ExitCode(1)
        }
        transcript.close("Passed: every packet that had to come came, in order, once.")
        if let new, !urls.isEmpty { transcript.close("The app of this demo is yours:\n\n\(AppCard(new, privateKey: new.privateKey))") }
    }

    private func trust(_ settings: OperatorSettings) throws -> ServerTrust {
        if insecure { return .anyCertificate }
        guard let file = try ca ?? settings.value("STRATA_CA") else { return .system }
        guard let pem = try? String(contentsOfFile: file, encoding: .utf8) else { throw CommandFailure(.noInput, "The file \(file) cannot be read.") }
        return .roots(pem: pem)
    }

    private func findGateways(_ home: StrataHome) async throws -> [ProtocolClient] {
        let state = try await RunningState.ofRunning(in: home)
        guard let pem = try? String(contentsOfFile: state.certificate, encoding: .utf8) else {
            throw CommandFailure(.noInput, "The certificate \(state.certificate) cannot be read.")
        }
        return try state.httpsURLs.map { try client($0, .roots(pem: pem)) }
    }

    private func client(_ url: String, _ trust: ServerTrust) throws -> ProtocolClient {
        do {
            return try ProtocolClient(baseURL: url, trust: trust)
        } catch {
            throw CommandFailure(.usage, "\(url) is not the base URL of a gateway: \(error)")
        }
    }

    /// - Returns: the app, and what there is to know of it if it is new.
    private func findApp(_ home: StrataHome) async throws -> (DemoSystem.App, NewApp?) {
        if let app, let key, let keyID, let provider {
            let known = DemoSystem.App(
                id: try LayerID.app.parse(app, option: "--app"), provider: try LayerID.provider.parse(provider, option: "--provider"),
                key: try LayerID.key.parse(keyID, option: "--key-id"), privateKey: try AppKeyPair.read(key), isNew: false)
            return (known, nil)
        }
        if let app {
            let ring = KeyRing(home: home)
            let entry = try ring.entry(for: try LayerID.app.parse(app, option: "--app"))
            let known = DemoSystem.App(
                id: entry.app, provider: entry.provider, key: entry.key, privateKey: try ring.privateKey(of: entry), isNew: false)
            return (known, nil)
        }
        // Its key is kept nowhere.
        let new = try NewApp(name: "Demo")
        try await AppStore(url: try await database.url(in: home)).insert(new)
        return (DemoSystem.App(id: new.id, provider: new.providerID, key: new.keyID, privateKey: new.privateKey ?? "", isNew: true), new)
    }
}
