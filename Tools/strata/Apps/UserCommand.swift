// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Glibc
import StrataModel

struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "Manages single users of an app.", subcommands: [UserEraseCommand.self])
}

struct UserEraseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Permanently erases a user: sessions, devices, identity, files, and the content of messages.",
        discussion: """
            The account goes at once. The user's messages keep their places and lose their parts soon afterwards, and \
            all participants are told. The id stays in the conversations that the user takes part in. Nothing undoes \
            this, and backups are not touched. Uses the Server API, with the token in STRATA_SERVER_TOKEN, or else \
            with one that it makes in the database and revokes again.
            """)

    @Option(help: "The app. Optional if only one exists.")
    var app: String?
    @Option(help: "The user's id.")
    var user: String
    @OptionGroup var api: ServerAPIOption
    @Flag(help: "Erase the user without asking.")
    var yes = false
    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard UserID(user) != nil else {
            throw ValidationError(
                "--user must have 1 to \(Limits.userIDBytes) bytes of UTF-8, and no control characters.")
        }
    }

    func run() async throws {
        let app = try KeyRing(home: StrataHome()).appID(self.app)
        try confirm()
        let path = "/users/\(UserID(trusted: user).percentEncoded)"
        _ = try await api.with(app: app, purpose: "strata user erase") { server in try await server.call("DELETE", path)
        }
        if json { return try Console.standard.say(json: ["app": LayerID.app.text(app), "user": user]) }
        Console.standard.say(
            "\(user)  is erased. The content of the user's messages is being deleted in the background.")
    }

    private func confirm() throws {
        if yes { return }
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandFailure(
                .usage, "No user was erased. Confirm with --yes, or run the command in a terminal.")
        }
        Console.standard.note("Type the user's id to erase the user permanently:")
        guard readLine() == user else { throw CommandFailure(.usage, "No user was erased: that is not the user's id.") }
    }
}
