// SPDX-License-Identifier: Apache-2.0
import Logging
import NIOCore
import NIOEmbedded
import NIOWebSocket
import StrataModel
import StrataWire

@testable import FanOut
@testable import Gateway

/// The sockets of 100 users in one conversation, on one event loop with virtual time.
///
/// Everything runs on the thread that creates the sockets.
struct CountedSockets {
    private static let users = [Fixture.ana] + (1..<100).map { UserID(trusted: "user\($0 / 10)\($0 % 10)") }

    private let loop = EmbeddedEventLoop()
    private let fanOut: FanOut
    private let services: GatewayServices
    private let home: SocketLoop
    private let network = CountingNetwork()

    private init() {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        fanOut = FanOut(loop: loop, source: CompleteLog(), logger: logger, jitter: { 1 })
        services = GatewayServices.underTest(logger: logger)
        home = SocketLoop(index: 0, loop: loop, fanOut: fanOut, services: services)
    }

    /// Counts the allocations of one message that all sockets receive, from its publication to the network.
    static func delivering() throws -> Double {
        let sockets = CountedSockets()
        let channels = try sockets.open()
        let changes = (1...2 * Int64(AllocationCount.runs)).map { Fixture.textChange($0, to: users) }
        let mean = AllocationCount.mean { run in
            sockets.fanOut.changePublished(changes[run])
            sockets.loop.run()
        }
        guard sockets.network.writes == channels.count * changes.count else {
            throw CountedOperation.NoEffect(operation: .deliver)
        }
        try sockets.close(channels)
        return mean
    }

    private func open() throws -> [EmbeddedChannel] {
        _ = fanOut.start(registries: [home.registry], subscriptions: FakeChannels())
        loop.run()
        let channels = try Self.users.enumerated().map { try socket(of: $1, version: $0 % 2 == 0 ? .v3 : .v2) }
        // The fan-out then knows the database's clock.
        loop.advanceTime(by: .seconds(1))
        guard home.registry.clock != nil else { throw CountedOperation.NoEffect(operation: .deliver) }
        return channels
    }

    private func socket(of user: UserID, version: WireVersion) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(handlers: [network.handler()], loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        let session = Session(
            key: UserKey(app: Fixture.app, user: user), identity: BasicIdentity(userID: user), tokenDigest: [],
            expiresAt: Fixture.time(1_000_000), createdAt: Fixture.time(0), replayableSince: Fixture.time(0))
        let socket = Socket(session: session, version: version, home: home)
        let sync = channel.pipeline.syncOperations
        try sync.addHandler(ResponseGuard(services.answers, patience: ResponseGuard.Patience()))
        try sync.addHandler(WebSocketFrameEncoder())
        try SocketUpgrade.add(socket, to: channel, limits: ConnectionLimits())
        try attach(socket)
        return channel
    }

    /// Attaches the socket to the conversation, as a catch-up would.
    private func attach(_ socket: Socket) throws {
        let id = Fixture.conversation
        socket.becomeLive()
        socket.registration.userPosition = .zero
        home.registry.beginJoining([id], app: Fixture.app)
        let last = fanOut.startSequences(at: [(id, .zero)], era: socket.era)
        loop.run()
        let point = JoinPoint(
            id: id, position: .zero, fanOutLast: try last.wait()[0],
            counts: UserCounts(excluded: 0, hidden: 0, position: .zero), messageCount: 0, isHidden: false)
        guard home.registry.attach(socket, at: point) else {
            throw CountedOperation.NoEffect(operation: .deliver)
        }
    }

    private func close(_ channels: [EmbeddedChannel]) throws {
        for channel in channels { _ = try channel.finish() }
        fanOut.stop()
        loop.run()
        try loop.syncShutdownGracefully()
    }
}

/// A log in which nothing is missing.
private struct CompleteLog: ChangeSource {
    func changes(
        of conversation: ConversationID, after position: Position, users: [UserID], on loop: any EventLoop
    ) -> EventLoopFuture<ChangePage> {
        loop.makeSucceededFuture(ChangePage(changes: [], head: position, counts: [:]))
    }

    func heads(since: Timestamp?, on loop: any EventLoop) -> EventLoopFuture<Heads> {
        loop.makeSucceededFuture(Heads(conversations: [], added: [], users: [], asOf: Fixture.time(0)))
    }

    func userChanges(
        of user: UserKey, after position: Position, on loop: any EventLoop
    ) -> EventLoopFuture<[UserChange]> {
        loop.makeSucceededFuture([])
    }

    func endTyping(of user: UserKey, in conversation: ConversationID) {}
}

/// A network that takes every write at once and keeps no byte.
final class CountingNetwork {
    private(set) var writes = 0

    /// Returns the first handler of a channel on this network.
    func handler() -> some ChannelOutboundHandler { Handler(network: self) }

    private final class Handler: ChannelOutboundHandler {
        typealias OutboundIn = IOData

        private let network: CountingNetwork

        init(network: CountingNetwork) { self.network = network }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            network.writes += 1
            promise?.succeed()
        }

        func flush(context: ChannelHandlerContext) {}
    }
}
