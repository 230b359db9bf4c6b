// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import NIOWebSocket
import RPC
import Redis
import StrataModel
import StrataWire
import Synchronization

@testable import FanOut
@testable import Gateway
@testable import Sync

/// A fan-out and a registry on one event loop with virtual time, over a fake log.
final class GatewayHarness: Sendable {
    let loop = NIOAsyncTestingEventLoop()
    let log = FakeLog()
    let channels = FakeChannels()
    let fanOut: FanOut
    let services: GatewayServices
    let home: SocketLoop
    var registry: LoopRegistry { home.registry }

    /// - Parameters:
    ///   - conversations, metadata, presence: The client of the service; nil: the service cannot be called.
    ///   - change: Modifies the default settings.
    init(
        conversations: RPCClient? = nil, metadata: RPCClient? = nil, presence: RPCClient? = nil,
        settings change: (inout GatewaySettings) -> Void = { _ in }
    ) async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        fanOut = FanOut(loop: loop, source: log, logger: logger)
        services = GatewayServices.underTest(
            conversations: conversations, metadata: metadata, presence: presence, logger: logger, settings: change)
        home = SocketLoop(index: 0, loop: loop, fanOut: fanOut, services: services)
        let start = fanOut.start(registries: [registry], subscriptions: channels)
        await loop.run()
        try await start.get()
        await loop.run()
    }

    /// Runs `body` on the loop, and everything that it schedules there.
    func onLoop<T: Sendable>(_ body: @escaping @Sendable (GatewayHarness) throws -> T) async throws -> T {
        let result = loop.submit { try body(self) }
        await loop.run()
        return try await result.get()
    }

    /// Runs the loop until `condition` is true, so that tasks outside of it can finish.
    func until(_ condition: @escaping @Sendable (GatewayHarness) -> Bool) async throws {
        while try await !onLoop(condition) {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// Opens a socket and attaches it to the conversation at `position`, as a catch-up would.
    /// - Parameter network: The network between the socket and its client.
    func socket(
        of user: UserID, in conversation: ConversationID = Fixture.conversation, at position: Int64,
        network: NIOLoopBoundBox<StalledNetwork>? = nil
    ) async throws -> TestSocket {
        let channel = NIOAsyncTestingChannel(loop: loop)
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1))
        let key = UserKey(app: Fixture.app, user: user)
        let session = Session(
            key: key, identity: BasicIdentity(userID: user), tokenDigest: [], expiresAt: Fixture.time(1_000_000),
            createdAt: Fixture.time(0),
            replayableSince: Fixture.time(0))
        let socket = try await onLoop { harness in
            let socket = Socket(session: session, version: .v3, home: harness.home)
            if let network { try channel.pipeline.syncOperations.addHandler(network.value) }
            try channel.pipeline.syncOperations.addHandler(
                ResponseGuard(harness.services.answers, patience: ResponseGuard.Patience()))
            try channel.pipeline.syncOperations.addHandler(WebSocketFrameEncoder())
            try channel.pipeline.syncOperations.addHandler(socket)
            socket.becomeLive()
            socket.registration.userPosition = .zero
            harness.registry.beginJoining([conversation], app: Fixture.app)
            return socket
        }
        let last = fanOut.startSequences(at: [(conversation, Position(position))], era: socket.era)
        await loop.run()
        let fanOutLast = try await last.get()[0]
        _ = try await onLoop { harness in
            harness.registry.attach(
                socket,
                at: JoinPoint(
                    id: conversation, position: Position(position), fanOutLast: fanOutLast,
                    counts: UserCounts(excluded: 0, hidden: 0, position: Position(position)), messageCount: 0,
                    isHidden: false))
        }
        return TestSocket(socket: socket, channel: channel)
    }

    /// Opens a socket whose client has not sent a request yet.
    func newSocket(of user: UserID) async throws -> TestSocket {
        let channel = NIOAsyncTestingChannel(loop: loop)
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1))
        let session = Session(
            key: UserKey(app: Fixture.app, user: user), identity: BasicIdentity(userID: user), tokenDigest: [],
            expiresAt: Fixture.time(1_000_000),
            createdAt: Fixture.time(0), replayableSince: Fixture.time(0))
        let socket = try await onLoop { harness in
            let socket = Socket(session: session, version: .v3, home: harness.home)
            try channel.pipeline.syncOperations.addHandler(WebSocketFrameEncoder())
            try SocketUpgrade.add(socket, to: channel, limits: ConnectionLimits())
            return socket
        }
        return TestSocket(socket: socket, channel: channel)
    }

    func publish(_ change: Change) async throws {
        try await onLoop { $0.fanOut.changePublished(change) }
    }

    /// Simulates a publication of the next entry of a user's own log.
    /// - Parameter isLogged: True if the publication only announces the entry, which is in the log.
    func publish(
        _ content: UserChange.Content, to user: UserID, at position: Int64, isLogged: Bool = false
    ) async throws {
        let change = UserChange(
            appID: Fixture.app, user: user, position: Position(position), createdAt: Fixture.time(position),
            content: content)
        let key = UserKey(app: Fixture.app, user: user)
        let started = fanOut.startSequence(of: key, at: .zero, era: try await onLoop { $0.registry.era })
        await loop.run()
        _ = try await started.get()
        if isLogged { log.state.withLock { $0.userChanges.append(change) } }
        let notice = UserNotice(
            appID: Fixture.app, user: user,
            content: isLogged ? .logged(change.position, at: change.createdAt) : .change(change))
        try await onLoop { $0.fanOut.userNoticePublished(notice) }
    }
}

