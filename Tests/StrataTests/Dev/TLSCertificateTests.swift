// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftASN1
import Testing
import X509

@testable import StrataCommand

@Suite("the TLS certificate")
struct TLSCertificateTests {
    private let hosts = ["localhost", "127.0.0.1", "::1"]

    @Test("the certificate covers this machine, and only its owner can read its key")
    func covers() async throws {
        try await withTemporaryDirectory { directory in
            let made = try TLSCertificate.ensure(in: directory, hosts: hosts)
            #expect(made.isNew)
            let certificate = try Certificate(pemEncoded: try String(contentsOfFile: made.certificate, encoding: .utf8))
            let names = try #require(try certificate.extensions.subjectAlternativeNames)
            #expect(names.contains(.dnsName("localhost")))
            #expect(names.contains(.ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1]))))
            #expect(
                names.contains(
                    .ipAddress(ASN1OctetString(contentBytes: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]))))
            #expect(certificate.publicKey.isValidSignature(certificate.signature, for: certificate))
            let mode = try FileManager.default.attributesOfItem(atPath: made.key)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test("the certificate is kept until shortly before it expires")
    func kept() async throws {
        try await withTemporaryDirectory { directory in
            let now = Date()
            _ = try TLSCertificate.ensure(in: directory, hosts: hosts, now: now)
            #expect(
                try !TLSCertificate.ensure(in: directory, hosts: hosts, now: now.addingTimeInterval(300 * 86_400)).isNew
            )
            #expect(
                try TLSCertificate.ensure(in: directory, hosts: hosts, now: now.addingTimeInterval(340 * 86_400)).isNew)
            let end = try #require(TLSCertificate.expiry(ofCertificateAt: directory + "/certificate.pem"))
            #expect(end > now.addingTimeInterval(700 * 86_400))
        }
    }

    @Test("the certificate is recreated for another public name, with a foreign key, and when unreadable")
    func replaced() async throws {
        try await withTemporaryDirectory { directory in
            _ = try TLSCertificate.ensure(in: directory, hosts: hosts)
            #expect(try TLSCertificate.ensure(in: directory, hosts: hosts + ["chat.example.org"]).isNew)
            #expect(try !TLSCertificate.ensure(in: directory, hosts: hosts).isNew)
            try await withTemporaryDirectory { other in
                let foreign = try TLSCertificate.ensure(in: other, hosts: hosts)
                try PrivateFile.write(
                    try String(contentsOfFile: foreign.key, encoding: .utf8), to: directory + "/key.pem")
            }
            #expect(try TLSCertificate.ensure(in: directory, hosts: hosts).isNew)
            try PrivateFile.write("nonsense", to: directory + "/certificate.pem")
            #expect(try TLSCertificate.ensure(in: directory, hosts: hosts).isNew)
        }
    }
}
