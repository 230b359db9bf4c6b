// SPDX-License-Identifier: Apache-2.0

import TestCluster

/// Something that a test cannot go on with.
struct Problem: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension Cluster {
    /// Of the first gateway, for clients.
    var port: Int { instances(of: .gateway)[0].port }
}
