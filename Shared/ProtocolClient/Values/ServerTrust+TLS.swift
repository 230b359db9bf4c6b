// SPDX-License-Identifier: Apache-2.0
import NIOSSL

extension ServerTrust {
    func tlsConfiguration() throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        switch self {
        case .system: break
        case .roots(let pem):
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)))
        case .anyCertificate: configuration.certificateVerification = .none
        }
        return configuration
    }

    /// Returns true if a connection failed because the certificate is not trusted. BoringSSL's reason is only in the
    /// text of the error.
    static func isDistrust(_ error: any Error) -> Bool {
        if let error = error as? NIOSSLExtraError { return error == .failedToValidateHostname }
        guard case .handshakeFailed(let reason) = error as? NIOSSLError else { return false }
        return "\(reason)".contains("CERTIFICATE_VERIFY_FAILED")
    }
}
