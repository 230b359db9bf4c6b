// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import TestSupport

/// The databases of a cluster: `main` alone, or `main`, `second`, `third` and so on.
package struct ClusterDatabases: Sendable {
    /// The URLs, as the owner, in the order of the names.
    package let urls: [String]
    /// The names.
    package var names: [String] { Array(Self.allNames.prefix(urls.count)) }

    private static let allNames = ["main", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"]

    /// The URL of the last database.
    var last: String { urls[urls.count - 1] }

    /// Creates further databases beside a migrated one, on the servers in turn, and names all of them.
    static func make(_ count: Int, first: String, on servers: [PrivatePostgres]) async throws -> ClusterDatabases {
        var urls = [first]
        while urls.count < count {
            urls.append(try await TestServers.freshDatabase(on: servers[urls.count % servers.count]))
        }
        let databases = ClusterDatabases(urls: urls)
        if count > 1 {
            let migration = try await ChildProcess.run(
                Launch(try Executables.find("strata"), arguments: ["migrate", "--database", databases.list { $0 }]))
            guard migration.isSuccess else {
                throw LocalServerError(.commandFailed, "strata migrate failed: \(migration.output)")
            }
        }
        return databases
    }

    /// Returns the setting that names the databases.
    /// - Parameter url: Changes a URL.
    package func list(_ url: (String) -> String = { $0 }) -> String {
        guard urls.count > 1 else { return url(urls[0]) }
        return zip(names, urls).map { "\($0)=\(url($1))" }.joined(separator: " ")
    }
}