extension GatewayServices {
    /// Returns the services of a gateway under test.
    /// - Parameters:
    ///   - conversations, metadata, presence: The client of the service; nil: the service cannot be called.
    ///   - change: Modifies the default settings.
    static func underTest(
        conversations: RPCClient? = nil, metadata: RPCClient? = nil, presence: RPCClient? = nil, logger: Logger,
        settings change: (inout GatewaySettings) -> Void = { _ in }
    ) -> GatewayServices {
        func configuration(_ name: String) -> RPCClientConfiguration {
            RPCClientConfiguration(
                target: .fixed([RPCEndpoint(host: "127.0.0.1", port: 1)]),
                clusterSecret: String(repeating: "x", count: 32), name: name)
        }
        // These clients are not run, so no call is ever made.
        func client(_ name: String) -> RPCClient {
            RPCClient(
                configuration: configuration(name), eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
                logger: logger)
        }
        let unreachable = configuration("none")
        var settings = GatewaySettings(
            publicURL: "https://chat.example.org", redisURL: "redis://127.0.0.1:1", clusterSecret: "",
            backends: GatewaySettings.Backends(conversations: unreachable, metadata: unreachable, presence: unreachable)
        )
        change(&settings)
        return GatewayServices(
            conversations: conversations ?? client("conversations"), metadata: metadata ?? client("metadata"),
            presence: presence ?? client("presence"),
            settings: settings, logger: logger)
    }
}

extension Socket {
    /// Makes the socket live, as after a first catch-up that sent nothing.
    func becomeLive() {
        _ = catchUps.schedule.requestReceived(isReplay: false, at: moment)
        catchUps.schedule.willEnd(.present(CatchUp.Outcome()))
        _ = catchUps.schedule.ended(.present(CatchUp.Outcome()), at: moment) { _ in false }
    }

    /// Starts another catch-up in the schedule, without running it.
    func replaceCatchUp() { _ = catchUps.schedule.replay(from: .distantFuture, at: moment) }
}

/// A socket with access to its outgoing packets.
struct TestSocket: Sendable {
    let socket: Socket
    let channel: NIOAsyncTestingChannel

    /// True if the socket is live. Must be read on the loop.
    var isLive: Bool { if case .live = socket.phase { true } else { false } }

    func ask(_ method: String, _ id: String = "r1", data: String = "{}") async throws {
        let text = #"{"type":"request","body":{"request_id":"\#(id)","method":"\#(method)","data":\#(data)}}"#
        let done = channel.testingEventLoop.submit { socket.textFrameReceived(ByteBuffer(string: text)) }
        await channel.testingEventLoop.run()
        try await done.get()
    }

