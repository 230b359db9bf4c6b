// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import StrataModel

struct AppMoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Moves an app to another database, while it is used.",
        discussion: """
            Copies the app's rows, then those that have changed meanwhile. The app is then paused for a second or two, \
            in which requests wait, and its sockets reconnect. Finally its rows are deleted from the former database. \
            An interrupted command can be repeated on any machine, or undone with --undo until the switch. Needs \
            STRATA_DATABASE_URL with both databases. Other writes to the former database are a little slower meanwhile.
            """)

    @OptionGroup var database: DatabaseOption
    @Flag(help: "Undo a move that was interrupted before the switch.")
    var undo = false
    @Argument(help: "The app, as layer:///apps/production/<uuid> or as the UUID alone.")
    var app: String
    @Argument(help: "The name of the database.")
    var target: String

    func run() async throws {
        let id = try LayerID.app.parse(app, option: "The app")
        let stores = try await database.stores(in: StrataHome())
        guard let target = stores.all.first(where: { $0.name.description == self.target }) else {
            throw CommandFailure(.usage, "There is no database with the name \(self.target.onOneLine).")
        }
        let source = try await AppMove.source(of: id, to: target, among: stores)
        guard let source else {
            return Console.standard.say("\(LayerID.app.text(id))  lives in \(target.name)")
        }
        var move = AppMove(app: id, source: source, target: target)
        move.report = { Self.say($0) }
        if undo {
            try await move.undo()
            return Console.standard.say("\(LayerID.app.text(id))  stays in \(source.name)")
        }
        try await move.run()
        Console.standard.say("\(LayerID.app.text(id))  is moved to \(target.name)")
    }

    private static func say(_ progress: AppMove.Progress) {
        guard case .complete(let step) = progress else { return }
        switch step {
        case .begun: Console.standard.note("Changes are noted. Copying the rows.")
        case .copied: Console.standard.note("Copied. Copying the changes since then.")
        case .caughtUp: Console.standard.note("Few changes are left. Pausing the app.")
        case .paused: Console.standard.note("Paused.")
        case .drained: Console.standard.note("The last changes are copied.")
        case .switched: Console.standard.note("Served by the new database. Deleting the former rows in a minute.")
        case .cleaned: Console.standard.note("The former rows are deleted.")
        }
    }
}

extension AppMove {
    /// Returns the database that an app leaves or has left for another one.
    /// - Returns: nil if it lives in that one and has left nothing elsewhere.
    /// - Throws: ``CommandFailure`` if no database has the app. The error of another database that cannot be reached,
    ///   if it may be the one.
    static func source(
        of app: UUID, to target: AppStores.Member, among stores: AppStores
    ) async throws -> AppStores.Member? {
        let isInTarget = try await target.store.query(ReadMoveState(app: app)).first?.livesHere == true
        var (found, former, failure): (AppStores.Member?, AppStores.Member?, (any Error)?) = (nil, nil, nil)
        for member in stores.all where member.name != target.name {
            do {
                guard let state = try await member.store.query(ReadMoveState(app: app)).first, state.hasApp else {
                    continue
                }
                if state.state != "moved" {
                    found = member
                } else if state.other == target.name.description {
                    former = member
                }
            } catch {
                failure = failure ?? error
            }
        }
        if let source = found ?? former { return source }
        if let failure { throw failure }
        guard isInTarget else {
            throw CommandFailure(
                .usage, "The app \(LayerID.app.text(app)) does not exist. \(OwnCommand.name) app list shows all.")
        }
        return nil
    }
}
