// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Model

/// `strata announce`.
struct AnnounceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "announce",
        abstract: "Sends an announcement to users of an app: a message outside of every conversation.",
        discussion: """
            Sent by way of the conversations service of the running `strata dev`, or of --service with STRATA_CLUSTER_SECRET in the environment. \
            Whoever is online sees it at once, everybody else when he is back.
            """)

    @Option(help: "The app; may be left out where there is only one.")
    var app: String?
    @Option(name: .customLong("from"), help: "The name it is sent under.")
    var sender = "Announcement"
    @Option(name: .customLong("to"), help: "The id of a user; may be given several times.")
    var recipients: [String]
    @Option(help: "MIME type of the text.")
    var mimeType = "text/plain"
    @Option(
        help: ArgumentHelp(
            "Where the conversations service takes calls. (STRATA_CONVERSATIONS_ADDRESSES; default: the one of the running `strata dev`)",
            valueName: "host:port"))
    var service: String?
    @Flag(help: "Print JSON.")
    var json = false
    @Argument(help: "What is announced, at most 2048 characters.")
    var text: String

    func validate() throws {
        guard !recipients.isEmpty else { throw ValidationError("--to must be given at least once.") }
        guard !text.isEmpty, text.utf16.count <= Limits.inlinePartUnits else {
            throw ValidationError("The text must have 1 to \(Limits.inlinePartUnits) characters.")
        }
        guard !sender.isEmpty, !mimeType.isEmpty else { throw ValidationError("--from and --mime-type must not be empty.") }
    }

    func run() async throws {
        let home = StrataHome()
        let app = try KeyRing(home: home).appID(self.app)
        let line = try await ServiceLine(home: home, addresses: service)
        let id = AnnouncementID.random()
        try await line.announce(id, in: AppID(rawValue: app), from: sender, to: recipients, text: text, mimeType: mimeType)
        if json { return try Console.standard.say(json: ["id": id.layerID, "recipients": "\(recipients.count)"]) }
        Console.standard.say("Sent to \(recipients.count) \(recipients.count == 1 ? "user" : "users"): \(id.layerID)")
    }
}

extension KeyRing {
    /// The app that is named, or the only one that was created here.
    fileprivate func appID(_ text: String?) throws -> UUID {
        if let text { return try LayerID.app.parse(text, option: "--app") }
        return try entry(for: nil).app
    }
}
