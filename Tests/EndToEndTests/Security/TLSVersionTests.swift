// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import NIOCore
import NIOPosix
import NIOSSL
import ProtocolClient
import TestCluster
import TestSupport
import TestTiers
import Testing

@testable import StrataCommand

extension EndToEnd {
    @Suite("TLS")
    struct TLSVersionTests {
        /// Returns true if a client with these TLS versions completes its handshake.
        private func connects(
            _ versions: (TLSVersion, TLSVersion), port: Int, trusting pem: String
        ) async throws -> Bool {
            var configuration = TLSConfiguration.makeClientConfiguration()
            (configuration.minimumTLSVersion, configuration.maximumTLSVersion) = versions
            configuration.trustRoots = .file(pem)
            let context = try NIOSSLContext(configuration: configuration)
            let established = MultiThreadedEventLoopGroup.singleton.any().makePromise(of: Void.self)
            let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            try NIOSSLClientHandler(context: context, serverHostname: "localhost"))
                        try channel.pipeline.syncOperations.addHandler(Handshake(established))
                    }
                }
            guard let channel = try? await bootstrap.connect(host: "127.0.0.1", port: port).get() else {
                established.fail(ChannelError.eof)
                return false
            }
            let result = (try? await established.futureResult.get()) != nil
            try? await channel.close()
            return result
        }

        @Test(
            "TLS 1.2 and 1.3 are accepted, 1.0 and 1.1 refused; a client that never completes its handshake is disconnected"
        )
        func versions() async throws {
            let certificate = try TLSCertificate.ensure(in: try TestDirectory.make("tls"), hosts: ["localhost"])
            let port = try LoopbackPort.free(1)[0]
            let settings = [
                "STRATA_HTTPS_PORT": "\(port)", "STRATA_TLS_CERTIFICATE": certificate.certificate,
                "STRATA_TLS_KEY": certificate.key,
                "STRATA_REQUEST_TIMEOUT": "5s",
            ]
            try await Cluster.with(Cluster.Size(settings: settings)) { _ in
                func connects(_ low: TLSVersion, _ high: TLSVersion) async throws -> Bool {
                    try await self.connects((low, high), port: port, trusting: certificate.certificate)
                }
                #expect(try await connects(.tlsv13, .tlsv13))
                #expect(try await connects(.tlsv12, .tlsv12))
                #expect(try await !connects(.tlsv1, .tlsv11))
                #expect(try await !connects(.tlsv1, .tlsv1))
                // The beginning of a handshake: the header of a record of 512 bytes, and its first byte.
                let connection = try await RawConnection.open(port: port)
                await connection.send([0x16, 0x03, 0x01, 0x02, 0x00, 0x01])
                try await eventually("a handshake that never ends is waited for") { connection.isClosed }
            }
        }

        @Test("services accept only TLS 1.3, from peers with a certificate of the authority")
        func services() async throws {
            let certificate = try TLSCertificate.ensure(
                in: try TestDirectory.make("rpc-tls"), hosts: ["localhost", "127.0.0.1"])
            let stranger = try TLSCertificate.ensure(
                in: try TestDirectory.make("other-tls"), hosts: ["localhost", "127.0.0.1"])
            let settings = [
                "STRATA_RPC_TLS_CERTIFICATE": certificate.certificate, "STRATA_RPC_TLS_KEY": certificate.key,
                "STRATA_RPC_TLS_CA": certificate.certificate,
            ]
            try await Cluster.with(Cluster.Size(settings: settings)) { cluster in
                // The gateway reaches the services, since it has become ready.
                _ = try await cluster.app().signIn("ana").converse(with: [])
                for kind in [ServiceProcess.Kind.conversations, .metadata, .presence] {
                    let port = try #require(
                        cluster.instances(of: kind)[0].environment["STRATA_RPC_PORT"].flatMap { Int($0) })
                    #expect(try await connects((.tlsv13, .tlsv13), port: port, trusting: certificate.certificate))
                    #expect(try await !connects((.tlsv12, .tlsv12), port: port, trusting: certificate.certificate))
                    #expect(try await !connects((.tlsv13, .tlsv13), port: port, trusting: stranger.certificate))
                }
            }
        }
    }
}

/// Fulfils a promise when the handshake succeeds and an answer arrives.
private final class Handshake: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let promise: EventLoopPromise<Void>
    private var isDone = false

    init(_ promise: EventLoopPromise<Void>) { self.promise = promise }

    /// Runs after TLS is negotiated.
    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(NIOAny(ByteBuffer(string: "HEAD /ping HTTP/1.1\r\nHost: x\r\n\r\n")), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { end(nil) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { end(ChannelError.eof) }

    private func end(_ error: (any Error)?) {
        guard !isDone else { return }
        isDone = true
        if let error { promise.fail(error) } else { promise.succeed() }
    }
}
