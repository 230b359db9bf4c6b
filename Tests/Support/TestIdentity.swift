// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import SwiftASN1
import X509

/// A self-signed certificate that is valid for one hour, and its private key.
public struct TestIdentity: Sendable {
    /// The certificate, PEM.
    public let certificate: String
    /// The private key, PEM.
    public let key: String

    /// Creates a certificate.
    /// - Parameters:
    ///   - names: The DNS names, at least one.
    ///   - addresses: The IPv4 addresses, four bytes each.
    public init(names: [String], addresses: [[UInt8]] = []) throws {
        let privateKey = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let subject = try DistinguishedName { CommonName(names[0]) }
        let alternatives =
            names.map { GeneralName.dnsName($0) } + addresses.map { .ipAddress(ASN1OctetString(contentBytes: $0[...])) }
        certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: privateKey.publicKey,
            notValidBefore: Date(timeIntervalSinceNow: -3600),
            notValidAfter: Date(timeIntervalSinceNow: 3600), issuer: subject, subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                SubjectAlternativeNames(alternatives)
            }, issuerPrivateKey: privateKey
        )
        .serializeAsPEM().pemString
        key = try privateKey.serializeAsPEM().pemString
    }

    /// Writes the certificate and the key into a new directory.
    /// - Returns: The paths of the PEM files.
    public func files() throws -> (certificate: String, key: String) {
        let directory = try TestDirectory.make("identity")
        let paths = (certificate: directory + "/certificate.pem", key: directory + "/key.pem")
        try certificate.write(toFile: paths.certificate, atomically: false, encoding: .utf8)
        try key.write(toFile: paths.key, atomically: false, encoding: .utf8)
        return paths
    }
}
