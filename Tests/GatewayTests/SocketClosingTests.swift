// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOEmbedded
import NIOWebSocket
import StrataModel
import Testing

@testable import FanOut
@testable import Gateway

@Suite("the end of a socket", .timeLimit(.minutes(3)))
struct SocketClosingTests {
    private func socket(_ harness: GatewayHarness) async throws -> TestSocket {
        let socket = try await harness.socket(of: Fixture.ana, at: 0)
        try await harness.onLoop { _ in
            let decoder = ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: 1 << 20))
            try socket.channel.pipeline.syncOperations.addHandler(decoder, position: .first)
        }
        return socket
    }

    /// Returns the code of the close frame that was sent. Expects a reason, too.
    private func code(_ channel: NIOAsyncTestingChannel) async throws -> Int? {
        guard let (code, words) = try await goodbye(channel) else { return nil }
        #expect(!words.isEmpty)
        return code
    }

    private func goodbye(_ channel: NIOAsyncTestingChannel) async throws -> (code: Int, words: String)? {
        await channel.testingEventLoop.run()
        var sent = ByteBuffer()
        while var bytes = try await channel.readOutbound(as: ByteBuffer.self) { sent.writeBuffer(&bytes) }
        guard sent.readInteger(as: UInt8.self) == 0x88, let length = sent.readInteger(as: UInt8.self), length <= 125
        else { return nil }
        guard sent.readableBytes == length, let code = sent.readInteger(as: UInt16.self) else { return nil }
        return (Int(code), String(buffer: sent))
    }

    @Test("every close reason fits into a close frame")
    func words() {
        let long = Failure(.invalidProperty, String(repeating: "é", count: 200))
        let reasons: [Socket.CloseReason] = [
            .goingAway, .binary, .tooLarge, .protocolAbuse, .sessionEnded, .idle, .tooSlow, .protocolError,
            .unreadable(.missing("request_id")),
            .unreadable(long),
        ]
        for reason in reasons {
            let payload = reason.payload
            #expect((12...125).contains(payload.readableBytes), "\(reason)")
            let words = payload.getString(at: payload.readerIndex + 2, length: payload.readableBytes - 2) ?? ""
            #expect(words.utf8.count == payload.readableBytes - 2 && reason.reason.hasPrefix(words))
        }
    }

    @Test("an unreadable packet is answered by a close frame that names the defect and not the content")
    func unreadable() async throws {
        let harness = try await GatewayHarness()
        let channel = try await socket(harness).channel
        try await channel.writeInbound(
            Self.text(#"{"type":"request","body":{"method":"Counter.read","secret":"tell nobody"}}"#))
        let (code, words) = try #require(try await goodbye(channel))
        #expect(code == 1003)
        #expect(words.contains("request_id") && !words.contains("tell nobody"))
    }

    @Test("an unknown kind of signal does not end the socket")
    func unknownSignal() async throws {
        let harness = try await GatewayHarness()
        let test = try await socket(harness)
        try await test.channel.writeInbound(
            Self.text(#"{"type":"signal","body":{"type":"wave","object":{"id":"layer:///conversations/x"}}}"#))
        #expect(try await goodbye(test.channel) == nil)
        #expect(test.channel.isActive)
    }

    private static func text(_ text: String) -> ByteBuffer {
        var frame = ByteBuffer(bytes: [0x81])
        if text.utf8.count < 126 {
            frame.writeInteger(UInt8(text.utf8.count) | 0x80)
        } else {
            frame.writeBytes([0xfe])
            frame.writeInteger(UInt16(text.utf8.count))
        }
        frame.writeBytes([0, 0, 0, 0])
        frame.writeString(text)
        return frame
    }

    @Test("bytes after an oversized frame do not end the connection before the peer has read the reason")
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
        // The peer gets its grace period of 2 s, and then the channel is closed.
        await harness.loop.advanceTime(by: .seconds(2))
        #expect(!channel.isActive)
    }

    @Test(
        "an answered close frame ends the connection at once, an unanswered one after two seconds",
        arguments: [true, false])
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
            // Frames that arrive meanwhile are ignored.
            try await channel.writeInbound(ByteBuffer(bytes: [0x89, 0x80, 0, 0, 0, 0]))
            await harness.loop.run()
            #expect(channel.isActive)
            await harness.loop.advanceTime(by: .seconds(2))
        }
        await harness.loop.run()
        #expect(!channel.isActive)
    }
}
