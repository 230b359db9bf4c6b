// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOEmbedded
import NIOWebSocket
import TestTiers
import Testing

@testable import ProtocolClient

@Suite("a socket whose server violates the protocol")
struct HostileSocketTests {
    private func connected(
        _ options: ProtocolSocket.Options = .init()
    ) throws -> (channel: EmbeddedChannel, socket: ProtocolSocket) {
        let channel = EmbeddedChannel()
        let socket = ProtocolSocket(channel: channel, options: options)
        try channel.pipeline.syncOperations.addHandler(SocketHandler(socket: socket))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return (channel, socket)
    }

    private func frame(_ opcode: WebSocketOpcode, _ text: String, isFinal: Bool = true) -> WebSocketFrame {
        WebSocketFrame(fin: isFinal, opcode: opcode, data: ByteBuffer(string: text))
    }

    @Test("the first 1,000 violations are kept", .proves("SYNC-74"))
    func violations() {
        var inbox = SocketInbox(historyLimit: 10)
        for _ in 0..<1_500 {
            _ = inbox.packetReceived("no JSON", at: .now)
            inbox.binaryReceived()
        }
        #expect(inbox.violations.count == 1_000)
        #expect(inbox.violations.first == "packet 0 is not JSON")
    }

    @Test("a socket with a read-ahead limit does not check the order of packets")
    func readAhead() {
        var inbox = SocketInbox(historyLimit: nil)
        _ = inbox.packetReceived(#"{"counter": 7}"#, at: .now)
        #expect(inbox.violations == [])
        #expect(inbox.untakenCount == 1)
    }

    @Test("a message in too many fragments ends the connection", .proves("SYNC-74"))
    func fragments() throws {
        var options = ProtocolSocket.Options()
        options.frameLimit = 100
        let (channel, socket) = try connected(options)
        try channel.writeInbound(frame(.text, #"{"type":"#, isFinal: false))
        try channel.writeInbound(frame(.continuation, #""x"}"#))
        #expect(socket.history.map(\.type) == ["x"])
        try channel.writeInbound(frame(.text, String(repeating: " ", count: 60), isFinal: false))
        try channel.writeInbound(frame(.continuation, String(repeating: " ", count: 40), isFinal: false))
        #expect(channel.isActive)
        try channel.writeInbound(frame(.continuation, " ", isFinal: false))
        #expect(!channel.isActive)
        #expect(socket.closure != nil)
    }

    @Test("the last of many pings is answered, as soon as the previous pong is written", .proves("SYNC-74"))
    func pings() throws {
        let (channel, socket) = try connected()
        let gate = WriteGate()
        try channel.pipeline.syncOperations.addHandler(gate, position: .first)
        for number in 1...1_000 { try channel.writeInbound(frame(.ping, "\(number)")) }
        #expect(socket.pingCount == 1_000)
        #expect(gate.waiting.count == 1)
        gate.open()
        let answers = gate.written.map { String(buffer: $0.data) }
        #expect(answers == ["1", "1000"])
    }
}

/// Suspends writes, as a connection does whose peer does not read.
private final class WriteGate: ChannelOutboundHandler {
    typealias OutboundIn = WebSocketFrame

    private(set) var written: [WebSocketFrame] = []
    private(set) var waiting: [EventLoopPromise<Void>?] = []

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        written.append(unwrapOutboundIn(data))
        waiting.append(promise)
    }

    func open() { while !waiting.isEmpty { waiting.removeFirst()?.succeed() } }
}
