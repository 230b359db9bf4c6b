// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import NIOSSL
import NIOWebSocket
import Synchronization

/// An open WebSocket. It sends requests and signals, and keeps the server's packets until the caller takes them.
///
/// There are two independent ways to receive packets:
/// - ``nextPacket(_:deadline:where:)`` takes the oldest matching packet, whether it has already arrived or arrives
///   later. No packet is missed between two calls.
/// - ``packets()`` is a stream of all packets, in order.
///
/// ``request(_:objectID:data:deadline:)`` takes the response to its request.
public final class ProtocolSocket: Sendable {
    /// The options of a socket.
    public struct Options: Sendable {
        /// True to answer the server's pings. The server soon considers a client that does not answer as dead.
        public var answersPings = true
        /// The maximum number of packets kept for ``ProtocolSocket/history`` and for waiting callers.
        public var historyLimit = 100_000
        /// The number of untaken packets above which reading from the network pauses. It is for a client that takes all
        /// packets with ``ProtocolSocket/takePackets(atMost:)``. If set, no history is kept, and every packet is kept
        /// until it is taken. Nil: ``historyLimit`` applies.
        public var readAhead: Int?
        /// The maximum size of a frame from the server, and of a fragmented message, in bytes.
        public var frameLimit = 16 << 20
        /// The size of the kernel's receive buffer in bytes; nil: the system's default. A small buffer makes a stalled
        /// client detectable sooner.
        public var receiveBuffer: Int?
        /// Headers of the handshake. They replace those of the same name; an empty value removes one.
        public var headers: [String: String] = [:]
        /// The offered subprotocol; nil: that of the client's version; empty: none.
        public var subprotocol: String?
        /// The requested path and query, below the path of the WebSocket URL; nil: `/` with the session token in the
        /// query.
        public var target: String?

        /// Creates options with the default values.
        public init() {}
    }

    let answersPings: Bool
    let messageLimit: Int
    private let channel: any Channel
    private let inbox: Mutex<SocketInbox>
    private let numbers = Atomic<UInt64>(1)
    private let pings = Atomic<Int>(0)
    private let readAhead: Int?
    private let isPaused = Atomic<Bool>(false)

    init(channel: any Channel, options: Options) {
        self.channel = channel
        answersPings = options.answersPings
        messageLimit = options.frameLimit
        readAhead = options.readAhead
        inbox = Mutex(SocketInbox(historyLimit: options.readAhead == nil ? options.historyLimit : nil))
    }

    // MARK: Sending

    /// Sends a request and waits for its response, successful or not.
    /// - Throws: ``ProtocolClientError`` `deadlineExceeded` or `closed`; `CancellationError`.
    public func request(
        _ method: String, objectID: String? = nil, data: JSONValue? = nil, deadline: ContinuousClock.Instant? = nil
    ) async throws -> SocketResponse {
        let id = "r\(number())"
        var body: JSONValue = ["request_id": .string(id), "method": .string(method)]
        if let objectID { body["object_id"] = .string(objectID) }
        if let data { body["data"] = data }
        if method == "Event.replay" { inbox.withLock { $0.replayRequested() } }
        let text = (["type": "request", "body": body] as JSONValue).text
        let packet = try await wait(until: deadline, for: "the answer to \(method)") {
            SocketInbox.Waiter.response(requestID: id, $0)
        } afterwards: {
            self.enqueueFrame(.text, data: ByteBuffer(string: text))
        }
        return SocketResponse(packet: packet)
    }

    /// Sends a signal, which has no response.
    public func signal(_ type: String, objectID: String, data: JSONValue) async throws {
        try await sendPacket([
            "type": "signal", "body": ["type": .string(type), "object": ["id": .string(objectID)], "data": data],
        ])
    }

    /// Sends a typing indicator: `started`, `paused` or `finished`.
    public func typing(_ action: String, in conversationID: String) async throws {
        try await signal("typing_indicator", objectID: conversationID, data: ["action": .string(action)])
    }

    /// Sends a packet unchanged.
    public func sendPacket(_ packet: JSONValue) async throws { try await sendText(packet.text) }

    /// Sends a packet without waiting for the write. Packets are sent in the order of the calls. If the connection is
    /// lost, ``closure`` is set.
    public func enqueuePacket(_ packet: JSONValue) { enqueueFrame(.text, data: ByteBuffer(string: packet.text)) }

    /// Sends a text frame.
    public func sendText(_ text: String) async throws { try await sendFrame(.text, data: ByteBuffer(string: text)) }

    /// Sends a binary frame.
    public func sendBinary(_ binary: [UInt8]) async throws {
        try await sendFrame(.binary, data: ByteBuffer(bytes: binary))
    }

