// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOWebSocket

/// What RFC 6455 demands of a client's frames, and the decoder does not look at. The first that breaks a rule is the last one that is heard of.
final class FrameRules: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame

    /// A rule was broken; the socket closes with 1002.
    enum Broken: Error {
        /// RFC 6455 §5.1: a client masks every frame.
        case unmasked
        /// §5.2: no extension was agreed on that would give these bits a meaning.
        case reservedBits
        /// §5.2.
        case reservedOpcode
        /// §5.4: a continuation of nothing, or a new message within one.
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
