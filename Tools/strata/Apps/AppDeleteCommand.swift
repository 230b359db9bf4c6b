// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Glibc

struct AppDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Permanently deletes an app: its users, sessions, conversations, messages and files.",
        discussion: """
            Says first what will go, and asks for the app's name; --yes answers that. The app is suspended at once, and those who are signed in are cut \
            off within half a minute. Everything is deleted in small steps while the system works on; interrupted, the same command goes on. Gateways \
            remove the files themselves within the next hour. Nothing undoes this, and backups are not touched.
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
        let deletion = AppDeletion(store: AppStore(url: try await database.url(in: home)), app: id)
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
