// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

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
        let store = AppStore(url: try await database.url(in: StrataHome()))
        guard let name = try await store.setSuspended(isSuspended, for: id) else {
            throw CommandFailure(
                .usage, "The app \(LayerID.app.text(id)) does not exist. \(OwnCommand.name) app list shows all.")
        }
        Console.standard.say("\(LayerID.app.text(id))  \(name)  is \(isSuspended ? "suspended" : "in service")")
    }
}
