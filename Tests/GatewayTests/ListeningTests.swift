// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOEmbedded
import NIOWebSocket
import StrataModel
import StrataWire
import Testing

@testable import FanOut
@testable import Gateway
@testable import Sync

/// Sockets whose clients send no requests.
@Suite("clients that only listen", .timeLimit(.minutes(3)))
struct ListeningTests {
    /// The times of the session's creation and of the earliest replay.
    private static let made = Timestamp.now().advanced(by: .seconds(-100))
    private static let replayable = made.advanced(by: .seconds(50))

    /// Opens a socket. The services are unreachable, so its first catch-up keeps retrying.
    private func open(_ harness: GatewayHarness) async throws -> TestSocket {
        let channel = NIOAsyncTestingChannel(loop: harness.loop)
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1))
        let session = Session(
            key: UserKey(app: Fixture.app, user: Fixture.ana), identity: BasicIdentity(userID: Fixture.ana),
            tokenDigest: [],
            expiresAt: Fixture.time(1_000_000), createdAt: Self.made, replayableSince: Self.replayable)
        let socket = try await harness.onLoop { harness in
            let socket = Socket(session: session, version: .v3, home: harness.home)
            try channel.pipeline.syncOperations.addHandler(WebSocketFrameEncoder())
            try channel.pipeline.syncOperations.addHandler(socket)
            return socket
        }
        return TestSocket(socket: socket, channel: channel)
    }

    private func isWaiting(_ socket: Socket, _ harness: GatewayHarness) async throws -> Bool {
        try await harness.onLoop { _ in if case .waiting = socket.phase { true } else { false } }
    }

    @Test(
        "a socket goes live after two seconds without a request, and its packets carry replayable times until the first request"
    )
    func live() async throws {
        let harness = try await GatewayHarness()
        let test = try await open(harness)
        await harness.loop.advanceTime(by: .milliseconds(1999))
        #expect(try await isWaiting(test.socket, harness))
        await harness.loop.advanceTime(by: .milliseconds(1))
        #expect(try await !isWaiting(test.socket, harness))
        #expect(try await harness.onLoop { _ in test.socket.catchUps.task != nil })
        // Simulate the end of the catch-up.
        try await harness.onLoop { _ in
            test.socket.outbox.caughtUp(asOf: nil, isReplay: false)
            test.socket.sendTail(harness.services.renderer.countsChanged(Fixture.conversation, at: Position(1)))
        }
        #expect(try await test.packets().map { $0["timestamp"]?.stringValue } == [ISO8601.string(Self.replayable)])
        let later = Self.replayable.advanced(by: .seconds(7))
        try await harness.onLoop { harness in
            harness.registry.clock = DatabaseClock(asOf: later, heardAt: harness.loop.now)
            test.socket.requestReceived(replaying: true)
            test.socket.sendTail(
                harness.services.renderer.countsChanged(Fixture.conversation, at: Position(1)), stamp: Stamp(later))
        }
        #expect(try await test.packets().map { $0["timestamp"]?.stringValue } == [ISO8601.string(later)])
    }

    @Test("a client that requests a replay within two seconds receives nothing else before it")
    func replay() async throws {
        let harness = try await GatewayHarness()
        let test = try await open(harness)
        await harness.loop.advanceTime(by: .milliseconds(1999))
        try await harness.onLoop { _ in test.socket.requestReceived(replaying: true) }
        await harness.loop.advanceTime(by: .seconds(10))
        #expect(try await harness.onLoop { _ in test.socket.catchUps.task == nil })
    }

    @Test(
        "unsolicited changes start ten seconds before the socket opened, by the database's clock, but not before its session",
        arguments: [-600, 0, 600])
    func beginning(seconds: Int64) async throws {
        let harness = try await GatewayHarness()
        let test = try await open(harness)
        let socket = test.socket
        // While the gateway does not know the time, packets carry a time from which a replay misses nothing.
        #expect(try await harness.onLoop { _ in socket.beginning } == Self.replayable)
        #expect(try await harness.onLoop { _ in socket.outbox.sequence.start } == Self.replayable)
        // The database's clock may differ greatly from the gateway's.
        let now = Timestamp.now().advanced(by: .seconds(seconds))
        await harness.loop.advanceTime(by: .seconds(1))
        let beginnings = try await harness.onLoop { harness in
            harness.registry.clock = DatabaseClock(asOf: now, heardAt: harness.loop.now)
            return socket.beginning
        }
        let isLongAgo = now.advanced(by: .seconds(-11)) > Self.made
        #expect(
            beginnings
                == (isLongAgo
                    ? now.advanced(by: .seconds(-11)) : Self.made <= now ? Self.made : now.advanced(by: .seconds(-11))))
        // A time read from the database is kept.
        let known = try await harness.onLoop { harness in
            socket.catchUps.schedule.learn(databaseTime: Self.made.advanced(by: .seconds(5)), at: harness.loop.now)
            harness.registry.clock = nil
            return socket.beginning
        }
        #expect(known == Self.made)
    }
}
