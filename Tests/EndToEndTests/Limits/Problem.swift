// SPDX-License-Identifier: Apache-2.0

import TestCluster

struct Problem: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension Cluster {
    /// The first gateway's port for clients.
    var port: Int { instances(of: .gateway)[0].port }
}
