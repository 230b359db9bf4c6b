// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataKit

/// A chat in the terminal. ``ChatOptions/usage`` describes its options.
@main
struct Chat {
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        guard !words.contains("--help") else { return print(ChatOptions.usage) }
        do {
            try await run(try ChatOptions(words))
        } catch {
            let failure =
                error as? ChatFailure ?? ChatFailure((error as? StrataError)?.message ?? error.localizedDescription)
            FileHandle.standardError.write(Data("chat: \(failure.message)\n".utf8))
            exit(failure.status)
        }
    }

    private static func run(_ options: ChatOptions) async throws {
        guard TerminalDevice.isPresent else { throw ChatFailure("Input and output must be a terminal.") }
        let store = try ChatStore(of: options.user, in: options.directory)
        // The process holds the store as long as this value lives.
        defer { withExtendedLifetime(store) {} }
        let account = ChatAccount(app: options.app, user: options.user, displayName: options.displayName)
        let client = try account.client(
            of: options.server, directory: store.directory, trusting: try options.trustedCertificates)
        try await account.signIn(client)
        try await ChatSession(client: client, account: account, terminal: try TerminalDevice()).run()
    }
}

/// The reason why the program ends: a sentence for the user, and the exit status.
struct ChatFailure: Error, Hashable {
    let message: String
    var status: Int32 = 1

    init(_ message: String, status: Int32 = 1) {
        self.message = message
        self.status = status
    }
}
