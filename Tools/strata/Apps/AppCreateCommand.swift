// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

struct AppCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Creates an app, and shows its ids, key and token.",
        discussion: """
            Without --public-key a pair of RSA keys is made and the private one kept in the home's keys/ directory, readable by you alone. The Server \
            API token is shown this once; only its digest is stored.
            """)

    @Option(help: "The app's name.")
    var name = "My app"
    @Option(
        help: ArgumentHelp(
            "PEM file of an RSA public key of at least 2048 bits; its owner keeps the private key.", valueName: "file"
        ))
    var publicKey: String?
    @OptionGroup var database: DatabaseOption
    @Flag(help: "Print JSON.")
    var json = false

    struct Answer: Codable, Equatable, Sendable {
        var app: String
        var provider: String
        var key: String
        var name: String
        var privateKeyFile: String?
        var serverToken: String
    }

    func run() async throws {
        let home = StrataHome()
        let url = try await database.url(in: home)
        let app = try NewApp(name: name, publicKeyFile: publicKey)
        // Store the key first. An app whose private key was never written would be useless.
        let ring = KeyRing(home: home)
        let new = home.newDirectories
        let file = try app.privateKey.map { try ring.addApp(app, privateKey: $0) }
        do {
            try await AppStore(url: url).insert(app)
        } catch {
            ring.remove(app)
            new.map(home.removeIfEmpty)
            throw error
        }
        let answer = Answer(
            app: LayerID.app.text(app.id), provider: LayerID.provider.text(app.providerID),
            key: LayerID.key.text(app.keyID), name: app.name,
            privateKeyFile: file, serverToken: app.serverToken)
        if json { return try Console.standard.say(json: answer) }
        Console.standard.say("\(AppCard(app, keyFile: file))")
    }
}
