// SPDX-License-Identifier: Apache-2.0

import Postgres
package import ProtocolClient
import StrataCommand

/// A system that clients can use and whose database is readable: a cluster of this process, or a remote system.
package protocol TestSystem: Sendable {
    /// The libpq URL of the database, as its owner.
    var databaseURL: String { get }
    var urls: [String] { get }
    /// Returns a client of a gateway. Numbers beyond the last gateway wrap around.
    func client(_ gateway: Int, _ version: ProtocolVersion) -> ProtocolClient
}

extension TestSystem {
    package func client(_ gateway: Int = 0) -> ProtocolClient { client(gateway, .v3) }

    /// Creates an app.
    /// - Parameter database: The URL of its database. nil: ``databaseURL``.
    package func app(in database: String? = nil) async throws -> TestApp {
        let url = database ?? databaseURL
        let key = try await TestApp.key.value
        let app = try NewApp(name: "Test", publicKeyFile: key.publicKeyFile)
        try await AppStore(url: url).insert(app)
        // Tests add a user to more conversations per hour than the default limit allows.
        try await Migrator(configuration: PostgresConfiguration(url: url))
            .execute(script: "UPDATE conversations.app SET stranger_additions = 10000 WHERE id = '\(app.id)'")
        return TestApp(system: self, app: app, privateKey: key.privateKey, privateKeyFile: key.privateKeyFile)
    }
}
