// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Logging
import ProtocolClient
import StrataKit
import StrataModel

struct ChatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat",
        abstract: "A chat in the terminal, to try a system.",
        discussion: """
            Signs a user in to the running `strata dev`, or to --url, and shows their conversations. Start it in two terminals with two users, and type \
            /new bob in the one of alice. F1 shows all keys and commands. It is built on StrataKit, and keeps the user's data in the home: what is \
            written without a connection is sent later.
            """)

    @Option(help: "The user's id, as your users are called.")
    var user: String
    @Option(help: "The name others see.")
    var displayName: String?
    @Option(
        help:
            "Base URL of a gateway, or of what stands before it. (STRATA_URL; default: the one of the running `strata dev`)"
    )
    var url: String?
    @Option(
        help: ArgumentHelp(
            "PEM file of the certificates to trust, instead of those of public authorities. (STRATA_CA)",
            valueName: "file"))
    var ca: String?
    @Option(help: "An app that was created here. (default: one that all users of this command share)")
    var app: String?
    @OptionGroup var database: DatabaseOption

    func validate() throws {
        guard UserID(user) != nil else {
            throw ValidationError(
                "--user must have 1 to \(Limits.userIDBytes) bytes of UTF-8, and no control characters.")
        }
        guard displayName.map({ (1...TokenCommand.displayNameLimit).contains($0.unicodeScalars.count) }) != false else {
            throw ValidationError("--display-name must have 1 to \(TokenCommand.displayNameLimit) characters.")
        }
    }

    func run() async throws {
        let home = StrataHome()
        // Check the options before anything is requested or created.
        let named = try app.map { try ChatApp(home: home).named(try LayerID.app.parse($0, option: "--app")) }
        let server = try await server(home)
        guard TerminalDevice.isPresent else {
            throw CommandFailure(.usage, "strata chat needs a terminal for its input and output.")
        }
        let entry =
            if let named { named } else {
                try await ChatApp(home: home).shared(database: try await database.url(in: home))
            }
        let account = ChatAccount(
            app: entry, privateKey: try KeyRing(home: home).privateKey(of: entry), user: user, displayName: displayName)
        let store = try ChatStore(of: UserID(trusted: user), in: home)
        // The process holds the store as long as this value lives.
        defer { withExtendedLifetime(store) {} }
        let client = try await account.signIn(to: server, directory: store.directory)
        try await ChatSession(client: client, account: account, terminal: try TerminalDevice()).run()
    }

    /// Returns the gateway, after checking that it answers.
    private func server(_ home: StrataHome) async throws -> ChatAccount.Server {
        var server: (url: String, certificates: String?)
        if let given = try url ?? OperatorSettings().value("STRATA_URL") {
            let file = try ca ?? (given.lowercased().hasPrefix("https:") ? OperatorSettings().value("STRATA_CA") : nil)
            server = (given, try file.map(TrustOption.certificates))
        } else {
            let state = try await RunningState.ofRunning(in: home)
            guard let first = state.httpsURLs.first else {
                throw CommandFailure(.unavailable, "No gateway runs in \(home.path).")
            }
            server = (first, try TrustOption.certificates(inFile: state.certificate))
        }
        let trust: ServerTrust = server.certificates.map { .roots(pem: $0) } ?? .system
        try await GatewayClients.with([server.url], trusting: trust) { gateways in
            _ = try await GatewayClients.nonce(of: gateways[0])
        }
        guard let url = URL(string: server.url) else {
            throw CommandFailure(.usage, "\(server.url.onOneLine) is not a URL.")
        }
        return ChatAccount.Server(url: url, certificates: server.certificates)
    }
}
