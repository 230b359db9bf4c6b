// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import NetKit
import TestTiers
import Testing

@testable import RPC

/// Keep-alive of both handlers, on a loop with virtual time.
struct LivenessTests {
    private final class Peer {
        let channel: EmbeddedChannel
        private var reader = RPCFrameReader()

        init(_ make: (EmbeddedChannel) -> any ChannelHandler) throws {
            channel = EmbeddedChannel()
            try channel.pipeline.syncOperations.addHandler(make(channel))
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        }

        func receive(_ frame: RPCFrame) throws {
            var buffer = ByteBuffer()
            buffer.writeFrame(frame)
            try channel.writeInbound(buffer)
        }

        func sent() throws -> [RPCFrame] {
            while let bytes = try channel.readOutbound(as: ByteBuffer.self) { reader.append(bytes) }
            var frames: [RPCFrame] = []
            while let frame = try reader.next(limit: 1 << 20) { frames.append(frame) }
            return frames
        }

        func pass(_ seconds: Int64) {
            channel.embeddedEventLoop.advanceTime(by: .seconds(seconds))
        }
    }

    private func server() throws -> Peer {
        let core = RPCServerCore(
            configuration: RPCServerConfiguration(port: 0, clusterSecret: secret), logger: quiet, handler: echo)
        return try Peer { RPCServerHandler(core: core, connection: RPCServerConnection(channel: $0)) }
    }

    private func client(_ mailbox: Mailbox<RPCClientConnection.Item>) throws -> Peer {
        let configuration = RPCClientConfiguration(target: .fixed([]), clusterSecret: secret)
        return try Peer {
            RPCClientHandler(
                configuration: configuration, mailbox: mailbox, eventLoop: $0.eventLoop, logger: quiet, onDraining: {})
        }
    }

    private func opened(_ peer: Peer) throws {
        var handshake = RPCClientHandshake(secret: RPCSecret(secret), nonce: .random())
        guard case .send(let hello) = handshake.frameReceived(try #require(try peer.sent().first)) else {
            throw Unexpected()
        }
        try peer.receive(hello)
        #expect(handshake.frameReceived(try #require(try peer.sent().first)) == .established)
    }

    private func openedClient(_ peer: Peer) throws {
        let handshake = RPCServerHandshake(secret: RPCSecret(secret), nonce: .random())
        try peer.receive(handshake.challenge)
        guard case .welcome(let welcome) = handshake.frameReceived(try #require(try peer.sent().first)) else {
            throw Unexpected()
        }
        try peer.receive(welcome)
    }

    @Test("a server pings a silent client but none that pings, keeps one that answers, and closes one that does not")
    func serverAsks() throws {
        let peer = try server()
        try opened(peer)
        for _ in 0..<50 {
            peer.pass(2)
            try peer.receive(.ping)
            #expect(try peer.sent() == [.pong])
        }
        for _ in 0..<50 {
            peer.pass(6)
            #expect(try peer.sent().contains(.ping))
            try peer.receive(.pong)
        }
        #expect(peer.channel.isActive)
        peer.pass(20)
        #expect(!peer.channel.isActive)
    }

    @Test("a client pings a silent server, keeps one that answers, and closes another within a few seconds")
    func clientAsks() throws {
        let peer = try client(Mailbox())
        try openedClient(peer)
        for _ in 0..<50 {
            peer.pass(2)
            #expect(try peer.sent().contains(.ping))
            try peer.receive(.pong)
        }
        #expect(peer.channel.isActive)
        peer.pass(5)
        #expect(!peer.channel.isActive)
    }

    @Test("both sides answer pings", arguments: [true, false])
    func answers(_ isServer: Bool) throws {
        let peer = isServer ? try server() : try client(Mailbox())
        if isServer { try opened(peer) } else { try openedClient(peer) }
        try peer.receive(.ping)
        #expect(try peer.sent() == [.pong])
    }

    @Test("a handshake has five seconds for a client, and three for a silent server", arguments: [true, false])
    func opening(_ isServer: Bool) throws {
        let peer = isServer ? try server() : try client(Mailbox())
        peer.pass(isServer ? 4 : 2)
        #expect(peer.channel.isActive)
        peer.pass(2)
        #expect(!peer.channel.isActive)
    }

    @Test("calls submitted in one tick are sent in one write, and all end with the connection")
    func oneWrite() async throws {
        let mailbox = Mailbox<RPCClientConnection.Item>()
        let results = try await withThrowingTaskGroup(of: RPCAttempt.self) { group in
            for id in 1...3 as ClosedRange<UInt64> {
                group.addTask {
                    await withRPCWaiter { waiter in
                        let call = RPCOutgoingCall(
                            method: echoMethod, payload: ByteBuffer(), deadline: .now + .seconds(600), trace: .random())
                        _ = mailbox.put(.call(id: id, call, waiter))
                    }
                }
            }
            try await eventually("all are there") { mailbox.waiting == 3 }
            try writeAll(mailbox)
            var results: [RPCAttempt] = []
            for try await result in group { results.append(result) }
            return results
        }
        #expect(results.count == 3)
        for result in results {
            guard case .failed(.transportLost) = result else { throw Unexpected() }
        }
    }

    private func writeAll(_ mailbox: Mailbox<RPCClientConnection.Item>) throws {
        let peer = try client(mailbox)
        try openedClient(peer)
        try peer.channel.pipeline.syncOperations.handler(type: RPCClientHandler.self).mailFilled()
        let bytes = try #require(try peer.channel.readOutbound(as: ByteBuffer.self))
        #expect(try peer.channel.readOutbound(as: ByteBuffer.self) == nil)
        #expect(bytes.readableBytes == 3 * (4 + RPCFrame.requestOverhead))
        _ = try peer.channel.finish()
    }
}
