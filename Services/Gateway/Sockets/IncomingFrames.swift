// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOWebSocket

/// The received part of a socket's next message: an incomplete frame and earlier fragments. Confined to the socket's
/// event loop.
///
/// The bytes count as input of the socket. More than ``untimedBytes`` must become a message within a time limit
/// (``ArrivalTime``).
final class IncompleteMessage {
    enum Problem: Error {
        /// The input budget is exhausted. The socket closes with 1013.
        case noRoom
        /// The message took too long to arrive. The socket closes with 4408.
        case tooSlow
    }

    /// The maximum number of bytes of an incomplete message without a time limit.
    static let untimedBytes = 1 << 10

    private let share: InputBudget.Share
    private let time: ArrivalTime
    private var frameBytes = 0
    private var fragmentBytes = 0
    private var bytes: Int { frameBytes + fragmentBytes }
    private var since: NIODeadline?
    private var isTimed = false

    init(_ share: InputBudget.Share, time: ArrivalTime) {
        self.share = share
        self.time = time
    }

    /// Sets the memory held by the decoder.
    func setFrame(_ count: Int, context: ChannelHandlerContext) throws(Problem) {
        guard count != frameBytes else { return }
        try adjust(by: count - frameBytes)
        frameBytes = count
        watch(context)
    }

    /// Sets the memory held by fragments.
    func setFragments(_ count: Int, context: ChannelHandlerContext) throws(Problem) {
        guard count != fragmentBytes else { return }
        try adjust(by: count - fragmentBytes)
        fragmentBytes = count
        watch(context)
    }

    /// Releases all bytes. Called when the channel has closed.
    func discard() {
        share.release(bytes)
        (frameBytes, fragmentBytes, since) = (0, 0, nil)
    }

    private func adjust(by growth: Int) throws(Problem) {
        if growth < 0 { share.release(-growth) } else if !share.reserve(growth) { throw .noRoom }
    }

    /// Starts the time limit of a message when it becomes large, and ends it when the memory is released.
    private func watch(_ context: ChannelHandlerContext) {
        if bytes <= Self.untimedBytes {
            since = nil
        } else if since == nil {
            since = context.eventLoop.now
            if !isTimed { schedule(in: time.step, context: context) }
        }
    }

    /// Schedules the next check. A timer stays active after its message is complete, and then times the next message.
    /// Most messages arrive whole and need no timer.
    private func schedule(in delay: TimeAmount, context: ChannelHandlerContext) {
        isTimed = true
        context.eventLoop.assumeIsolated()
            .scheduleTask(in: delay) { [weak self] in
                guard let self else { return }
                isTimed = false
                guard let since, context.channel.isActive else { return }
                let elapsed = context.eventLoop.now - since
                if let next = time.nextCheck(after: elapsed, bytes: bytes, isTight: share.budget.isTight) {
                    schedule(in: next, context: context)
                } else {
                    GatewayMetrics.cut("slow_request")
                    context.fireErrorCaught(Problem.tooSlow)
                }
            }
    }
}

/// A frame decoder that counts the memory of an incomplete frame, around NIO's decoder.
struct CountedFrameDecoder: ByteToMessageDecoder {
    typealias InboundOut = WebSocketFrame

    private let decoder: WebSocketFrameDecoder
    private let message: IncompleteMessage

    init(maxFrameSize: Int, message: IncompleteMessage) {
        decoder = WebSocketFrameDecoder(maxFrameSize: maxFrameSize)
        self.message = message
    }

    func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
        let state = try decoder.decode(context: context, buffer: &buffer)
        guard state == .needMoreData, buffer.readableBytes > 0 else {
            try message.setFrame(0, context: context)
            return state
        }
        // The rest of a large read would retain the memory of the whole read.
        if buffer.storageCapacity > 2 * max(buffer.readableBytes, IncompleteMessage.untimedBytes) {
            var rest = context.channel.allocator.buffer(capacity: buffer.readableBytes)
            rest.writeImmutableBuffer(buffer)
            buffer = rest
        }
        do {
            try message.setFrame(buffer.storageCapacity, context: context)
        } catch {
            buffer = ByteBuffer()
            throw error
        }
        return state
    }
}

/// Joins the fragments of a message (RFC 6455 §5.4). They have already passed ``FrameRules``.
///
/// Fragments are copied into a buffer of their own. Slices would retain the memory of everything read with them.
final class MessageAssembler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame

    /// A message exceeds the limit in size or fragments. The socket closes with 1009.
    struct TooLarge: Error {}

    /// The maximum number of fragments of a message.
    static let maxFragments = 64

    private let maxBytes: Int
    private let message: IncompleteMessage
    private var opcode = WebSocketOpcode.continuation
    private var payload = ByteBuffer()
    private var count = 0
    private var isBroken = false

    init(maxBytes: Int, message: IncompleteMessage) {
        self.maxBytes = maxBytes
        self.message = message
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        clear()
        message.discard()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .continuation: break
        case .text, .binary:
            if frame.fin, !isBroken { return context.fireChannelRead(data) }
            opcode = frame.opcode
        default: return context.fireChannelRead(data)
        }
        guard !isBroken else { return }
        do {
            try append(frame, context: context)
            guard frame.fin else { return }
            let whole = WebSocketFrame(fin: true, opcode: opcode, data: payload)
            clear()
            context.fireChannelRead(wrapInboundOut(whole))
            try message.setFragments(0, context: context)
        } catch {
            isBroken = true
            clear()
            try? message.setFragments(0, context: context)
            context.fireErrorCaught(error)
        }
    }

    private func append(_ frame: WebSocketFrame, context: ChannelHandlerContext) throws {
        count += 1
        guard count <= Self.maxFragments, payload.readableBytes + frame.data.readableBytes <= maxBytes else {
            throw TooLarge()
        }
        payload.writeImmutableBuffer(frame.unmaskedData)
        try message.setFragments(payload.storageCapacity, context: context)
    }

    private func clear() {
        payload = ByteBuffer()
        count = 0
    }
}

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
