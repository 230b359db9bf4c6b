// SPDX-License-Identifier: Apache-2.0
import Model
import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing

@testable import Gateway

@Suite("the end of a socket", .timeLimit(.minutes(1)))
struct SocketClosingTests {
    /// A socket that reads bytes.
    private func socket(_ harness: GatewayHarness) async throws -> TestSocket {
        let socket = try await harness.socket(of: Fixture.ana, at: 0)
        try await harness.onLoop { _ in
            let decoder = ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: 1 << 20))
            try socket.channel.pipeline.syncOperations.addHandler(decoder, position: .first)
        }
        return socket
    }

    /// The code of the close frame that has been sent.
    private func code(_ channel: NIOAsyncTestingChannel) async throws -> Int? {
        await channel.testingEventLoop.run()
        var sent = ByteBuffer()
        while var bytes = try await channel.readOutbound(as: ByteBuffer.self) { sent.writeBuffer(&bytes) }
        guard sent.readInteger(as: UInt8.self) == 0x88, sent.readInteger(as: UInt8.self) == 2 else { return nil }
        return sent.readInteger(as: UInt16.self).map { Int($0) }
    }

    @Test("what comes behind a frame that is too large does not end the connection before the peer has seen why")
    func tooLarge() async throws {
        let harness = try await GatewayHarness()
        let channel = try await socket(harness).channel
        var head = ByteBuffer(bytes: [0x81, 0xff])
        head.writeInteger(UInt64(2 << 20))
        head.writeBytes([0, 0, 0, 0])
        try await channel.writeInbound(head)
        #expect(try await code(channel) == 1009)
        for _ in 0..<4 { try await channel.writeInbound(ByteBuffer(repeating: 0x78, count: 65_536)) }
        await harness.loop.run()
        #expect(channel.isActive)
        // The peer has its time, and no more.
        await harness.loop.advanceTime(by: .seconds(2))
        #expect(!channel.isActive)
    }

    @Test("a goodbye that is answered ends the connection at once; one that is not, after two seconds", arguments: [true, false])
    func goodbye(isAnswered: Bool) async throws {
        let harness = try await GatewayHarness()
        let test = try await socket(harness)
        let channel = test.channel
        try await harness.onLoop { _ in test.socket.close(.sessionEnded) }
        #expect(try await code(channel) == 4401)
        #expect(channel.isActive)
        if isAnswered {
            try await channel.writeInbound(ByteBuffer(bytes: [0x88, 0x82, 0, 0, 0, 0, 0x11, 0x31]))
        } else {
            // What a client sends meanwhile is nobody's business any more.
            try await channel.writeInbound(ByteBuffer(bytes: [0x89, 0x80, 0, 0, 0, 0]))
            await harness.loop.run()
            #expect(channel.isActive)
            await harness.loop.advanceTime(by: .seconds(2))
        }
        await harness.loop.run()
        #expect(!channel.isActive)
    }
}