    /// Sends a frame of any kind. `mask: false` violates the protocol, for tests.
    public func sendFrame(opcode: UInt8, bytes: [UInt8], isFinal: Bool = true, mask: Bool = true) async throws {
        guard let opcode = WebSocketOpcode(encodedWebSocketOpcode: opcode) else { return }
        let frame = WebSocketFrame(
            fin: isFinal, opcode: opcode, maskKey: mask ? .random() : nil, data: ByteBuffer(bytes: bytes))
        try await writing { try await self.channel.writeAndFlush(frame).get() }
    }

    /// Sends a ping.
    public func ping() async throws { try await sendFrame(.ping, data: ByteBuffer()) }

    // MARK: Receiving

    /// Takes the oldest untaken packet for which `matches` returns true. Waits if there is none yet.
    /// - Parameter what: the name of the expected packet in the error for an exceeded deadline.
    /// - Throws: ``ProtocolClientError`` `deadlineExceeded` or `closed`; `CancellationError`.
    public func nextPacket(
        _ what: String = "a packet", deadline: ContinuousClock.Instant? = nil,
        where matches: @escaping @Sendable (ReceivedPacket) -> Bool
    ) async throws -> ReceivedPacket {
        try await wait(until: deadline, for: what) { SocketInbox.Waiter.match(matches, $0) }
    }

    /// Takes the oldest untaken packets. Waits if there is none yet. Requires ``Options/readAhead``.
    /// - Throws: ``ProtocolClientError`` `closed` after the socket has ended and all packets have been taken;
    ///   `CancellationError`.
    public func takePackets(atMost limit: Int) async throws -> [ReceivedPacket] {
        let waiting = inbox.withLock { $0.takeUntaken(limit) }
        guard waiting.isEmpty else {
            if isPaused.exchange(false, ordering: .relaxed) {
                channel.setOption(.autoRead, value: true).whenComplete { _ in }
            }
            return waiting
        }
        return [try await nextPacket(deadline: .now + .seconds(86_400 * 365)) { _ in true }]
    }

    /// Takes the next change of this kind, optionally of a specific object.
    public func nextChange(
        _ operation: String, of objectType: String, id: String? = nil, deadline: ContinuousClock.Instant? = nil
    ) async throws -> ReceivedPacket {
        try await nextPacket("\(objectType) \(operation)", deadline: deadline) {
            $0.isChange(operation, of: objectType, id: id)
        }
    }

    /// Returns a stream of all packets in order, from the first one in ``history`` to the end of the socket. Unread
    /// packets are buffered.
    public func packets() -> AsyncStream<ReceivedPacket> {
        let id = number()
        let (stream, continuation) = AsyncStream.makeStream(of: ReceivedPacket.self)
        continuation.onTermination = { [weak self] _ in self?.inbox.withLock { $0.removeObserver(id) } }
        let isOpen = inbox.withLock { inbox in
            for packet in inbox.history { continuation.yield(packet) }
            return inbox.addObserver(id: id, yieldingTo: continuation)
        }
        if !isOpen { continuation.finish() }
        return stream
    }

    /// The received packets, oldest first, whether taken or not. If they exceed the limit, the oldest ones are removed.
    public var history: [ReceivedPacket] { inbox.withLock { $0.history } }
    /// The number of received packets.
    public var receivedCount: Int { inbox.withLock { $0.received } }
    /// Returns the untaken packets for which `matches` returns true, without taking them.
    public func pending(where matches: @escaping @Sendable (ReceivedPacket) -> Bool) -> [ReceivedPacket] {
        inbox.withLock { $0.pending(matches) }
    }
    /// Discards all untaken packets.
    public func discardPending() { inbox.withLock { $0.discardUntaken() } }
    /// The server's protocol violations, at most the first 1,000:
    /// - counters other than 0, 1, 2, …
    /// - timestamps that are missing or decrease; one decrease is allowed for each replay requested by
    ///   ``request(_:objectID:data:deadline:)``.
    /// - text that is not JSON
    /// - frames that are not text
    ///
    /// With ``Options/readAhead``, counters and timestamps are not checked.
    public var violations: [String] { inbox.withLock { $0.violations } }
    /// The number of pings received from the server.
    public var pingCount: Int { pings.load(ordering: .relaxed) }

    /// Stops reading from the network, like a hanging client. The server's data then accumulates at the server.
    public func pauseReading() async throws { try await channel.setOption(.autoRead, value: false).get() }
    /// Resumes reading.
    public func resumeReading() async throws { try await channel.setOption(.autoRead, value: true).get() }

    // MARK: Closing

    /// The end of the socket; nil while it is open.
    public var closure: SocketClosure? { inbox.withLock { $0.closure } }

    /// Waits for the end of the socket.
    /// - Throws: ``ProtocolClientError`` `deadlineExceeded`; `CancellationError`.
    public func waitForClose(deadline: ContinuousClock.Instant? = nil) async throws -> SocketClosure {
        try await wait(until: deadline, for: "the socket's end") { SocketInbox.Waiter.close($0) }
    }

