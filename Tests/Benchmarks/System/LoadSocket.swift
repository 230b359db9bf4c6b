// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A WebSocket that does not parse packets, so that the load adds little cost to the measurement. It counts them, or
/// hands them to ``onPacket``. It is confined to its event loop.
final class LoadSocket: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var pending = ByteBuffer()
    private var isUpgraded = false
    private let opened: EventLoopPromise<Void>
    private let replay: EventLoopPromise<Bool>
    private let live: EventLoopPromise<Void>
    /// Receives each packet in place of the counters.
    var onPacket: ((UnsafeRawBufferPointer) -> Void)?
    private let answered: EventLoopPromise<String>
    private var channel: (any Channel)?
    /// The channel of the socket. A caller can close it without a close frame.
    var connection: (any Channel)? { channel }
    /// The number of received `create` packets of messages.
    private(set) var messages = 0
    private(set) var packets = 0
    private(set) var answers = 0
    /// The number of refused requests, and the first refusal.
    private(set) var refused = 0
    private(set) var firstRefusal = ""
    /// The delays from send to delivery in seconds, for messages whose body contains the time of sending.
    private(set) var delays: [Double] = []
    var keepsDelays = false

    private init(on loop: any EventLoop) {
        opened = loop.makePromise()
        replay = loop.makePromise()
        live = loop.makePromise()
        answered = loop.makePromise()
    }

    /// The close code of the server.
    private(set) var closeCode: UInt16?

    private let hasEnded = Atomic<Bool>(false)
    /// True if the connection has ended. Callable from any thread.
    var isClosed: Bool { hasEnded.load(ordering: .relaxed) }

    /// Connects to a gateway of this machine, upgrades, and makes a request, so that the gateway begins to send.
    /// - Parameters:
    ///   - first: The first request. nil: one that has no effect.
    ///   - receiveBuffer: The size of the kernel's receive buffer in bytes. nil: chosen by the system.
    ///   - address: The local address. nil: chosen by the system.
    static func open(
        port: Int, token: String, saying first: String? = nil, receiveBuffer: Int? = nil, from address: String? = nil,
        on group: any EventLoopGroup
    ) async throws -> LoadSocket {
        try await open(
            .local(port), path: "/?session_token=\(token)", saying: first ?? counterRequest,
            receiveBuffer: receiveBuffer, from: address, on: group)
    }

    /// The subprotocol of Strata.
    static let layer = "layer-3.0"
    /// A request without effect.
    static let counterRequest = "{\"type\":\"request\",\"body\":{\"request_id\":\"r0\",\"method\":\"Counter.read\"}}"

    /// Connects and upgrades.
    /// - Parameters:
    ///   - path: The path of the handshake, with its query.
    ///   - protocolName: The subprotocol.
    ///   - first: The first request. nil: none.
    ///   - receiveBuffer: The size of the kernel's receive buffer in bytes. nil: chosen by the system.
    ///   - source: The local address. nil: chosen by the system.
    static func open(
        _ server: LoadAddress, path: String, protocolName: String = layer, saying first: String?,
        receiveBuffer: Int? = nil, from source: String? = nil, on group: any EventLoopGroup
    ) async throws -> LoadSocket {
        let loop = group.next()
        let socket = LoadSocket(on: loop)
        var bootstrap = ClientBootstrap(group: loop).channelOption(.tcpOption(.tcp_nodelay), value: 1)
        if let receiveBuffer { bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: receiveBuffer) }
        let channel: any Channel
        do {
            if let source { bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: source, port: 0)) }
            channel =
                try await bootstrap
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try server.addTLS(to: channel.pipeline.syncOperations)
                        try channel.pipeline.syncOperations.addHandler(socket)
                    }
                }
                .connect(host: server.host, port: server.port).get()
        } catch {
            socket.fail(error)
            throw error
        }
        let request = """
            GET \(path) HTTP/1.1\r\nHost: \(server.name)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: \(protocolName)\r\n\r\n
            """
        try await loop.submit { socket.channel = channel }.get()
        try await channel.writeAndFlush(ByteBuffer(string: request))
        try await socket.opened.futureResult.get()
        if let first { socket.send(first) }
        return socket
    }

    /// Sends a text frame. Callable from any thread.
    func send(_ text: String) { send(frame: Self.frame(opcode: .text, Array(text.utf8))) }

    /// Sends a frame, which several sockets may share. Callable from any thread.
    func send(frame: ByteBuffer) { channel?.writeAndFlush(frame, promise: nil) }

    /// True unless frames are queued because of back-pressure. Callable from any thread.
    var isWritable: Bool { channel?.isWritable ?? false }

    func close() { channel?.close(promise: nil) }

    /// Waits for the answer to the requested replay.
    /// - Returns: True if it succeeded; false after a failure, the timeout, or the end of the connection.
    func replayed(within limit: Duration) async throws -> Bool {
        guard let channel else { return false }
        let timeout = channel.eventLoop.scheduleTask(in: TimeAmount(limit)) { self.replay.succeed(false) }
        defer { timeout.cancel() }
        return try await replay.futureResult.get()
    }

    /// Sends a text frame and waits for a packet that contains a text.
    func exchange(_ request: String, until text: StaticString) async throws {
        guard let channel else { throw BenchProblem("not connected") }
        let answer = channel.eventLoop.makePromise(of: Void.self)
        try await channel.eventLoop
            .submit {
                self.onPacket = { packet in
                    guard packet.end(of: text) != nil else { return }
                    self.onPacket = nil
                    answer.succeed()
                }
                channel.closeFuture.whenComplete { _ in answer.fail(BenchProblem("the connection was closed")) }
            }
            .get()
        send(request)
        let timeout = channel.eventLoop.scheduleTask(in: .seconds(20)) {
            answer.fail(BenchProblem("no answer to \(request.prefix(60))"))
        }
        defer { timeout.cancel() }
        try await answer.futureResult.get()
    }

    /// Waits for the first answer to a request. The socket must have no ``onPacket``.
    /// - Returns: The server's time of the answer.
    func firstAnswer() async throws -> String { try await answered.futureResult.get() }

    /// Waits for the first packet: the socket receives what happens from then on.
    func awaitLive() async throws { try await live.futureResult.get() }

    private func fail(_ error: any Error) {
        opened.fail(error)
        live.fail(error)
        answered.fail(error)
        replay.succeed(false)
    }

    func channelInactive(context: ChannelHandlerContext) {
        hasEnded.store(true, ordering: .relaxed)
        fail(BenchProblem("the connection was closed"))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Stops reading, like a client that hangs.
    func pauseReading() async throws { try await channel?.setOption(.autoRead, value: false).get() }
    func resumeReading() async throws { try await channel?.setOption(.autoRead, value: true).get() }

    func read<T: Sendable>(_ body: @escaping @Sendable (LoadSocket) -> T) async throws -> T {
        guard let channel else { throw BenchProblem("not connected") }
        return try await channel.eventLoop.submit { body(self) }.get()
    }

    func reset() {
        messages = 0
        packets = 0
        delays = []
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if pending.readableBytes == 0 { pending = bytes } else { pending.writeBuffer(&bytes) }
        if !isUpgraded {
            let end = pending.withUnsafeReadableBytes { $0.end(of: "\r\n\r\n") }
            guard let end else { return }
            guard pending.getString(at: pending.readerIndex, length: 12) == "HTTP/1.1 101" else {
                opened.fail(BenchProblem("the upgrade was refused: \(String(buffer: pending).prefix(300))"))
                return context.close(promise: nil)
            }
            pending.moveReaderIndex(forwardBy: end)
            isUpgraded = true
            opened.succeed()
        }
        while frame(context) {}
        if pending.readableBytes == 0 { pending = ByteBuffer() } else { pending.discardReadBytes() }
    }

    private func frame(_ context: ChannelHandlerContext) -> Bool {
        let start = pending.readerIndex
        guard let first: UInt8 = pending.getInteger(at: start), let short: UInt8 = pending.getInteger(at: start + 1)
        else { return false }
        var (header, length) = (2, Int(short))
        if short == 126 {
            guard let long: UInt16 = pending.getInteger(at: start + 2) else { return false }
            (header, length) = (4, Int(long))
        } else if short == 127 {
            guard let long: UInt64 = pending.getInteger(at: start + 2) else { return false }
            (header, length) = (10, Int(long))
        }
        guard pending.readableBytes >= header + length else { return false }
        if first & 0x0f == 9 {
            context.writeAndFlush(wrapOutboundOut(Self.frame(opcode: .pong, [])), promise: nil)
        } else if first & 0x0f == 8 {
            closeCode = pending.getInteger(at: start + header)
        } else if first & 0x0f == 1 {
            packets += 1
            if packets == 1 { live.succeed() }
            pending.withUnsafeReadableBytes { bytes in
                let packet = UnsafeRawBufferPointer(rebasing: bytes[header..<header + length])
                if let onPacket { onPacket(packet) } else { count(packet) }
            }
        }
        pending.moveReaderIndex(forwardBy: header + length)
        return true
    }

    /// Counts a packet without parsing it. The low cost of the load makes measurements on the same machine possible.
    private func count(_ packet: UnsafeRawBufferPointer) {
        guard let created = packet.end(of: "\"operation\":\"create\"", within: 160),
            packet.end(of: "\"type\":\"Message\"", from: created, within: 160) != nil
        else {
            if packet.end(of: "\"type\":\"response\"", within: 120) != nil { countAnswer(packet) }
            let isRefused = packet.end(of: "\"success\":false", within: 400) != nil
            if packet.end(of: "Event.replay", within: 400) != nil { replay.succeed(!isRefused) }
            if isRefused {
                refused += 1
                if refused == 1 { firstRefusal = String(decoding: packet, as: UTF8.self) }
            }
            return
        }
        messages += 1
        guard keepsDelays, let end = packet.end(of: "\"body\":\"T") else { return }
        let sent = UInt64(packet.number(at: end) ?? 0)
        delays.append(Double(DispatchTime.now().uptimeNanoseconds &- sent) / 1e9)
    }

    private func countAnswer(_ packet: UnsafeRawBufferPointer) {
        answers += 1
        if let time = packet.end(of: "\"timestamp\":\"", within: 120), packet.count >= time + 24 {
            answered.succeed(String(decoding: packet[time..<time + 24], as: UTF8.self))
        }
    }

    enum Opcode: UInt8 { case continuation = 0, text = 1, pong = 10 }

    /// Returns a client frame.
    /// - Parameter isLast: False for a fragment that is followed by others.
    static func frame(opcode: Opcode, isLast: Bool = true, _ payload: [UInt8]) -> ByteBuffer {
        var frame = ByteBuffer()
        frame.writeInteger((isLast ? 0x80 : 0) | opcode.rawValue)
        if payload.count < 126 {
            frame.writeInteger(0x80 | UInt8(payload.count))
        } else if let short = UInt16(exactly: payload.count) {
            frame.writeInteger(UInt8(0x80 | 126))
            frame.writeInteger(short)
        } else {
            frame.writeInteger(UInt8(0x80 | 127))
            frame.writeInteger(UInt64(payload.count))
        }
        // A mask of zeros leaves the payload unchanged.
        frame.writeInteger(UInt32(0))
        frame.writeBytes(payload)
        return frame
    }
}
