// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import Testing

/// The `strata app token` commands for one app.
struct ServerTokenCommands {
    struct Token {
        let id: String
        let name: String
    }

    private let app: TestApp
    private let database: String

    init(_ app: TestApp, _ cluster: Cluster) {
        self.app = app
        database = cluster.databaseURL
    }

    func create(_ name: String) async throws -> (id: String, token: String) {
        let answer = try await run("create", "--name", name, "--json", app.id)
        return (try #require(answer["id"].string), try #require(answer["token"].string))
    }

    func list() async throws -> [Token] {
        try await run("list", "--json", app.id).array?
            .map { Token(id: $0["id"].string ?? "", name: $0["name"].string ?? "") } ?? []
    }

    func revoke(_ id: String) async throws { _ = try await run("revoke", id) }

    private func run(_ words: String...) async throws -> JSONValue {
        let exit = try await StrataProgram()
            .run(["app", "token"] + words, environment: ["STRATA_DATABASE_URL": database])
        try #require(exit.status == 0, "\(exit.errorOutput)")
        return (try? JSONValue(parsing: Data(exit.output.utf8))) ?? .null
    }
}