    /// Sends a close frame and waits until the server has answered, or the deadline has passed.
    public func close(code: UInt16 = 1000, deadline: ContinuousClock.Instant? = nil) async {
        var data = ByteBuffer()
        data.writeInteger(code)
        enqueueFrame(.connectionClose, data: data)
        _ = try? await waitForClose(deadline: deadline ?? .now + .seconds(5))
        try? await channel.close()
    }

    /// Closes the connection without a close frame, like a lost network.
    /// - Parameter reset: true to reset the connection instead of ending the stream in order.
    public func abort(reset: Bool = false) async {
        if reset, let options = channel as? any SocketOptionProvider {
            try? await options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        let channel = channel
        let closing = channel.eventLoop.submit {
            // Close below TLS, because TLS would send a closing alert and wait for a response.
            let tls = try? channel.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
            if let tls { tls.close(promise: nil) } else { channel.close(promise: nil) }
        }
        try? await closing.get()
        try? await channel.closeFuture.get()
    }

    // MARK: Called by the handler

    func textReceived(_ text: String) {
        let (taker, packet, observers, waiting) = inbox.withLock { inbox in
            let (taker, packet, observers) = inbox.packetReceived(text, at: .now)
            return (taker, packet, observers, inbox.untakenCount)
        }
        if let readAhead, waiting > readAhead, !isPaused.exchange(true, ordering: .relaxed) {
            channel.setOption(.autoRead, value: false).whenComplete { _ in }
        }
        for observer in observers { observer.yield(packet) }
        switch taker {
        case .response(_, let continuation), .match(_, let continuation): continuation.resume(returning: packet)
        case .close, nil: break
        }
    }

    func binaryReceived() { inbox.withLock { $0.binaryReceived() } }

    func pingReceived() { pings.add(1, ordering: .relaxed) }

    func connectionEnded(_ closure: SocketClosure) {
        guard let (waiters, observers) = inbox.withLock({ $0.closed(closure) }) else { return }
        for observer in observers { observer.finish() }
        for waiter in waiters {
            if case .close(let continuation) = waiter {
                continuation.resume(returning: closure)
            } else {
                waiter.fail(Self.closed(closure))
            }
        }
    }

    // MARK: Waiting and writing

    private static func closed(_ closure: SocketClosure?) -> ProtocolClientError {
        ProtocolClientError(
            .closed, "the socket has closed" + (closure?.code.map { " with code \($0)" } ?? " without a close frame"))
    }

    private func number() -> UInt64 { numbers.wrappingAdd(1, ordering: .relaxed).oldValue }

    /// Waits with the waiter that `waiter` creates, until the deadline or cancellation. The code that removes a
    /// continuation from the inbox resumes it.
    private func wait<Value: Sendable>(
        until deadline: ContinuousClock.Instant?, for what: String,
        by waiter: (CheckedContinuation<Value, any Error>) -> SocketInbox.Waiter,
        afterwards: () -> Void = {}
    ) async throws -> Value {
        let id = number()
        let late = ProtocolClientError(.deadlineExceeded, "\(what) did not come in time")
        let remaining = (deadline ?? .now + ProtocolClient.defaultTimeout) - .now
        guard remaining > .zero else { throw late }
        var timeout: Scheduled<Void>?
        defer { timeout?.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let waiter = waiter(continuation)
                switch inbox.withLock({ $0.addWaiter(waiter, id: id) }) {
                case .waiting: break
                case .closed: return waiter.fail(Self.closed(closure))
                case .packet(let packet): return waiter.succeed(packet)
                case .closure(let closure): return waiter.succeed(closure)
                }
                timeout = channel.eventLoop.scheduleTask(in: TimeAmount(remaining)) { [self] in
                    inbox.withLock { $0.removeWaiter(id) }?.fail(late)
                }
                afterwards()
                // If the task was cancelled before the waiter was added, the cancellation handler has missed it.
                if Task.isCancelled { inbox.withLock { $0.removeWaiter(id) }?.fail(CancellationError()) }
            }
        } onCancel: {
            inbox.withLock { $0.removeWaiter(id) }?.fail(CancellationError())
        }
    }

    private func enqueueFrame(_ opcode: WebSocketOpcode, data: ByteBuffer) {
        channel.writeAndFlush(WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data), promise: nil)
    }

    private func sendFrame(_ opcode: WebSocketOpcode, data: ByteBuffer) async throws {
        let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data)
        try await writing { try await self.channel.writeAndFlush(frame).get() }
    }

    private func writing(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch {
            throw closure.map { Self.closed($0) }
                ?? ProtocolClientError(.transport, "a frame could not be sent: \(error)")
        }
    }
}
