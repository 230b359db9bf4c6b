// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOWebSocket

/// A channel handler that passes the server's frames to the socket. It reassembles fragments, answers pings, and closes
/// according to RFC 6455.
final class SocketHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let socket: ProtocolSocket
    private var fragments: (isText: Bool, data: ByteBuffer)?
    private var closure: SocketClosure?
    private var isSendingPong = false
    /// The latest ping received while an earlier pong was being written.
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

    /// Reports the end of a connection that ends while NIO replaces the HTTP handlers. Then only the removal is called.
    func handlerRemoved(context: ChannelHandlerContext) { connectionEnded() }

    private func connectionEnded() { socket.connectionEnded(closure ?? SocketClosure(code: nil, reason: nil)) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func beginMessage(_ frame: WebSocketFrame, isText: Bool) {
        if frame.fin {
            deliverMessage(frame.unmaskedData, isText: isText)
        } else {
            fragments = (isText, frame.unmaskedData)
        }
    }

    private func continueMessage(_ frame: WebSocketFrame, context: ChannelHandlerContext) {
        guard var whole = fragments.take() else { return }
        guard frame.data.readableBytes <= socket.messageLimit - whole.data.readableBytes else {
            return context.close(promise: nil)
        }
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

    /// Answers a ping. Only the latest one needs an answer (RFC 6455, 5.5.3). A server that sends pings without reading
    /// therefore cannot fill the memory.
    private func sendPong(_ data: ByteBuffer, context: ChannelHandlerContext) {
        guard !isSendingPong else { return unansweredPing = data }
        isSendingPong = true
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated()
            .whenSuccess { [self] _ in
                isSendingPong = false
                if let ping = unansweredPing.take() { sendPong(ping, context: context) }
            }
        context.writeAndFlush(
            wrapOutboundOut(WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: data)), promise: written)
    }

    private func sendFrame(_ opcode: WebSocketOpcode, data: ByteBuffer, context: ChannelHandlerContext) {
        context.writeAndFlush(
            wrapOutboundOut(WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data)), promise: nil)
    }
}
