// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import DatabaseKit
import Foundation
import Glibc

/// The source of an operator's new password: a file, or the terminal.
struct NewPassword: ParsableArguments {
    @Option(help: "A file with the password. Without it, the terminal asks for the password twice.")
    var passwordFile: String?

    /// Reads and hashes the password.
    /// - Parameter ask: Shows a prompt at the terminal and returns the answer, which is not shown.
    func hash(ask: (String) -> String? = Self.askTerminal) throws -> PasswordHash {
        let password = try passwordFile.map(Self.read) ?? Self.twice(ask)
        if let complaint = PasswordHash.complaint(about: password) {
            throw CommandFailure(.usage, "The password \(complaint).")
        }
        // Ctrl-C is no signal while the terminal asks.
        guard !password.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw CommandFailure(.usage, "The password must not contain control characters.")
        }
        return try PasswordHash(of: password)
    }

    private static func read(_ path: String) throws -> String {
        guard var text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw CommandFailure(.noInput, "The file \(path) cannot be read.")
        }
        if text.hasSuffix("\n") { text.removeLast() }
        return text
    }

    private static func twice(_ ask: (String) -> String?) throws -> String {
        guard let password = ask("Password: "), let again = ask("The same password again: ") else {
            throw CommandFailure(.usage, "Name a --password-file, or run the command in a terminal.")
        }
        guard password == again else { throw CommandFailure(.usage, "The two passwords differ.") }
        return password
    }

    /// Returns a line of the terminal; nil: there is no terminal.
    private static func askTerminal(_ prompt: String) -> String? {
        guard isatty(STDIN_FILENO) == 1, let answer = getpass(prompt) else { return nil }
        return String(cString: answer)
    }
}
