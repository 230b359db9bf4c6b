// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

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
    }

    func run() async throws {
        let apps = try await AppStore(url: try await database.url(in: StrataHome())).list()
        let rows = apps.map { app in
            Row(
                app: LayerID.app.text(app.id), provider: LayerID.provider.text(app.providerID),
                keys: app.keyIDs.map(LayerID.key.text),
                name: app.name, suspended: app.isSuspended, deleting: app.isBeingDeleted)
        }
        if json { return try Console.standard.say(json: rows) }
        guard !rows.isEmpty else {
            return Console.standard.say("No app yet. Create one with: \(OwnCommand.name) app create")
        }
        for row in rows {
            let state = row.deleting ? "  (being deleted)" : row.suspended ? "  (suspended)" : ""
            Console.standard.say("\(row.app)  \(row.name)\(state)")
        }
    }
}
