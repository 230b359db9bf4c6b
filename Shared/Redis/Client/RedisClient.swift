// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
public import Logging
public import NIOCore
import NetKit
public import ServiceLifecycle
import Synchronization

/// Sends commands to a Redis server, or to the servers of a Redis Cluster, over one pipelined connection to each.
///
/// Commands may be issued before ``run()`` is: they wait for the first connection. Once a connection has failed, commands fail at once with
/// ``RedisError/Code/connectionUnavailable`` until it is back, so that nothing piles up. A command that had been sent when its connection was
/// lost fails with ``RedisError/Code/fateUnknown``; none is ever sent twice, unless the server said that it did not execute it.
///
/// Commands issued in one go reach a server in the order they were issued, unless the cluster redirects one. Commands that block, or that
/// change the connection (SUBSCRIBE, MULTI, SELECT, …), must not be used: the connection is shared.
public final class RedisClient: Service, Sendable {
    private let eventLoop: any EventLoop
    private let queue: Mailbox<Command>
    private let availability: Availability
    private let core: NIOLoopBoundBox<ClientCore>
    private let commandTimeout: Duration
    private let metrics = RedisMetrics()
    private let hasStarted = Atomic(false)
    private let hasEndpoints: Bool

    /// Creates a client; it connects when ``run()`` is called.
    ///
    /// - Parameters:
    ///   - configuration: Where the servers are.
    ///   - eventLoopGroup: NIOPosix's; the client uses one of its loops.
    ///   - logger: Told of connections made and lost.
    public init(configuration: RedisConfiguration, eventLoopGroup: any EventLoopGroup, logger: Logger) {
        let eventLoop = eventLoopGroup.next()
        let availability = RedisMetrics.availability(for: "commands", logger: logger)
        self.availability = availability
        let queue = Mailbox<Command>(limit: .init(items: configuration.queueLimit, bytes: configuration.queueLimitBytes))
        self.eventLoop = eventLoop
        hasEndpoints = !configuration.endpoints.isEmpty
        self.queue = queue
        commandTimeout = configuration.commandTimeout
        core = .makeBoxSendingValue(
            ClientCore(configuration: configuration, eventLoop: eventLoop, queue: queue, availability: availability, logger: logger),
            eventLoop: eventLoop)
    }

    /// Connects and stays connected until the task is cancelled or the service group shuts down. Then new commands are refused, those in
    /// flight get the command time-out to finish, and the method returns.
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

    /// Whether commands can be expected to succeed: the server is connected; in a cluster, none of the servers in use is unreachable.
    public var isAvailable: Bool { availability.isAvailable }

    /// Sends one command.
    ///
    /// - Parameters:
    ///   - arguments: The command's name and its arguments.
    ///   - key: The key it touches, by which the server of a cluster is found; nil for commands any server can answer.
    ///   - deadline: When to give up. The command may have been executed then, or may yet be; the same holds after cancellation.
    /// - Returns: The answer; error replies are thrown.
    public func command(
        _ arguments: [RedisArgument], key: String?, deadline: ContinuousClock.Instant
    ) async throws(RedisError) -> RedisValue {
        try await perform(Command(arguments, key: key, deadline: deadline))
    }

    /// Runs a script: by its digest, and in full if the server does not know it.
    ///
    /// - Parameters:
    ///   - script: The script.
    ///   - keys: The keys it touches. In a cluster all must have the same hash slot.
    ///   - arguments: Its other arguments.
    ///   - deadline: As in ``command(_:key:deadline:)``.
    public func evaluate(
        _ script: RedisScript, keys: [String], arguments: [RedisArgument], deadline: ContinuousClock.Instant
    ) async throws(RedisError) -> RedisValue {
        let arguments = Self.arguments(toRun: script, keys: keys, arguments: arguments)
        return try await perform(Command(arguments, script: script, key: keys.first, deadline: deadline))
    }

    /// Runs several scripts in one pipeline: they leave together, and each has a result of its own, in the order of the calls.
    ///
    /// The server runs other commands between them; it does not undo the first when the second fails.
    public func evaluateAll(
        _ calls: [(script: RedisScript, keys: [String], arguments: [RedisArgument])], deadline: ContinuousClock.Instant
    ) async -> [Result<RedisValue, RedisError>] {
        guard !calls.isEmpty else { return [] }
        guard deadline > .now else { return calls.map { _ in .failure(.deadlineExceeded) } }
        let batch = CommandBatch(count: calls.count)
        let commands = calls.enumerated()
            .map { index, call in
                Command(
                    Self.arguments(toRun: call.script, keys: call.keys, arguments: call.arguments), script: call.script, key: call.keys.first,
                    deadline: deadline,
                    batch: (batch, index: index))
            }
        return await batch.results(of: commands) { submit(commands) }
    }

    /// Publishes to the subscribers of a channel, by SPUBLISH.
    ///
    /// - Returns: The number of subscribers that server sent it to.
    public func publish(_ message: ByteBuffer, to channel: String, deadline: ContinuousClock.Instant) async throws(RedisError) -> Int64 {
        let reply = try await perform(Command(Self.publication(of: message, on: channel), key: channel, deadline: deadline))
        guard let receivers = reply.int else { throw RedisError(.protocolViolation, "unexpected answer to SPUBLISH") }
        return receivers
    }

    /// Publishes without telling whether it worked. Bounded like everything else; what does not fit, or fails, is counted as dropped.
    public func publishWithoutWaiting(_ message: ByteBuffer, to channel: String) {
        let command = Command(Self.publication(of: message, on: channel), key: channel, deadline: .now + commandTimeout, isFireAndForget: true)
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

    private static func arguments(toRun script: RedisScript, keys: [String], arguments: [RedisArgument]) -> [RedisArgument] {
        var all: [RedisArgument] = ["EVALSHA", .string(script.sha), .integer(Int64(keys.count))]
        all.reserveCapacity(3 + keys.count + arguments.count)
        for key in keys { all.append(.string(key)) }
        all += arguments
        return all
    }
}
