// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestCluster

/// A library of which a client process can be made.
package enum KitLibrary: String, Sendable, CaseIterable {
    case strataKit = "StrataKit"
    case strataJS = "strata.js"

    /// Returns the words that start a client process.
    /// - Throws: an error if the program, or Node, is missing.
    func commandLine() throws -> [String] {
        guard self == .strataJS else { return [try Executables.find("KitClient")] }
        guard let node = Node.path else { throw KitSessionError(Node.comment) }
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL
        return [
            node, root.appending(path: "Clients/JavaScript/test/support/kit-client.js").path(percentEncoded: false),
        ]
    }
}
