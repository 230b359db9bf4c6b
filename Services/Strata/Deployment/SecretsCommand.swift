// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

/// `strata secrets`.
struct SecretsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secrets",
        abstract: "Makes the passwords and the certificate of a deployment, where there are none yet.",
        discussion: """
            `docker compose up` runs it first. What is in the directory already is kept: the database knows the passwords that were in it. Run as root, \
            it gives each file to the group of those who may read it.
            """)

    @Argument(help: "Where they are kept.")
    var directory: String
    @Option(help: "host:port of PostgreSQL.")
    var postgres = DeploymentSecrets.Places().postgres
    @Option(help: "The database's name.")
    var database = DeploymentSecrets.Places().database
    @Option(help: "host:port of Redis.")
    var redis = DeploymentSecrets.Places().redis
    @Option(help: "Names and addresses, separated by commas, that the certificate covers beside localhost.")
    var tlsHosts = ""

    func run() throws {
        var places = DeploymentSecrets.Places()
        places.postgres = postgres
        places.database = database
        places.redis = redis
        let further = tlsHosts.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        places.hosts += further.filter { !$0.isEmpty && !places.hosts.contains($0) }
        let made = try DeploymentSecrets(directory: directory, places: places).ensure()
        Console.standard.say(made.isEmpty ? "All secrets are there." : "Made:\n" + made.map { "  \($0)" }.joined(separator: "\n"))
    }
}
