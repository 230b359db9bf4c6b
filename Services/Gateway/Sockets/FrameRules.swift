// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOWebSocket

/// Checks the rules of RFC 6455 for client frames that NIO's decoder does not check. All frames after the first
/// violation are dropped.
final class FrameRules: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame

    /// A violation. The socket closes with 1002.
    enum Broken: Error {
        /// The frame is not masked (RFC 6455 §5.1).
        case unmasked
        /// A reserved bit is set, although no extension was negotiated (§5.2).
        case reservedBits
        /// The opcode is reserved (§5.2).
        case reservedOpcode
        /// A continuation frame without a message, or a new message within another (§5.4).
        case order
    }

    private var isWithinMessage = false
    private var isBroken = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isBroken else { return }
        do throws(Broken) {
            try check(unwrapInboundIn(data))
            context.fireChannelRead(data)
        } catch {
            isBroken = true
            context.fireErrorCaught(error)
        }
    }

    private func check(_ frame: WebSocketFrame) throws(Broken) {
        guard frame.maskKey != nil else { throw .unmasked }
        guard !frame.rsv1, !frame.rsv2, !frame.rsv3 else { throw .reservedBits }
        switch frame.opcode {
        case .continuation:
            guard isWithinMessage else { throw .order }
            isWithinMessage = !frame.fin
        case .text, .binary:
            guard !isWithinMessage else { throw .order }
            isWithinMessage = !frame.fin
        case .connectionClose, .ping, .pong: break
        default: throw .reservedOpcode
        }
    }
}
