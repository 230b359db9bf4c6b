// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOEmbedded
import NIOWebSocket
import StrataModel
import StrataWire

@testable import Gateway

/// Frames of a client that pass the input handlers of a socket.
enum CountedFrames {
    /// Counts the allocations of one frame, from its bytes to a valid message.
    static func parsing() throws -> Double {
        let end = FrameParser()
        let channel = EmbeddedChannel()
        let limits = ConnectionLimits()
        let message = IncompleteMessage(InputBudget.Share(InputBudget(limit: 1 << 20)), time: limits.arrival)
        let sync = channel.pipeline.syncOperations
        try sync.addHandler(
            ByteToMessageHandler(CountedFrameDecoder(maxFrameSize: limits.frameBytes, message: message)))
        try sync.addHandler(FrameRules())
        try sync.addHandler(MessageAssembler(maxBytes: limits.frameBytes, message: message))
        try sync.addHandler(end)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        let frame = frame()
        let mean = try AllocationCount.mean { _ in try channel.writeInbound(frame) }
        guard end.messages == 2 * AllocationCount.runs else {
            throw CountedOperation.NoEffect(operation: .parseFrame)
        }
        _ = try channel.finish()
        return mean
    }

    /// Returns a masked text frame with a request that creates a message.
    private static func frame() -> ByteBuffer {
        let message = MessageID.random()
        let text = String(repeating: "All work and no play. ", count: 16)
        let request = """
            {"type":"request","body":{"method":"Message.create","request_id":"r4",\
            "object_id":"\(Fixture.conversation.layerID)",\
            "data":{"id":"\(message.layerID)","parts":[{"mime_type":"text/plain","body":"\(text)"}],\
            "notification":{"title":"Ana Silva","text":"Train leaves at 8","sound":"x.aiff"}}}}
            """
        let mask: [UInt8] = [0x5a, 0x17, 0xc3, 0x88]
        var frame = ByteBuffer(bytes: [0x81, 0xfe])
        frame.writeInteger(UInt16(request.utf8.count))
        frame.writeBytes(mask)
        frame.writeBytes(request.utf8.enumerated().map { $1 ^ mask[$0 % 4] })
        return frame
    }
}

/// The end of a pipeline, which parses a frame as a socket does, and its data as the request does.
private final class FrameParser: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame

    private(set) var messages = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data).unmaskedData
        do throws(Failure) {
            guard case .request(let packet) = try ClientPacket(parsing: frame) else { return }
            let request = SocketRequest(number: 1, packet: packet, frame: frame)
            let body = try SendMessageBody(try request.data(), version: .v3)
            messages += body.parts.count
        } catch {
            context.fireErrorCaught(error)
        }
    }
}
