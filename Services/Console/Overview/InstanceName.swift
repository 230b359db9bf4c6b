// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOPosix
public import RPC

/// The admin port of all instances of one kind of process: a name, each address of which is one instance.
public struct InstanceName: Hashable, Sendable {
    /// The kind of process, for example `gateway`.
    public let kind: String
    /// The name and the port.
    public let endpoint: RPCEndpoint

    /// Parses `kind=host:port`. Returns nil for anything else.
    public init?(_ text: String) {
        let parts = text.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, parts[0].utf8.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }),
            let endpoint = RPCEndpoint(String(parts[1]))
        else { return nil }
        kind = String(parts[0])
        self.endpoint = endpoint
    }

    /// Returns one endpoint for each address of the name.
    /// - Throws: an error if the name has no address.
    func addresses() async throws -> [RPCEndpoint] {
        let found = try await RPCResolver(threads: .singleton).addresses(of: endpoint)
        return found.compactMap { address in address.ipAddress.map { RPCEndpoint(host: $0, port: endpoint.port) } }
    }
}
