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

    /// Whether a connection failed because its certificate is not trusted. BoringSSL's reason is in the words of the error only.
    static func isDistrust(_ error: any Error) -> Bool {
        if let error = error as? NIOSSLExtraError { return error == .failedToValidateHostname }
        guard case .handshakeFailed(let reason) = error as? NIOSSLError else { return false }
        return "\(reason)".contains("CERTIFICATE_VERIFY_FAILED")
    }
}
