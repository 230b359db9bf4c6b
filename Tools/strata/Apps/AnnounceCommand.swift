// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import ProtocolClient
import StrataModel

struct AnnounceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "announce",
        abstract: "Sends an announcement to users of an app: a message outside of every conversation.",
        discussion: """
            Users who are online see it at once, the others when they connect again. Uses the Server API, with the \
            token in STRATA_SERVER_TOKEN, or else with one that it makes in the database and revokes again.
            """)

    @Option(help: "The app. Optional if only one exists.")
    var app: String?
    @Option(name: .customLong("from"), help: "The sender's name.")
    var sender = "Announcement"
    @Option(name: .customLong("to"), help: "The id of a recipient; repeatable.")
    var recipients: [String]
    @Option(help: "MIME type of the text.")
    var mimeType = "text/plain"
    @OptionGroup var api: ServerAPIOption
    @Flag(help: "Print JSON.")
    var json = false
    @Argument(help: "The text of the announcement, at most 2048 characters.")
    var text: String

    func validate() throws {
        guard !recipients.isEmpty else { throw ValidationError("--to must be given at least once.") }
        guard !text.isEmpty, text.utf16.count <= Limits.inlinePartUnits else {
            throw ValidationError("The text must have 1 to \(Limits.inlinePartUnits) characters.")
        }
        guard (1...Self.senderLimit).contains(sender.unicodeScalars.count) else {
            throw ValidationError("--from must have 1 to \(Self.senderLimit) characters.")
        }
        if let wrong = recipients.first(where: { UserID($0) == nil }) {
            let rule = "1 to \(Limits.userIDBytes) bytes, and no control characters"
            throw ValidationError("--to \(wrong.onOneLine.prefix(40)) is not the id of a user: \(rule).")
        }
        guard Self.isMIMEType(mimeType) else {
            throw ValidationError(
                "--mime-type must look like text/plain; parameters may follow, each behind a semicolon.")
        }
    }

    /// The maximum length of a sender's name in Unicode scalars, as for other displayed names.
    private static let senderLimit = 128

    /// Returns true for a type and subtype of RFC 2045 with optional parameters. The check is stricter than the
    /// protocol, which accepts any text, because the operator types the value.
    static func isMIMEType(_ text: String) -> Bool {
        let token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
        let pattern = "\(token)/\(token)( *; *\(token)=(\(token)|\"[^\"\\\\]*\"))*"
        return text.utf8.count <= 255 && text.range(of: "^(?:\(pattern))\\z", options: .regularExpression) != nil
            && text.utf8.allSatisfy { (0x20..<0x7f).contains($0) }
    }

    func run() async throws {
        let app = try KeyRing(home: StrataHome()).appID(self.app)
        let id = UUID()
        // Only version 1.x accepts a sender with a name and no user.
        let body: JSONValue = [
            "recipients": .array(recipients.map { .string($0) }), "sender": ["name": .string(sender)],
            "parts": [["mime_type": .string(mimeType), "body": .string(text)]],
        ]
        let sent = try await api.with(app: app, purpose: "strata announce") { server in
            try await server.call(
                "POST", "/announcements", body, version: "1.0", headers: ["If-None-Match": id.uuidString])
        }
        let layerID = sent["id"].string ?? AnnouncementID(rawValue: id).layerID
        let count = sent["recipients"].array?.count ?? recipients.count
        if json { return try Console.standard.say(json: ["id": layerID, "recipients": "\(count)"]) }
        Console.standard.say("Sent to \(count) \(count == 1 ? "user" : "users"): \(layerID)")
    }
}
