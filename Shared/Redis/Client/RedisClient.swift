// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
public import Logging
public import NIOCore
import NetKit
public import ServiceLifecycle
import Synchronization

/// A client that sends commands to a Redis server, or to the servers of a Redis Cluster, over one pipelined connection
/// to each.
///
/// Commands issued before ``run()`` wait for the first connection. After a connection has failed, commands fail
/// immediately with ``RedisError/Code/connectionUnavailable`` until it is restored, so that no backlog accumulates. A
/// command that was sent before its connection was lost fails with ``RedisError/Code/fateUnknown``. A command is sent
/// again only if the server reported that it did not execute it.
///
/// Commands issued together reach a server in their order, unless the cluster redirects one. Because the connection is
/// shared, commands that block or change the connection (SUBSCRIBE, MULTI, SELECT, …) must not be used.
public final class RedisClient: Service, Sendable {
    private let eventLoop: any EventLoop
    private let queue: Mailbox<Command>
    private let availability: Availability
    private let core: NIOLoopBoundBox<ClientCore>
    private let commandTimeout: Duration
    private let metrics = RedisMetrics()
    private let hasStarted = Atomic(false)
    private let hasEndpoints: Bool

    /// Creates a client, which connects in ``run()``.
    ///
    /// - Parameters:
    ///   - configuration: the servers and limits.
    ///   - eventLoopGroup: a group of NIOPosix. The client uses one of its loops.
    ///   - logger: receives messages about established and lost connections.
    public init(configuration: RedisConfiguration, eventLoopGroup: any EventLoopGroup, logger: Logger) {
        let eventLoop = eventLoopGroup.next()
        let availability = RedisMetrics.availability(for: "commands", logger: logger)
        self.availability = availability
        let queue = Mailbox<Command>(
            limit: .init(items: configuration.queueLimit, bytes: configuration.queueLimitBytes))
        self.eventLoop = eventLoop
        hasEndpoints = !configuration.endpoints.isEmpty
        self.queue = queue
        commandTimeout = configuration.commandTimeout
        core = .makeBoxSendingValue(
            ClientCore(
                configuration: configuration, eventLoop: eventLoop, queue: queue, availability: availability,
                logger: logger),
            eventLoop: eventLoop)
    }

    /// Connects and stays connected until the task is cancelled or the service group shuts down. Then new commands are
    /// refused, and those in flight may finish within the command time-out.
    public func run() async throws {
        guard !hasStarted.exchange(true, ordering: .relaxed) else {
            throw RedisError(.alreadyRunning, "run() was called twice")
        }
        guard hasEndpoints else { throw RedisError(.invalidConfiguration, "no server is configured") }
        eventLoop.execute { [core] in core.value.start() }
        try? await gracefulShutdown()
        try await eventLoop.flatSubmit { [core, eventLoop] in
            let done = eventLoop.makePromise(of: Void.self)
            core.value.shutDown(done)
            return done.futureResult
        }
        .get()
    }

    /// True if commands are expected to succeed: the server is connected or, in a cluster, no server in use is
    /// unreachable.
    public var isAvailable: Bool { availability.isAvailable }

    /// Sends a command.
    ///
    /// - Parameters:
    ///   - arguments: the command's name and its arguments.
    ///   - key: the accessed key, which determines the server of a cluster; nil for commands that any server can run.
    ///   - deadline: the end of the wait. The command may have been executed by then, or may still be executed. The
    ///     same applies to cancellation.
    /// - Returns: the response. Error replies are thrown.
    public func command(
        _ arguments: [RedisArgument], key: String?, deadline: ContinuousClock.Instant
    ) async throws(RedisError) -> RedisValue {
        try await perform(Command(arguments, key: key, deadline: deadline))
    }

    /// Runs a script by its digest, or by its source if the server does not know it.
    ///
    /// - Parameters:
    ///   - keys: the accessed keys. In a cluster they must have the same hash slot.
    ///   - arguments: the other arguments.
    ///   - deadline: see ``command(_:key:deadline:)``.
    public func evaluate(
        _ script: RedisScript, keys: [String], arguments: [RedisArgument], deadline: ContinuousClock.Instant
    ) async throws(RedisError) -> RedisValue {
        let arguments = Self.arguments(toRun: script, keys: keys, arguments: arguments)
        return try await perform(Command(arguments, script: script, key: keys.first, deadline: deadline))
    }

    /// Runs several scripts in one pipeline. Each has its own result, in the order of the calls.
    ///
    /// The server may run other commands between them. A failed script does not roll back the previous ones.
    public func evaluateAll(
        _ calls: [(script: RedisScript, keys: [String], arguments: [RedisArgument])], deadline: ContinuousClock.Instant
    ) async -> [Result<RedisValue, RedisError>] {
        guard !calls.isEmpty else { return [] }
        guard deadline > .now else { return calls.map { _ in .failure(.deadlineExceeded) } }
        let batch = CommandBatch(count: calls.count)
        let commands = calls.enumerated()
            .map { index, call in
                Command(
                    Self.arguments(toRun: call.script, keys: call.keys, arguments: call.arguments), script: call.script,
                    key: call.keys.first,
                    deadline: deadline,
                    batch: (batch, index: index))
            }
        return await batch.results(of: commands) { submit(commands) }
    }

    /// Publishes a message to the subscribers of a channel with SPUBLISH.
    ///
    /// - Returns: the number of subscribers on the channel's server.
    public func publish(
        _ message: ByteBuffer, to channel: String, deadline: ContinuousClock.Instant
    ) async throws(RedisError) -> Int64 {
        let reply = try await perform(
            Command(Self.publication(of: message, on: channel), key: channel, deadline: deadline))
        guard let receivers = reply.int else { throw RedisError(.protocolViolation, "unexpected answer to SPUBLISH") }
        return receivers
    }

    /// Publishes a message without reporting the outcome. The usual limits apply. A message that exceeds them or fails
    /// is counted as dropped.
    public func publishWithoutWaiting(_ message: ByteBuffer, to channel: String) {
        let command = Command(
            Self.publication(of: message, on: channel), key: channel, deadline: .now + commandTimeout,
            isFireAndForget: true)
        submit(CollectionOfOne(command))
    }

    private nonisolated(nonsending) func perform(_ command: Command) async throws(RedisError) -> RedisValue {
        guard command.deadline > .now else { throw .deadlineExceeded }
        return try await command.result { submit(CollectionOfOne(command)) }.get()
    }

    private func submit(_ commands: some Collection<Command>) {
        let (wake, refused) = queue.put(contentsOf: commands) { $0.cost }
        if wake { eventLoop.execute { [core] in core.value.drain() } }
        guard !refused.isEmpty else { return }
        metrics.failures.increment(by: refused.count)
        for (command, why) in refused {
            if command.isFireAndForget { metrics.droppedPublishes.increment() }
            if why == .full { metrics.refused.increment() }
            command.finish(.failure(why == .full ? .queueFull : .closed))
        }
    }

    private static func publication(of message: ByteBuffer, on channel: String) -> [RedisArgument] {
        ["SPUBLISH", .string(channel), .bytes(message)]
    }

    private static func arguments(
        toRun script: RedisScript, keys: [String], arguments: [RedisArgument]
    ) -> [RedisArgument] {
        var all: [RedisArgument] = ["EVALSHA", .string(script.sha), .integer(Int64(keys.count))]
        all.reserveCapacity(3 + keys.count + arguments.count)
        for key in keys { all.append(.string(key)) }
        all += arguments
        return all
    }
}
