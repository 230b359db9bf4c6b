// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import MetricsTestKit
import NIOCore
import NIOPosix
import TestTiers
import Testing

@testable import RPC

@Suite(.timeLimit(.minutes(3)))
struct StrangerTests {
    @Test("a client with another secret completes no call and receives the reason")
    func wrongSecret() async throws {
        let calls = Count()
        try await withPair(
            client: { $0.clusterSecret = "not the cluster secret, although it is long" },
            handler: { _, payload in
                calls.add()
                return payload
            }
        ) { (client: RPCClient) async throws in
            #expect(await client.failure() == .unauthenticated)
            #expect(await client.failure(isIdempotent: true) == .unauthenticated)
            #expect(!client.isAvailable)
            #expect(calls.total == 0)
        }
    }

    @Test("both sides count connections that a server refuses")
    func refusalsAreCounted() async throws {
        let metrics = TestMetrics()
        try await withMetricsFactory(metrics) {
            try await withPair(client: { $0.clusterSecret = "not the cluster secret, although it is long" }) {
                (client: RPCClient) async throws in
                #expect(await client.failure() == .unauthenticated)
                for name in [
                    "strata_rpc_client_refused_connections_total", "strata_rpc_server_refused_connections_total",
                ] {
                    let counter = try #require(metrics.counters(label: name).first)
                    try await eventually("\(name) counts") { counter.totalValue >= 1 }
                }
            }
        }
    }

    @Test("a server of another service with the same secret gets no call, but its successor of the right service does")
    func anotherService() async throws {
        let calls = Count()
        let (other, port) = try await startServer({ $0.service = "metadata" }) { _, payload in
            calls.add()
            return payload
        }
        let client = startClient([port]) { $0.service = "conversations" }
        #expect(await client.subject.failure() == .unavailable)
        #expect(await client.subject.failure(isIdempotent: true) == .unavailable)
        #expect(!client.subject.isAvailable)
        #expect(calls.total == 0)
        await other.kill()
        let (wanted, _) = try await startServer(port: port) { $0.service = "conversations" }
        try await eventually("the one that is wanted is connected") { client.subject.isAvailable }
        #expect(await client.subject.failure() == nil)
        await client.kill()
        await wanted.kill()
    }

    @Test("a peer with a wrong proof receives an error and is closed")
    func wrongProof() async throws {
        let (server, port) = try await startServer()
        try await RawPeer.connect(port: port) { (peer: inout RawPeer.Session) async throws in
            #expect(
                try await peer.open(secret: "wrong") == .error(id: 0, code: .unauthenticated, payload: ByteBuffer()))
            #expect(try await peer.next() == nil)
        }
        await server.kill()
    }

    @Test("a silent peer is closed before the handshake")
    func silent() async throws {
        let (server, port) = try await startServer({ $0.helloTimeout = .milliseconds(50) })
        try await RawPeer.connect(port: port) { (peer: inout RawPeer.Session) async throws in
            guard case .challenge = try await peer.next() else { throw Unexpected() }
            #expect(try await peer.next() == nil)
        }
        await server.kill()
    }

    @Test(
        "a peer that sends garbage or an oversized hello is closed, without affecting others",
        arguments: [
            Array("GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8), [0, 0, 1, 0, 2], Array(repeating: 0xFF, count: 5000),
            Array(repeating: 0, count: 64),
        ] as [[UInt8]])
    func garbage(_ bytes: [UInt8]) async throws {
        let (server, port) = try await startServer()
        let client = startClient([port])
        #expect(await client.subject.failure() == nil)
        try await RawPeer.connect(port: port) { (peer: inout RawPeer.Session) async throws in
            guard case .challenge = try await peer.next() else { throw Unexpected() }
            try await peer.send(bytes: bytes)
            #expect(try await peer.next() == nil)
        }
        #expect(await client.subject.failure() == nil)
        await client.kill()
        await server.kill()
    }

    @Test(
        "a peer that violates the protocol after the handshake is closed, and its handlers are cancelled",
        arguments: [
            .challenge(version: 1, nonce: .random()), .answer(id: 1, payload: ByteBuffer()),
            .request(id: 7, held, payload: ByteBuffer()),
        ]
            as [RPCFrame])
    func breaks(_ frame: RPCFrame) async throws {
        let events = Events<String>()
        let (server, port) = try await startServer(handler: { _, payload in
            events.post("started")
            do { try await Task.sleep(for: .seconds(600)) } catch { events.post("cancelled") }
            return payload
        })
        try await RawPeer.connect(port: port) { (peer: inout RawPeer.Session) async throws in
            guard case .welcome = try await peer.open() else { throw Unexpected() }
            try await peer.send(.request(id: 7, StrangerTests.held, payload: ByteBuffer()))
            #expect(await events.next() == "started")
            try await peer.send(frame)
            #expect(try await peer.next() == nil)
            #expect(await events.next() == "cancelled")
        }
        await server.kill()
    }

    static let held = RPCRequestHead(method: echoMethod, remainingMicroseconds: 60_000_000, trace: .random())

    @Test("a client survives a server that sends garbage, before and after the handshake", arguments: [true, false])
    func badServer(_ opens: Bool) async throws {
        let listener = try await ServerBootstrap(group: loops)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(BadServer(opens: opens))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let client = startClient([listener.localAddress?.port ?? 0])
        #expect(await client.subject.failure() == (opens ? .transportLost : .unavailable))
        await client.kill()
        try await listener.close()
    }

    @Test("the number of connections is limited")
    func connectionLimit() async throws {
        let (server, port) = try await startServer({ $0.maxConnections = 1 })
        let client = startClient([port])
        #expect(await client.subject.failure() == nil)
        try await RawPeer.connect(port: port) { (peer: inout RawPeer.Session) async throws in
            #expect(try await peer.next() == nil)
        }
        #expect(await client.subject.failure() == nil)
        await client.kill()
        await server.kill()
    }
}

/// A server that follows the protocol up to some point and then violates it.
private final class BadServer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let opens: Bool
    private let handshake = RPCServerHandshake(secret: RPCSecret(secret), nonce: .random())
    private var reader = RPCFrameReader()

    init(opens: Bool) {
        self.opens = opens
    }

    func channelActive(context: ChannelHandlerContext) {
        var buffer = ByteBuffer()
        if opens { buffer.writeFrame(handshake.challenge) } else { buffer.writeString("220 mail.example ESMTP\r\n") }
        context.writeAndFlush(NIOAny(buffer), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reader.append(unwrapInboundIn(data))
        while let frame = try? reader.next(limit: 1 << 20) {
            var buffer = ByteBuffer()
            if case .welcome(let welcome) = handshake.frameReceived(frame) {
                buffer.writeFrame(welcome)
            } else {
                buffer.writeBytes([0, 0, 0, 9, 99, 0, 0, 0, 0, 0, 0, 0, 1])
            }
            context.writeAndFlush(NIOAny(buffer), promise: nil)
        }
    }
}
