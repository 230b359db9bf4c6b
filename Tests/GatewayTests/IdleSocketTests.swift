// SPDX-License-Identifier: Apache-2.0
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceKit
import ServiceLifecycle
import StrataModel
import StrataWire
import Testing

@testable import FanOut
@testable import Gateway

@Suite("idle sockets on a real server", .timeLimit(.minutes(2)))
struct IdleSocketTests {
    @Test("an open socket occupies no task of the server, and its connection a read buffer of 512 bytes")
    func task() async throws {
        try await OpenSocket.run { socket in
            #expect(socket.readBuffer == 512)
            #expect(socket.connection.isActive)
            try await socket.write([0x89, 0x80, 0, 0, 0, 0])
            try await socket.wait(for: [0x8a, 0])
        }
    }

    @Test("the shutdown closes open sockets, and ends after the last one")
    func shutdown() async throws {
        try await OpenSocket.run { socket in
            let isActive = Task {
                try await socket.shutDown()
                return socket.connection.isActive
            }
            // 1001. The client does not answer it, so the server keeps the connection for its close timeout.
            try await socket.wait(for: [0x03, 0xe9])
            #expect(try await !isActive.value)
        }
    }
}

/// A socket on a server of its own, opened by a client that sends nothing else. The server's task of the connection has
/// ended.
private struct OpenSocket: Sendable {
    /// The server's end of the connection.
    let connection: any Channel
    /// The size of the buffer for the connection's first read.
    let readBuffer: Int?
    private let client: any Channel
    private let received: Received
    private let running: RunningServer

    func write(_ bytes: [UInt8]) async throws { try await client.writeAndFlush(ByteBuffer(bytes: bytes)) }

    /// Waits until the client has received these bytes.
    func wait(for bytes: [UInt8]) async throws { try await received.wait(for: bytes, on: client.eventLoop) }

    /// Shuts the server down gracefully, and waits for its end.
    func shutDown() async throws { try await running.shutDown() }

    private static let handshake = """
        GET / HTTP/1.1\r\nHost: chat.example.org\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
        Sec-WebSocket-Protocol: \(WireVersion.v3.subprotocol)\r\n\
        Authorization: Layer session-token=\"\(TestEdge.token)\"\r\n\r\n
        """

    static func run(_ body: (OpenSocket) async throws -> Void) async throws {
        try await TestEdge.run { edge in
            let running = try await RunningServer(edge.services)
            let received = Received()
            let client = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(received) }
                }
                .connect(host: "127.0.0.1", port: try await running.port).get()
            try await client.writeAndFlush(ByteBuffer(string: handshake))
            try await received.wait(for: Array("101 Switching Protocols".utf8), on: client.eventLoop)
            try await body(
                OpenSocket(
                    connection: try await running.connectionWithoutTask, readBuffer: try await running.readBuffer,
                    client: client, received: received, running: running))
            try? await client.close()
            try await running.shutDown()
        }
    }
}

/// The part of a gateway that serves sockets, on a free port.
private struct RunningServer: Sendable {
    private let observed = (
        ports: AsyncStream.makeStream(of: Int.self), buffers: AsyncStream.makeStream(of: Int?.self),
        ends: AsyncStream.makeStream(of: (any Channel).self)
    )
    private let group: ServiceGroup
    private let task: Task<Void, any Error>

    init(_ services: GatewayServices) async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let eventLoops = MultiThreadedEventLoopGroup.singleton
        let fanOut = FanOut(loop: eventLoops.next(), source: FakeLog(), logger: logger)
        let loops = eventLoops.makeIterator().enumerated()
            .map { SocketLoop(index: $0, loop: $1, fanOut: fanOut, services: services) }
        try await fanOut.start(registries: loops.map(\.registry), subscriptions: FakeChannels()).get()
        let limits = ConnectionLimits()
        let upgrade = SocketUpgrade(services: services, loops: [.main: loops], limits: limits)
        let observed = observed
        let builder = HTTPServerBuilder { responder in
            ObservedChannel(
                base: UpgradeChannel(
                    responder: responder, upgrade: upgrade, limits: limits, clients: services.clients,
                    answers: services.answers, input: services.input, patience: ResponseGuard.Patience(),
                    countsAddresses: true, refusal: ByteBuffer(), refusals: RefusedRequest(services.renderer)),
                buffers: observed.buffers.continuation, ends: observed.ends.continuation)
        }
        let server = HTTPService(
            responder: Router().buildResponder(), server: builder,
            configuration: ServerConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onListening: { observed.ports.continuation.yield($0.localAddress?.port ?? 0) },
            eventLoopGroup: eventLoops, logger: logger)
        let group = ServiceGroup(services: [ConnectionDrain(clients: services.clients), server], logger: logger)
        self.group = group
        task = Task {
            try await group.run()
            fanOut.stop()
        }
    }

    var port: Int { get async throws { try await Self.first(observed.ports.stream) } }
    var readBuffer: Int? { get async throws { try await Self.first(observed.buffers.stream) } }
    /// The connection whose task has ended, as soon as there is one.
    var connectionWithoutTask: any Channel { get async throws { try await Self.first(observed.ends.stream) } }

    func shutDown() async throws {
        await group.triggerGracefulShutdown()
        try await task.value
    }

    private static func first<Element: Sendable>(_ stream: AsyncStream<Element>) async throws -> Element {
        for await element in stream { return element }
        throw CancellationError()
    }
}

/// A child channel of the gateway that reports the sizes of first read buffers, and the ends of tasks.
private struct ObservedChannel: ServerChildChannel {
    let base: UpgradeChannel
    let buffers: AsyncStream<Int?>.Continuation
    let ends: AsyncStream<any Channel>.Continuation

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<UpgradeChannel.Value> {
        base.setup(channel: channel, logger: logger)
            .flatMap { value in
                channel.getOption(.recvAllocator)
                    .map { allocator in
                        buffers.yield(allocator.nextBufferSize())
                        return value
                    }
            }
    }

    func handle(value: UpgradeChannel.Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
        ends.yield(value.channel)
    }
}

/// The bytes that a client has received. All state is accessed on its loop only; `@unchecked Sendable` relies on this.
private final class Received: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer

    private var bytes: [UInt8] = []
    private var waiting: (bytes: [UInt8], promise: EventLoopPromise<Void>)?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        bytes += unwrapInboundIn(data).readableBytesView
        check()
    }

    func channelInactive(context: ChannelHandlerContext) {
        waiting?.promise.fail(ChannelError.eof)
        waiting = nil
    }

    func wait(for bytes: [UInt8], on loop: any EventLoop) async throws {
        try await loop.flatSubmit {
            let promise = loop.makePromise(of: Void.self)
            self.waiting = (bytes, promise)
            self.check()
            return promise.futureResult
        }
        .get()
    }

    private func check() {
        guard let (wanted, promise) = waiting, bytes.firstRange(of: wanted) != nil else { return }
        waiting = nil
        promise.succeed()
    }
}
