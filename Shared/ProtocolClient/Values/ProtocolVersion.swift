// SPDX-License-Identifier: Apache-2.0

/// The version of the public protocol a client speaks, on both transports.
public enum ProtocolVersion: String, Sendable, CaseIterable {
    case v2 = "2.0"
    case v3 = "3.0"

    /// The `Accept` header of a request.
    public var accept: String { "application/vnd.layer+json; version=\(rawValue)" }
    /// The WebSocket subprotocol.
    public var subprotocol: String { "layer-\(rawValue)" }
}

/// Which servers a client believes to be who they say they are.
public enum ServerTrust: Sendable, Hashable {
    /// Those with a certificate of a public authority.
    case system
    /// Those with a certificate that one of these, in PEM, has signed.
    case roots(pem: String)
    /// Any at all: for tests on one's own machine.
    case anyCertificate
}
