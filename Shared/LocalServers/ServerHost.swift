// SPDX-License-Identifier: Apache-2.0

/// The host of a private server: this machine, or a network namespace of it.
public struct ServerHost: Sendable {
    /// The IPv4 address.
    public let address: String
    /// The beginning of a command line that runs a program on the host; empty: this machine.
    public let prefix: [String]

    /// This machine's 127.0.0.1.
    public static let loopback = ServerHost(address: "127.0.0.1", prefix: [])

    /// Creates a host.
    public init(address: String, prefix: [String]) {
        self.address = address
        self.prefix = prefix
    }
}