    /// Requests a replay from a time of the fixture.
    func askForReplay(_ id: String = "r1") async throws {
        try await ask("Event.replay", id, data: #"{"from_timestamp":"2027-01-15T08:00:00.000Z"}"#)
    }

    func receive(_ bytes: ByteBuffer) async throws {
        try await channel.writeInbound(bytes)
        await channel.testingEventLoop.run()
    }

    /// Returns the packets sent since the last call.
    func packets() async throws -> [JSONValue] {
        await channel.testingEventLoop.run()
        // A frame may be sent in several parts.
        var sent = ByteBuffer()
        while var bytes = try await channel.readOutbound(as: ByteBuffer.self) { sent.writeBuffer(&bytes) }
        var packets: [JSONValue] = []
        while sent.readableBytes > 0 { packets.append(try JSONReader.parse(try Self.frame(&sent))) }
        return packets
    }

    /// Returns the code of the close frame, if one was sent since the last call. A frame's head and payload may be sent
    /// separately.
    func closeCode() async throws -> Int? {
        await channel.testingEventLoop.run()
        var sent = ByteBuffer()
        while var bytes = try await channel.readOutbound(as: ByteBuffer.self) { sent.writeBuffer(&bytes) }
        while sent.readableBytes > 0 {
            if sent.getInteger(at: sent.readerIndex, as: UInt8.self) == 0x88 {
                return sent.getInteger(at: sent.readerIndex + 2, as: UInt16.self).map { Int($0) }
            }
            _ = try Self.frame(&sent)
        }
        return nil
    }

    /// Returns the `position` members of the change packets sent since the last call.
    func positions() async throws -> [Int64] {
        try await packets().compactMap { $0["body"]?["position"]?.integerValue }
    }

    private struct Malformed: Error {}

    private static func frame(_ bytes: inout ByteBuffer) throws -> ByteBuffer {
        guard bytes.readInteger(as: UInt8.self) == 0x81, let short: UInt8 = bytes.readInteger() else {
            throw Malformed()
        }
        let count: Int?
        switch short {
        case 126: count = bytes.readInteger(as: UInt16.self).map { Int($0) }
        case 127: count = bytes.readInteger(as: UInt64.self).map { Int($0) }
        default: count = Int(short)
        }
        guard let count, let payload = bytes.readSlice(length: count) else { throw Malformed() }
        return payload
    }
}

final class FakeLog: ChangeSource {
    struct State {
        var changes: [Change] = []
        /// Entries of users' own logs.
        var userChanges: [UserChange] = []
        var heads: Heads?
        /// True to read heads immediately, but delay the answer.
        var areHeadsHeld = false
        var headReads = 0
        var isAway = false
        /// True to delay reads.
        var isHeld = false
        /// Counts by user. nil: one uncounted message for every user.
        var counts: [UserID: UserCounts]?
        var reads = 0
        /// The users whose typing was ended.
        var typingEnds: [UserID] = []
    }
    let state = Mutex(State())

    func append(_ changes: Change...) { state.withLock { $0.changes += changes } }

    func changes(
        of conversation: ConversationID, after position: Position, users: [UserID], on loop: any EventLoop
    ) -> EventLoopFuture<ChangePage> {
        loop.makeFutureWithTask { try await self.changes(of: conversation, after: position, users: users) }
    }

    func heads(since: Timestamp?, on loop: any EventLoop) -> EventLoopFuture<Heads> {
        loop.makeFutureWithTask { try await self.heads(since: since) }
    }

    func userChanges(
        of user: UserKey, after position: Position, on loop: any EventLoop
    ) -> EventLoopFuture<[UserChange]> {
        loop.makeSucceededFuture(
            state.withLock {
                $0.userChanges.filter { $0.appID == user.app && $0.user == user.user && $0.position > position }
            })
    }

    func endTyping(of user: UserKey, in conversation: ConversationID) {
        state.withLock { $0.typingEnds.append(user.user) }
    }

    private func changes(
        of conversation: ConversationID, after position: Position, users: [UserID]
    ) async throws(Failure) -> ChangePage {
        let page: ChangePage? = state.withLock { state in
            state.reads += 1
            if state.isAway { return nil }
            let counts = state.counts
            let mine = state.changes.filter { $0.conversationID == conversation }
            return ChangePage(
                changes: mine.filter { $0.position > position }, head: mine.map(\.position).max() ?? .zero,
                counts: counts
                    ?? Dictionary(
                        uniqueKeysWithValues: users.map {
                            ($0, UserCounts(excluded: 1, hidden: 0, position: mine.map(\.position).max() ?? .zero))
                        })
            )
        }
        while state.withLock({ $0.isHeld }) { await Task.yield() }
        guard let page else { throw .unavailable }
        return page
    }

    private func heads(since: Timestamp?) async throws(Failure) -> Heads {
        let heads = state.withLock { state in
            state.headReads += 1
            return state.heads
        }
        while state.withLock({ $0.areHeadsHeld }) { await Task.yield() }
        guard let heads else { throw .unavailable }
        return heads
    }
}

/// Fake channel subscriptions that are always confirmed.
final class FakeChannels: ChannelSubscriptions {
    let subscribed = Mutex<Set<String>>([])
    let available = Mutex(true)
    var isAvailable: Bool { available.withLock { $0 } }
    func subscribe(_ channels: [String]) { subscribed.withLock { $0.formUnion(channels) } }
    func unsubscribe(_ channels: [String]) { subscribed.withLock { $0.subtract(channels) } }
    func confirmation(of channels: [String], deadline: ContinuousClock.Instant) async throws(RedisError) {}
}
