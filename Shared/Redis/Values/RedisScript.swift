// SPDX-License-Identifier: Apache-2.0

import Crypto

/// A Lua script, run by its digest. The source is only sent to a server that does not know the script.
public struct RedisScript: Sendable {
    /// The name for logs and metrics.
    public let name: String
    /// The Lua source.
    public let source: String
    /// The SHA-1 of the source in lower-case hexadecimal, by which EVALSHA identifies the script.
    public let sha: String

    /// Creates a script and computes its digest. Store it in a constant.
    public init(_ name: String, source: String) {
        self.name = name
        self.source = source
        // Redis identifies scripts by SHA-1. Security does not depend on it.
        self.sha = Insecure.SHA1.hash(data: Array(source.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
            .joined()
    }
}
