// SPDX-License-Identifier: Apache-2.0

/// A version of the public protocol, for both transports.
public enum ProtocolVersion: String, Sendable, CaseIterable {
    case v2 = "2.0"
    case v3 = "3.0"

    /// The `Accept` header of requests.
    public var accept: String { "application/vnd.layer+json; version=\(rawValue)" }
    /// The WebSocket subprotocol.
    public var subprotocol: String { "layer-\(rawValue)" }
}

/// The servers whose certificates a client trusts.
public enum ServerTrust: Sendable, Hashable {
    /// Servers with a certificate of a public authority.
    case system
    /// Servers with a certificate signed by one of these PEM certificates.
    case roots(pem: String)
    /// All servers, for tests on the local machine.
    case anyCertificate
}
