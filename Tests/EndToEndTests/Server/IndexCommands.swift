// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import TestCluster
import TestTiers
import Testing

/// The `strata app index` commands for one app.
struct IndexCommands {
    private let app: TestApp
    private let database: String

    init(_ app: TestApp, _ cluster: Cluster) {
        self.app = app
        database = cluster.databaseURL
    }

    @discardableResult
    func run(_ words: String..., fails: Bool = false) async throws -> (json: JSONValue, errorOutput: String) {
        let exit = try await StrataProgram()
            .run(["app", "index"] + words + [app.id], environment: ["STRATA_DATABASE_URL": database])
        try #require((exit.status != 0) == fails, "\(exit.errorOutput)")
        return ((try? JSONValue(parsing: Data(exit.output.utf8))) ?? .null, exit.errorOutput)
    }

    func make(_ property: String) async throws {
        try await run("add", property, "--json")
        try await eventually("the index of \(property) is ready") {
            try await run("list", "--json").json.array?
                .contains { $0["property"].string == property && $0["state"].string == "ready" } == true
        }
    }
}
