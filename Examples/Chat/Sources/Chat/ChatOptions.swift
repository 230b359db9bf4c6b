// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataKit

/// The options of the command line.
struct ChatOptions: Sendable {
    static let usage = """
        chat --app APP --user USER --url URL [--display-name NAME] [--ca FILE] [--directory DIRECTORY]

          --app APP              the id of the app; `strata token` must have its key
          --user USER            the id of the user who signs in
          --url URL              the base URL of a gateway
          --display-name NAME    the name that other users see
          --ca FILE              certificates to trust instead of those of public authorities, in PEM
          --directory DIRECTORY  the directory for the data of all users on this device (default: .chat)

        Start it in two terminals with two users, alice and bob, and type /new bob in the one of alice.
        F1 shows all keys and commands. Messages that are written without a connection are sent later.
        """

    let app: String
    let user: UserID
    let server: URL
    let displayName: String?
    let directory: URL
    /// The path of the file with the certificates to trust. nil: the certificates of public authorities are trusted.
    let certificates: String?

    /// Parses the words after the program's name. The last value of a repeated option counts.
    init(_ words: [String]) throws(ChatFailure) {
        let names = ["--app", "--user", "--url", "--display-name", "--ca", "--directory"]
        var values: [String: String] = [:]
        var rest = words[...]
        while let name = rest.popFirst() {
            guard names.contains(name) else { throw Self.failure("There is no option \(name).") }
            guard let value = rest.popFirst(), !value.isEmpty else { throw Self.failure("\(name) needs a value.") }
            values[name] = value
        }
        guard let app = values["--app"], let id = values["--user"], let address = values["--url"] else {
            throw Self.failure("--app, --user and --url are needed.")
        }
        guard let user = UserID(id) else {
            throw Self.failure("--user must have 1 to \(Limits.userIDBytes) bytes, and no control characters.")
        }
        guard let server = URL(string: address), ["http", "https"].contains(server.scheme), server.host() != nil else {
            throw Self.failure("--url must look like https://chat.example.org.")
        }
        (self.app, self.user, self.server) = (app, user, server)
        displayName = values["--display-name"]
        directory = URL(filePath: values["--directory"] ?? ".chat")
        certificates = values["--ca"]
    }

    /// The certificates to trust, in PEM. nil: those of public authorities.
    var trustedCertificates: String? {
        get throws(ChatFailure) {
            guard let certificates else { return nil }
            do { return try String(contentsOfFile: certificates, encoding: .utf8) } catch {
                throw ChatFailure("The file \(certificates) cannot be read.")
            }
        }
    }

    private static func failure(_ message: String) -> ChatFailure {
        ChatFailure("\(message) --help shows all options.", status: 64)
    }
}
