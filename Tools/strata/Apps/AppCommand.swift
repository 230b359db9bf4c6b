// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import Glibc

struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app",
        abstract:
            """
            Creates, lists, moves, suspends and deletes apps, keeps the tokens of their servers, their indexes and webhooks.
            """,
        subcommands: [
            AppCreateCommand.self, AppListCommand.self, AppSuspendCommand.self, AppResumeCommand.self,
            AppDeleteCommand.self, AppMoveCommand.self, AppTokenCommand.self, AppIndexCommand.self,
            AppWebhookCommand.self,
        ])
}

struct AppCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Creates an app, and shows its ids, key and token.",
        discussion: """
            With several databases, the app is made in the smallest one, or in that of --database NAME. \
            Without --public-key a pair of RSA keys is made and the private one kept in the home's keys/ directory, \
            readable by you alone. The Server API token is shown this once; only its digest is stored.
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
        let target = try await database.stores(in: home).emptiest()
        let app = try NewApp(name: name, publicKeyFile: publicKey)
        // Store the key first. An app whose private key was never written would be useless.
        let ring = KeyRing(home: home)
        let new = home.newDirectories
        let file = try app.privateKey.map { try ring.addApp(app, privateKey: $0) }
        do {
            try await target.store.insert(app)
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

struct AppListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Lists the apps.")

    @OptionGroup var database: DatabaseOption
    @Flag(help: "Print JSON.")
    var json = false

    struct Row: Codable, Equatable, Sendable {
        var app: String
        var provider: String
        var keys: [String]
        var name: String
        var suspended: Bool
        var deleting: Bool
        /// The name of the database. nil: there is one database.
        var database: String?
    }

    func run() async throws {
        let stores = try await database.stores(in: StrataHome())
        var rows: [Row] = []
        for member in stores.all {
            let name = stores.all.count > 1 ? "\(member.name)" : nil
            rows += try await member.store.list()
                .map { app in
                    Row(
                        app: LayerID.app.text(app.id), provider: LayerID.provider.text(app.providerID),
                        keys: app.keyIDs.map(LayerID.key.text),
                        name: app.name, suspended: app.isSuspended, deleting: app.isBeingDeleted, database: name)
                }
        }
        if json { return try Console.standard.say(json: rows) }
        guard !rows.isEmpty else {
            return Console.standard.say("No app yet. Create one with: \(OwnCommand.name) app create")
        }
        for row in rows {
            let state = row.deleting ? "  (being deleted)" : row.suspended ? "  (suspended)" : ""
            let place = row.database.map { "  in \($0)" } ?? ""
            Console.standard.say("\(row.app)  \(row.name)\(place)\(state)")
        }
    }
}

struct AppSuspendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "suspend",
        abstract:
            "Suspends an app: its users cannot sign in, and signed-in users are disconnected within half a minute.")

    @OptionGroup var target: SuspensionTarget

    func run() async throws { try await target.suspend(true) }
}

struct AppResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Ends the suspension of an app. Earlier sessions are valid again.")

    @OptionGroup var target: SuspensionTarget

    func run() async throws { try await target.suspend(false) }
}

/// The arguments of `suspend` and `resume`.
struct SuspensionTarget: ParsableArguments {
    @OptionGroup var database: DatabaseOption
    @Argument(help: "The app, as layer:///apps/production/<uuid> or as the UUID alone.")
    var app: String

    func suspend(_ isSuspended: Bool) async throws {
        let id = try LayerID.app.parse(app, option: "The app")
        let store = try await database.stores(in: StrataHome()).store(of: id)
        guard let name = try await store.setSuspended(isSuspended, for: id) else {
            throw CommandFailure(
                .usage, "The app \(LayerID.app.text(id)) does not exist. \(OwnCommand.name) app list shows all.")
        }
        Console.standard.say("\(LayerID.app.text(id))  \(name)  is \(isSuspended ? "suspended" : "in service")")
    }
}

struct AppDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Permanently deletes an app: its users, sessions, conversations, messages and files.",
        discussion: """
            Says first what will go, and asks for the app's name; --yes answers that. The app is suspended at once, \
            and those who are signed in are cut off within half a minute. Everything is deleted in small steps while \
            the system works on; interrupted, the same command goes on. Gateways remove the files themselves within \
            the next hour. Nothing undoes this, and backups are not touched.
            """)

    @OptionGroup var database: DatabaseOption
    @Flag(help: "Delete it without asking.")
    var yes = false
    @Flag(help: "Print JSON.")
    var json = false
    @Argument(help: "The app, as layer:///apps/production/<uuid> or as the UUID alone.")
    var app: String

    struct Answer: Codable, Equatable, Sendable {
        var app: String
        var name: String
        var deleted: AppDeletion.Extent
        var rows: Int64
    }

    func run() async throws {
        let home = StrataHome()
        let id = try LayerID.app.parse(app, option: "The app")
        let deletion = AppDeletion(store: try await database.stores(in: home).onlyMember(of: id).store, app: id)
        guard let subject = try await deletion.subject() else {
            throw CommandFailure(
                .usage, "The app \(LayerID.app.text(id)) does not exist. \(OwnCommand.name) app list shows all.")
        }
        let title = "\(LayerID.app.text(id))  \(subject.name)"
        // With --json, standard output contains only the result.
        let report = { (line: String) in if json { Console.standard.note(line) } else { Console.standard.say(line) } }
        report("\(title)  has \(subject.extent)")
        try confirm(subject.name)
        report(
            "It is suspended. Everything is deleted once gateways have cut off its users, which takes up to a minute.")
        var told = ContinuousClock.now
        let rows = try await deletion.run { rows in
            guard .now - told > .seconds(5) else { return }
            told = .now
            report("\(rows) rows are deleted so far.")
        }
        let hadKey = KeyRing(home: home).forget(id)
        if json {
            return try Console.standard.say(
                json: Answer(app: LayerID.app.text(id), name: subject.name, deleted: subject.extent, rows: rows))
        }
        let files =
            subject.extent.files == 0
            ? "" : " Gateways remove its \(subject.extent.files == 1 ? "file" : "files") within the next hour."
        report("\(title)  is deleted: \(rows) rows.\(hadKey ? " So is its private key in \(home.keys)." : "")\(files)")
    }

    private func confirm(_ name: String) throws {
        if yes { return }
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandFailure(
                .usage, "Nothing was deleted. Confirm with --yes, or run the command in a terminal.")
        }
        Console.standard.note("Type the app's name to delete it permanently:")
        guard readLine()?.trimmingCharacters(in: .whitespaces) == name else {
            throw CommandFailure(.usage, "Nothing was deleted: that is not the app's name.")
        }
    }
}
