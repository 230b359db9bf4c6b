// SPDX-License-Identifier: Apache-2.0

public import Logging
public import NIOCore
import NetKit
public import ServiceLifecycle
import Synchronization

/// What tasks ask of the event loop.
enum SubscriberRequest: Sendable {
    case subscribe([String])
    case unsubscribe([String])
    case wait(ConfirmationWait)
    case stopWaiting(ConfirmationWaiters.ID)
}

/// Receives what is published on sharded channels (SSUBSCRIBE), from one server or from all servers of a cluster.
///
/// The set of channels is a wish: ``subscribe(_:)`` and ``unsubscribe(_:)`` change it at once and never fail, and the subscriber keeps working
/// towards it over lost connections, restarts and moved slots. Pub/sub is at most once: what is published while a connection is away, or was cut by
/// the server because it could not keep up, is not received. The delegate learns when that may have happened.
///
/// A channel costs under 60 bytes beyond its name.
public final class RedisSubscriber: Service, Sendable {
    private let eventLoop: any EventLoop
    private let availability: Availability
    private let requests = Mailbox<SubscriberRequest>()
    private let core: NIOLoopBoundBox<SubscriberCore>
    private let hasStarted = Atomic(false)
    private let hasEndpoints: Bool
    private let lastWait = Atomic<ConfirmationWaiters.ID>(0)

    /// Creates a subscriber; it connects when ``run()`` is called.
    ///
    /// - Parameters:
    ///   - configuration: Where the servers are.
    ///   - eventLoopGroup: NIOPosix's; the subscriber uses one of its loops.
    ///   - delegate: Kept for as long as the subscriber is.
    ///   - logger: Told of connections made and lost.
    public init(
        configuration: RedisConfiguration, eventLoopGroup: any EventLoopGroup, delegate: any RedisSubscriberDelegate, logger: Logger
    ) {
        let eventLoop = eventLoopGroup.next()
        let availability = RedisMetrics.availability(for: "subscriptions", logger: logger)
        self.availability = availability
        self.eventLoop = eventLoop
        hasEndpoints = !configuration.endpoints.isEmpty
        core = .makeBoxSendingValue(
            SubscriberCore(
                configuration: configuration, eventLoop: eventLoop, availability: availability, delegate: delegate, logger: logger),
            eventLoop: eventLoop)
    }

    /// Connects and stays connected until the task is cancelled or the service group shuts down.
    public func run() async throws {
        guard !hasStarted.exchange(true, ordering: .relaxed) else {
            throw RedisError(.alreadyRunning, "run() was called twice")
        }
        guard hasEndpoints else { throw RedisError(.invalidConfiguration, "no server is configured") }
        eventLoop.execute { [core] in core.value.start() }
        try? await gracefulShutdown()
        try await eventLoop.submit { [core] in core.value.close() }.get()
    }

    /// Whether all servers that are needed are connected and no loss is left to be made good.
    public var isAvailable: Bool { availability.isAvailable }

    /// Adds channels to those wanted. Those that are wanted already are not touched.
    public func subscribe(_ channels: [String]) { submit(.subscribe(channels)) }

    /// Removes channels from those wanted. Those that are not among them are ignored.
    public func unsubscribe(_ channels: [String]) { submit(.unsubscribe(channels)) }

    /// Waits until all of these channels are confirmed at the same moment.
    ///
    /// - Throws: ``RedisError/Code/notSubscribed`` if one is not, or no longer, wanted; ``RedisError/Code/deadlineExceeded``;
    ///   ``RedisError/Code/cancelled``; ``RedisError/Code/closed``. The wish stands in any case.
    public func confirmation(of channels: [String], deadline: ContinuousClock.Instant) async throws(RedisError) {
        let id = lastWait.wrappingAdd(1, ordering: .relaxed).newValue
        let wait = ConfirmationWait(id, channels: channels, deadline: deadline)
        try await wait.result(submit: { submit(.wait(wait)) }, withdraw: { submit(.stopWaiting(id)) }).get()
    }

    private func submit(_ request: SubscriberRequest) {
        guard requests.put(request) == .wake else { return }
        eventLoop.execute { [self] in core.value.perform(requests.take()) }
    }
}
