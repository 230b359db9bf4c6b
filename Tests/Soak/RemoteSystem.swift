// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import TestCluster

/// A system that this process did not start, reachable at one address.
struct RemoteSystem: TestSystem {
    let urls: [String]
    let databaseURL: String
    private let clients: [ProtocolVersion: ProtocolClient]

    /// - Parameters:
    ///   - url: The base URL of a gateway, or of a load balancer.
    ///   - databaseURL: The libpq URL of the database, as its owner.
    init(url: String, trust: ServerTrust, databaseURL: String) throws {
        urls = [url]
        self.databaseURL = databaseURL
        clients = try Dictionary(
            uniqueKeysWithValues: ProtocolVersion.allCases.map {
                ($0, try ProtocolClient(baseURL: url, version: $0, trust: trust))
            })
    }

    func client(_ gateway: Int, _ version: ProtocolVersion) -> ProtocolClient {
        // A client exists for each version.
        clients[version] ?? clients.values[clients.values.startIndex]
    }

    func shutdown() async {
        for client in clients.values { try? await client.shutdown() }
    }
}
