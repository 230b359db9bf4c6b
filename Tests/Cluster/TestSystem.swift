// SPDX-License-Identifier: Apache-2.0

import Postgres
package import ProtocolClient
import StrataCommand

/// A system that clients can use, and whose database can be read: one of this process, or one that runs elsewhere.
package protocol TestSystem: Sendable {
    /// As its owner.
    var databaseURL: String { get }
    /// Base URL of each gateway.
    var urls: [String] { get }
    /// A client of a gateway; numbers beyond the last begin anew.
    func client(_ gateway: Int, _ version: ProtocolVersion) -> ProtocolClient
}

extension TestSystem {
    package func client(_ gateway: Int = 0) -> ProtocolClient { client(gateway, .v3) }

    package func app() async throws -> TestApp {
        let key = try await TestApp.key.value
        let app = try NewApp(name: "Test", publicKeyFile: key.publicKeyFile)
        try await AppStore(url: databaseURL).insert(app)
        // Tests add a user to more conversations within an hour than people do.
        try await Migrator(configuration: PostgresConfiguration(url: databaseURL))
            .execute(script: "UPDATE conversations.app SET stranger_additions = 10000 WHERE id = '\(app.id)'")
        return TestApp(system: self, app: app, privateKey: key.privateKey, privateKeyFile: key.privateKeyFile)
    }
}
