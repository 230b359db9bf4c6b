// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL
import TestSupport
import Testing

@testable import RPC

@Suite(.timeLimit(.minutes(3)))
struct TLSTests {
    private static func identity(_ name: String) throws -> (NIOSSLCertificate, NIOSSLPrivateKey) {
        let identity = try TestIdentity(names: [name])
        return (
            try NIOSSLCertificate(bytes: Array(identity.certificate.utf8), format: .pem),
            try NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem)
        )
    }

    @Test("short and long calls use TLS")
    func encrypted() async throws {
        let (certificate, key) = try TLSTests.identity("service.test")
        try await withPair(
            server: {
                $0.tls = .makeServerConfiguration(
                    certificateChain: [.certificate(certificate)], privateKey: .privateKey(key))
            },
            client: {
                $0.tls = .makeClientConfiguration()
                $0.tls?.trustRoots = .certificates([certificate])
                $0.tlsServerName = "service.test"
            }, handler: { _, payload in ByteBuffer(repeating: 3, count: payload.readableBytes * 1000) }
        ) { (client: RPCClient) async throws in
            #expect(try await client.echo(ByteBuffer(string: "x")).readableBytes == 1000)
            #expect(try await client.echo(ByteBuffer(repeating: 1, count: 3000)).readableBytes == 3_000_000)
        }
    }

    @Test("an untrusted certificate, or one for another name, is refused", arguments: ["service.test", "other.test"])
    func untrusted(_ name: String) async throws {
        let (certificate, key) = try TLSTests.identity("service.test")
        let (stranger, _) = try TLSTests.identity("service.test")
        try await withPair(
            server: {
                $0.tls = .makeServerConfiguration(
                    certificateChain: [.certificate(certificate)], privateKey: .privateKey(key))
            },
            client: {
                $0.tls = .makeClientConfiguration()
                $0.tls?.trustRoots = .certificates([name == "service.test" ? stranger : certificate])
                $0.tlsServerName = name
            }
        ) { (client: RPCClient) async throws in #expect(await client.failure() == .unavailable) }
    }

    @Test("a client without TLS cannot connect to a server with it")
    func plain() async throws {
        let (certificate, key) = try TLSTests.identity("service.test")
        try await withPair(
            server: {
                $0.tls = .makeServerConfiguration(
                    certificateChain: [.certificate(certificate)], privateKey: .privateKey(key))
                $0.helloTimeout = .milliseconds(100)
            }
        ) { (client: RPCClient) async throws in #expect(await client.failure() == .unavailable) }
    }

    @Test("TLS verifies the DNS name, unless the host is an address or another name is given")
    func hostname() {
        var configuration = RPCClientConfiguration(target: .dns(host: "service.test", port: 1), clusterSecret: secret)
        #expect(configuration.tlsHostname == "service.test")
        configuration.target = .dns(host: "127.0.0.1", port: 1)
        #expect(configuration.tlsHostname == nil)
        configuration.tlsServerName = "given.test"
        #expect(configuration.tlsHostname == "given.test")
    }
}
