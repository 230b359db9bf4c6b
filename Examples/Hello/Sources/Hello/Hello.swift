// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataKit

/// A program that sends a greeting to a friend and then prints the conversation's messages: `Hello APP USER FRIEND
/// SERVER`.
@main
struct Hello {
    static func main() async throws {
        let words = CommandLine.arguments.dropFirst()
        guard words.count == 4, let friend = UserID(words[3]), let server = URL(string: words[4]) else {
            print("Hello APP USER FRIEND SERVER")
            exit(64)
        }
        let (app, user) = (words[1], words[2])

        // The client keeps its data in a directory.
        let folder = URL(filePath: ".hello/\(user)")
        let client = try StrataClient(appID: app, options: .init(server: server, directory: folder))
        if await client.authenticatedUser == nil {
            let nonce = try await client.requestAuthenticationNonce()
            try await client.authenticate(identityToken: identityToken(app: app, user: user, nonce: nonce))
        }
        // From now on the client stays connected and reconnects after a lost connection.
        try await client.connect()

        // This works without a network, too: the message is stored on the device and sent once there is a connection.
        let chat = try await client.findOrCreate(with: [friend], options: .init(metadata: ["title": "Hello"]))
        try await chat.send(client.newMessage(parts: [.text("Hello from \(user)!")]))

        // Print the messages on this device, then each new one.
        let query = Query<Message>(where: { $0.conversationID == chat.id }, sortBy: [.ascending(\.position)])
        let controller = try await client.queryController(query)
        try await controller.execute()
        let (messages, updates) = await controller.observe()
        messages.forEach(show)
        for await update in updates {
            for case .insert(let message, _) in update.changes { show(message) }
            try await chat.markAllMessagesAsRead()
        }
    }

    static func show(_ message: Message) {
        print(message.sender.displayName ?? message.sender.id, message.parts.first?.text ?? "", separator: ": ")
    }

    /// Returns a signed identity token of the user. In an app, the app's own backend issues it; this example uses the
    /// `strata` command.
    static func identityToken(app: String, user: String, nonce: String) throws -> String {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["strata", "token", "--app", app, "--user", user, "--nonce", nonce]
        process.standardOutput = output
        try process.run()
        return String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            .trimmingCharacters(in: .newlines)
    }
}
