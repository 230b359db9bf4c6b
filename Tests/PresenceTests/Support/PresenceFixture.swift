// SPDX-License-Identifier: Apache-2.0

import Contracts
import LocalServers
import Logging
import NIOCore
import NIOPosix
import RPC
import Redis
import ServiceKit
import ServiceLifecycle
import StrataModel
import Synchronization
import TestSupport

@testable import Presence

var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
var soon: ContinuousClock.Instant { .now + .seconds(20) }

/// Records publications in the order of arrival.
final class PublicationLog: RedisSubscriberDelegate {
    enum Entry: Hashable, Sendable {
        case typing(TypingSignal, goodFor: Duration?)
        case presence(PresencePublication)
    }

    private struct Waiter {
        var count: Int
        var continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var entries: [Entry] = []
        var waiters: [Waiter] = []
    }

    private let state = Mutex(State())

    var entries: [Entry] { state.withLock { $0.entries } }
    var signals: [TypingSignal] { entries.compactMap { if case .typing(let signal, _) = $0 { signal } else { nil } } }
    var goodFor: [Duration?] {
        entries.compactMap { if case .typing(_, let goodFor) = $0 { .some(goodFor) } else { nil } }
    }
    var statuses: [Presence.Status] {
        entries.compactMap { if case .presence(let change) = $0 { change.presence.status } else { nil } }
    }

    /// Waits until there are `count` entries. The test's time limit applies.
    func wait(for count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                guard state.entries.count < count else { return true }
                state.waiters.append(Waiter(count: count, continuation: continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    func subscriber(didReceive message: ByteBuffer, on channel: ByteBuffer) {
        let entry: Entry
        if String(buffer: channel).hasPrefix("c:") {
            guard case .typing(let signal, let goodFor) = try? ConversationPublication(decoding: message) else {
                return
            }
            entry = .typing(signal, goodFor: goodFor)
        } else {
            guard let change = try? PresencePublication(decoding: message) else { return }
            entry = .presence(change)
        }
        let ready = state.withLock { state in
            state.entries.append(entry)
            let ready = state.waiters.filter { $0.count <= state.entries.count }
            state.waiters.removeAll { $0.count <= state.entries.count }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    func subscriber(didConfirm channel: String) {}
    func subscriberDidLoseConnection() {}
    func subscriberDidRecover() {}
}

/// A separate Redis with a client and a listener. It must be separate, because a sweep processes everything due on its
/// server.
struct PresenceFixture: Sendable {
    let server: PrivateRedis
    let redis: RedisClient
    let subscriber: RedisSubscriber
    let log = PublicationLog()

    static func run<Value: Sendable>(
        arguments: [String] = [], _ body: @Sendable (PresenceFixture) async throws -> Value
    ) async throws -> Value {
        let server = try await TestServers.privateRedis(arguments: arguments)
        let fixture = try PresenceFixture(server)
        do {
            let value = try await running([fixture.redis, fixture.subscriber]) { try await body(fixture) }
            await server.stop()
            return value
        } catch {
            await server.stop()
            throw error
        }
    }

    private init(_ server: PrivateRedis) throws {
        self.server = server
        let configuration = try RedisConfiguration(url: server.url)
        redis = RedisClient(
            configuration: configuration, eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: quiet)
        subscriber = RedisSubscriber(
            configuration: configuration, eventLoopGroup: MultiThreadedEventLoopGroup.singleton, delegate: log,
            logger: quiet)
    }

    func listen(to channels: [String]) async throws {
        subscriber.subscribe(channels)
        try await subscriber.confirmation(of: channels, deadline: soon)
    }

    func command(_ words: RedisArgument...) async throws -> RedisValue {
        try await redis.command(words, key: nil, deadline: soon)
    }

    func keys() async throws -> [String] { try await command("KEYS", "*").array?.compactMap(\.string).sorted() ?? [] }

    func service(typing: TypingSettings = .short, presence: PresencePeriods = .short) throws -> PresenceService {
        var settings = PresenceSettings(
            redisURL: server.url, rpc: RPCServerConfiguration(host: "127.0.0.1", port: 0, clusterSecret: Self.secret))
        settings.typing = typing
        settings.presence = presence
        return try PresenceService(
            settings: settings,
            environment: ServiceEnvironment(eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: quiet))
    }

    static let secret = "a secret that is long enough for tests"

    func client(of service: PresenceService) async throws -> RPCClient {
        let endpoint = RPCEndpoint(host: "127.0.0.1", port: try await service.rpcPort)
        return RPCClient(
            configuration: RPCClientConfiguration(target: .fixed([endpoint]), clusterSecret: Self.secret),
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: quiet)
    }
}

extension TypingSettings {
    static var short: TypingSettings {
        var settings = TypingSettings()
        settings.pauseAfter = .milliseconds(200)
        settings.finishAfter = .milliseconds(200)
        settings.repeatAfter = .milliseconds(60)
        settings.sweepEvery = .milliseconds(20)
        return settings
    }
}

extension PresencePeriods {
    /// Periods with a lease of one minute and a grace period of half a minute, for easy arithmetic.
    static var round: PresencePeriods {
        var periods = PresencePeriods()
        periods.lease = .seconds(60)
        periods.grace = .seconds(30)
        return periods
    }

    static var short: PresencePeriods {
        var periods = PresencePeriods()
        periods.lease = .milliseconds(400)
        periods.grace = .milliseconds(100)
        periods.sweepEvery = .milliseconds(20)
        return periods
    }
}

func running<Value: Sendable>(
    _ services: [any Service], _ body: @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for service in services { group.addTask { try await service.run() } }
        defer { group.cancelAll() }
        return try await body()
    }
}

func signal(_ conversation: ConversationID, _ user: String, _ action: TypingAction) -> TypingSignal {
    TypingSignal(conversationID: conversation, user: UserID(trusted: user), action: action)
}

extension ScriptClock {
    /// A clock that tests set: the key `clock` holds milliseconds.
    static let simulated = ScriptClock(
        source:
            "local clock = redis.call('GET', 'clock')\nlocal time = {math.floor(clock / 1000), (clock % 1000) * 1000}")
}
