// SPDX-License-Identifier: Apache-2.0
import NIOSSL

extension ServerTrust {
    /// The settings of a TLS client that trusts these.
    func tlsConfiguration() throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        switch self {
        case .system: break
        case .roots(let pem): configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)))
        case .anyCertificate: configuration.certificateVerification = .none
        }
        return configuration
    }
}
