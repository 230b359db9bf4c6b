// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import RPC

struct SecretsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secrets",
        abstract: "Creates the missing passwords and the certificate of a deployment.",
        discussion: """
            `docker compose up` runs it first. What is in the directory already is kept: the database knows the passwords that were in it. Run as root, \
            it gives each file to the group of those who may read it.
            """)

    @Argument(help: "The directory of the secrets.")
    var directory: String
    @Option(help: "host:port of PostgreSQL.")
    var postgres = DeploymentSecrets.Places().postgres
    @Option(help: "The database's name.")
    var database = DeploymentSecrets.Places().database
    @Option(help: "host:port of Redis.")
    var redis = DeploymentSecrets.Places().redis
    @Option(help: "Names and addresses, separated by commas, that the certificate covers beside localhost.")
    var tlsHosts = ""

    func validate() throws {
        for (option, address) in [("--postgres", postgres), ("--redis", redis)]
        where RPCEndpoint(address) == nil || !Self.isPlain(address) {
            throw ValidationError("\(option) must look like host:port.")
        }
        guard (1...63).contains(database.utf8.count), database.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
            throw ValidationError("--database must have 1 to 63 bytes, and no control characters.")
        }
        if let wrong = further.first(where: { IPAddressBytes($0) == nil && !Self.isHostName($0) }) {
            throw ValidationError("--tls-hosts: \(wrong.onOneLine) is neither a host name nor an address.")
        }
    }

    /// Returns true if an address can be used in a URL without escaping.
    private static func isPlain(_ text: String) -> Bool {
        text.range(of: "^[0-9A-Za-z._:\\[\\]-]+\\z", options: .regularExpression) != nil
    }

    /// Returns true for labels of letters, digits and hyphens. The first label may be `*`, for all names one level
    /// below.
    private static func isHostName(_ text: String) -> Bool {
        let label = "[0-9A-Za-z_]([0-9A-Za-z_-]{0,61}[0-9A-Za-z_])?"
        return text.utf8.count <= 253
            && text.range(of: "^(\\*\\.)?\(label)(\\.\(label))*\\z", options: .regularExpression) != nil
    }

    private var further: [String] {
        tlsHosts.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    func run() throws {
        var places = DeploymentSecrets.Places()
        places.postgres = postgres
        places.database = database
        places.redis = redis
        places.hosts += further.filter { !places.hosts.contains($0) }
        let made = try DeploymentSecrets(directory: directory, places: places).ensure()
        Console.standard.say(
            made.isEmpty ? "All secrets exist." : "Made:\n" + made.map { "  \($0)" }.joined(separator: "\n"))
    }
}
