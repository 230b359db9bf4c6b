// SPDX-License-Identifier: Apache-2.0

import Logging
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import Redis

extension ContinuousClock.Instant {
    /// A deadline that only a failing test reaches.
    static var generous: Self { .now + .seconds(20) }
}

extension RedisConfiguration {
    /// Returns a configuration with short timeouts, so that tests are quick.
    static func test(_ endpoints: RedisEndpoint..., isCluster: Bool? = nil) -> RedisConfiguration {
        RedisConfiguration(
            endpoints: endpoints, isCluster: isCluster, connectTimeout: .seconds(2), commandTimeout: .seconds(2),
            reconnectBackoffMinimum: .milliseconds(10), reconnectBackoffMaximum: .milliseconds(100))
    }
}

/// A logger that discards everything, because tests provoke many warnings.
var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }

/// Runs `body` with a running client and then shuts it down.
func withClient<Result: Sendable>(
    _ configuration: RedisConfiguration, _ body: nonisolated(nonsending) (RedisClient) async throws -> Result
) async throws -> Result {
    let client = RedisClient(
        configuration: configuration, eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: quiet)
    return try await running({ try await client.run() }, { try await body(client) })
}

/// Runs `body` with a running subscriber and the delegate that records its events.
func withSubscriber<Result: Sendable>(
    _ configuration: RedisConfiguration,
    _ body: nonisolated(nonsending) (RedisSubscriber, RecordingDelegate) async throws -> Result
) async throws -> Result {
    let delegate = RecordingDelegate()
    let subscriber = RedisSubscriber(
        configuration: configuration, eventLoopGroup: MultiThreadedEventLoopGroup.singleton, delegate: delegate,
        logger: quiet)
    return try await running({ try await subscriber.run() }, { try await body(subscriber, delegate) })
}

private func running<Result>(
    _ run: @escaping @Sendable () async throws -> Void, _ body: nonisolated(nonsending) () async throws -> Result
) async throws -> Result {
    let task = Task { try await run() }
    do {
        let result = try await body()
        task.cancel()
        try await task.value
        return result
    } catch {
        task.cancel()
        try? await task.value
        throw error
    }
}

/// A delegate that records a subscriber's events, for tests to wait for.
final class RecordingDelegate: RedisSubscriberDelegate {
    enum Event: Equatable {
        case message(String, ByteBuffer)
        case confirmed(String)
        case lost
        case recovered
    }

    private struct State {
        var events: [Event] = []
        var waiters: [(condition: @Sendable ([Event]) -> Bool, continuation: CheckedContinuation<[Event], Never>)] = []
    }

    private let state = Mutex(State())

    var events: [Event] { state.withLock { $0.events } }

    /// Waits until the events so far meet a condition, and returns them.
    @discardableResult
    func wait(until condition: @escaping @Sendable ([Event]) -> Bool) async -> [Event] {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                if condition(state.events) {
                    continuation.resume(returning: state.events)
                } else {
                    state.waiters.append((condition, continuation))
                }
            }
        }
    }

    func wait(for event: Event) async { await wait { $0.contains(event) } }

    func forget() { state.withLock { $0.events.removeAll() } }

    private func record(_ event: Event) {
        state.withLock { state in
            state.events.append(event)
            for index in state.waiters.indices.reversed() where state.waiters[index].condition(state.events) {
                state.waiters.remove(at: index).continuation.resume(returning: state.events)
            }
        }
    }

    func subscriber(didReceive message: ByteBuffer, on channel: ByteBuffer) {
        record(.message(String(buffer: channel), message))
    }
    func subscriber(didConfirm channel: String) { record(.confirmed(channel)) }
    func subscriberDidLoseConnection() { record(.lost) }
    func subscriberDidRecover() { record(.recovered) }
}

extension RedisClient {
    /// Sends a command with a generous deadline.
    func run(_ arguments: RedisArgument..., key: String? = nil) async throws -> RedisValue {
        try await command(arguments, key: key, deadline: .generous)
    }
}

/// Returns the code of the error that `body` throws; nil if it throws none.
func code(of body: nonisolated(nonsending) () async throws -> Void) async -> RedisError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? RedisError)?.code
    }
}
