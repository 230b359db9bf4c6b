// SPDX-License-Identifier: Apache-2.0

import Crypto

/// A Lua script, run on the server by its digest and sent in full only to a server that does not know it yet.
public struct RedisScript: Sendable {
    /// A name for logs and metrics.
    public let name: String
    /// The Lua source.
    public let source: String
    /// The SHA-1 of the source in lower-case hexadecimal: the name EVALSHA knows it by.
    public let sha: String

    /// Creates a script and computes its digest; keep it in a constant.
    public init(_ name: String, source: String) {
        self.name = name
        self.source = source
        // Redis names scripts by SHA-1; nothing depends on its strength.
        self.sha = Insecure.SHA1.hash(data: Array(source.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
