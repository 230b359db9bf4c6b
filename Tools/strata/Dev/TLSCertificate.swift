// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation
import Glibc
import SwiftASN1
import X509

/// The self-signed certificate of a system on this machine. It is kept across starts, so that users who trust it need
/// not do so again.
struct TLSCertificate: Sendable, Equatable {
    /// The path of the certificate, PEM. Clients can be configured to trust it.
    let certificate: String
    /// The path of the private key, PEM, mode 0600.
    let key: String
    /// True if the certificate was created by this call.
    let isNew: Bool

    /// The validity period. Apple's clients accept at most 825 days.
    private static let validity: TimeInterval = 365 * 86_400
    /// The remaining validity below which a certificate is replaced.
    private static let margin: TimeInterval = 30 * 86_400

    /// Returns the certificate of a directory, or a new one if there is none or it is unusable. A certificate is
    /// unusable if it expires soon, does not cover all hosts, or does not match its key.
    /// - Parameters:
    ///   - directory: The directory of `certificate.pem` and `key.pem`.
    ///   - hosts: The names and addresses that the certificate must cover.
    static func ensure(in directory: String, hosts: [String], now: Date = Date()) throws -> TLSCertificate {
        let certificate = directory + "/certificate.pem"
        let key = directory + "/key.pem"
        if isUsable(certificate: certificate, key: key, hosts: hosts, now: now) {
            return TLSCertificate(certificate: certificate, key: key, isNew: false)
        }
        let (newCertificate, newKey) = try makeCertificate(hosts: hosts, now: now)
        try PrivateFile.write(newKey, to: key)
        try PrivateFile.write(newCertificate, to: certificate)
        return TLSCertificate(certificate: certificate, key: key, isNew: true)
    }

    /// Returns the expiry of the certificate in a PEM file; nil if there is none.
    static func expiry(ofCertificateAt path: String) -> Date? {
        readCertificate(at: path)?.notValidAfter
    }

    private static func isUsable(certificate: String, key: String, hosts: [String], now: Date) -> Bool {
        guard let found = readCertificate(at: certificate),
            let keyText = try? String(contentsOfFile: key, encoding: .utf8),
            let privateKey = try? P256.Signing.PrivateKey(pemRepresentation: keyText),
            Certificate.PublicKey(privateKey.publicKey) == found.publicKey,
            found.notValidBefore <= now, found.notValidAfter > now.addingTimeInterval(margin),
            let covered = try? found.extensions.subjectAlternativeNames, let wanted = try? names(hosts)
        else { return false }
        return wanted.allSatisfy { covered.contains($0) }
    }

    private static func readCertificate(at path: String) -> Certificate? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        return try? Certificate(pemEncoded: text)
    }

    private static func makeCertificate(hosts: [String], now: Date) throws -> (certificate: String, key: String) {
        let key = P256.Signing.PrivateKey()
        let name = try DistinguishedName { CommonName("Strata on this machine") }
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: Certificate.PublicKey(key.publicKey),
            // The validity begins one hour earlier, for clients whose clock is slow.
            notValidBefore: now.addingTimeInterval(-3600), notValidAfter: now.addingTimeInterval(validity),
            issuer: name, subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames(try names(hosts))
            },
            issuerPrivateKey: Certificate.PrivateKey(key))
        return (try certificate.serializeAsPEM().pemString + "\n", key.pemRepresentation + "\n")
    }

    private static func names(_ hosts: [String]) throws -> [GeneralName] {
        hosts.map { host in
            guard let address = IPAddressBytes(host) else { return .dnsName(host) }
            return .ipAddress(ASN1OctetString(contentBytes: address.bytes[...]))
        }
    }
}

/// An IP address in network byte order, as in certificates: 4 or 16 bytes.
struct IPAddressBytes: Equatable {
    let bytes: [UInt8]

    /// Parses an address; nil if the text is a host name.
    init?(_ text: String) {
        var four = [UInt8](repeating: 0, count: 4)
        if inet_pton(AF_INET, text, &four) == 1 {
            bytes = four
            return
        }
        var sixteen = [UInt8](repeating: 0, count: 16)
        guard inet_pton(AF_INET6, text, &sixteen) == 1 else { return nil }
        bytes = sixteen
    }
}
