// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOWebSocket

/// Hands frames of the server to the socket: puts fragments together, answers pings, and closes as RFC 6455 asks.
final class SocketHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let socket: ProtocolSocket
    private var fragments: (isText: Bool, data: ByteBuffer)?
    private var closure: SocketClosure?
    private var isSendingPong = false
    /// The last ping that came while an earlier answer was being sent.
    private var unansweredPing: ByteBuffer?

    init(socket: ProtocolSocket) { self.socket = socket }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text: beginMessage(frame, isText: true)
        case .binary: beginMessage(frame, isText: false)
        case .continuation: continueMessage(frame, context: context)
        case .ping:
            socket.pingReceived()
            if socket.answersPings { sendPong(frame.unmaskedData, context: context) }
        case .pong: break
        case .connectionClose: closeReceived(frame.unmaskedData, context: context)
        default: break
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        connectionEnded()
        context.fireChannelInactive()
    }

    /// A connection may end while NIO puts this handler in the place of those for HTTP: then nothing but its removal tells.
    func handlerRemoved(context: ChannelHandlerContext) { connectionEnded() }

    private func connectionEnded() { socket.connectionEnded(closure ?? SocketClosure(code: nil, reason: nil)) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func beginMessage(_ frame: WebSocketFrame, isText: Bool) {
        if frame.fin { deliverMessage(frame.unmaskedData, isText: isText) } else { fragments = (isText, frame.unmaskedData) }
    }

    private func continueMessage(_ frame: WebSocketFrame, context: ChannelHandlerContext) {
        guard var whole = fragments.take() else { return }
        guard frame.data.readableBytes <= socket.messageLimit - whole.data.readableBytes else { return context.close(promise: nil) }
        whole.data.writeImmutableBuffer(frame.unmaskedData)
        fragments = frame.fin ? nil : whole
        if frame.fin { deliverMessage(whole.data, isText: whole.isText) }
    }

    private func deliverMessage(_ data: ByteBuffer, isText: Bool) {
        if isText { socket.textReceived(String(buffer: data)) } else { socket.binaryReceived() }
    }

    private func closeReceived(_ data: ByteBuffer, context: ChannelHandlerContext) {
        var data = data
        let code = data.readInteger(as: UInt16.self)
        closure = SocketClosure(code: code, reason: code == nil ? nil : String(buffer: data))
        var echo = ByteBuffer()
        if let code { echo.writeInteger(code) }
        sendFrame(.connectionClose, data: echo, context: context)
        context.close(promise: nil)
    }

    /// Answers a ping. Only the last one needs an answer (RFC 6455, 5.5.3), so a server that sends pings and reads nothing does not fill the memory.
    private func sendPong(_ data: ByteBuffer, context: ChannelHandlerContext) {
        guard !isSendingPong else { return unansweredPing = data }
        isSendingPong = true
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated()
            .whenSuccess { [self] _ in
                isSendingPong = false
                if let ping = unansweredPing.take() { sendPong(ping, context: context) }
            }
        context.writeAndFlush(wrapOutboundOut(WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: data)), promise: written)
    }

    private func sendFrame(_ opcode: WebSocketOpcode, data: ByteBuffer, context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data)), promise: nil)
    }
}
