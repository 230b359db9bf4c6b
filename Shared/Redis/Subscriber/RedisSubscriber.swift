// SPDX-License-Identifier: Apache-2.0
public import Logging
public import NIOCore
import NetKit
public import ServiceLifecycle
import Synchronization

/// The requests of tasks to the event loop.
enum SubscriberRequest: Sendable {
    case subscribe([String])
    case unsubscribe([String])
    case wait(ConfirmationWait)
    case stopWaiting(ConfirmationWaiters.ID)
}

/// A subscriber to sharded channels (SSUBSCRIBE) on one server or on all servers of a cluster.
///
/// The set of channels is a desired state. ``subscribe(_:)`` and ``unsubscribe(_:)`` change it immediately and never
/// fail. The subscriber maintains it across lost connections, restarts and moved slots.
///
/// Pub/sub delivers at most once. Messages are lost while a connection is interrupted, or closed by the server because
/// the client was too slow. The delegate is notified when this may have happened.
///
/// A channel needs less than 60 bytes of memory besides its name.
public final class RedisSubscriber: Service, Sendable {
    private let eventLoop: any EventLoop
    private let availability: Availability
    private let requests = Mailbox<SubscriberRequest>()
    private let core: NIOLoopBoundBox<SubscriberCore>
    private let hasStarted = Atomic(false)
    private let hasEndpoints: Bool
    private let lastWait = Atomic<ConfirmationWaiters.ID>(0)

    /// Creates a subscriber, which connects in ``run()``.
    ///
    /// - Parameters:
    ///   - configuration: the servers and limits.
    ///   - eventLoopGroup: a group of NIOPosix. The subscriber uses one of its loops.
    ///   - delegate: retained by the subscriber.
    ///   - logger: receives messages about established and lost connections.
    public init(
        configuration: RedisConfiguration, eventLoopGroup: any EventLoopGroup, delegate: any RedisSubscriberDelegate,
        logger: Logger
    ) {
        let eventLoop = eventLoopGroup.next()
        let availability = RedisMetrics.availability(for: "subscriptions", logger: logger)
        self.availability = availability
        self.eventLoop = eventLoop
        hasEndpoints = !configuration.endpoints.isEmpty
        core = .makeBoxSendingValue(
            SubscriberCore(
                configuration: configuration, eventLoop: eventLoop, availability: availability, delegate: delegate,
                logger: logger),
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

    /// True if all required servers are connected and all lost subscriptions are restored.
    public var isAvailable: Bool { availability.isAvailable }

    /// Adds channels to the desired ones. Channels already among them are not affected.
    public func subscribe(_ channels: [String]) { submit(.subscribe(channels)) }

    /// Removes channels from the desired ones. Other channels are ignored.
    public func unsubscribe(_ channels: [String]) { submit(.unsubscribe(channels)) }

    /// Waits until all of these channels are confirmed at the same time.
    ///
    /// - Throws: ``RedisError/Code/notSubscribed`` if a channel is not, or no longer, desired;
    ///   ``RedisError/Code/deadlineExceeded``; ``RedisError/Code/cancelled``; ``RedisError/Code/closed``. An error does
    ///   not change the desired channels.
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

/// The delegate of a ``RedisSubscriber``.
///
/// All methods are called on the subscriber's event loop, in the order of events. They must not block, because this
/// delays all other work of that loop.
public protocol RedisSubscriberDelegate: Sendable {
    /// Receives a message of a channel. Messages of one channel arrive in the server's order. A message can arrive
    /// shortly after `unsubscribe`, and can arrive twice while a cluster moves a channel to another server.
    func subscriber(didReceive message: ByteBuffer, on channel: ByteBuffer)

    /// Called when the server confirms a subscription, initially or after a loss. Messages published from now on are
    /// received.
    func subscriber(didConfirm channel: String)

    /// Called when a connection is lost or cannot be established, or a cluster has moved channels. From now on,
    /// messages may be missed. Not called again before ``subscriberDidRecover()``.
    func subscriberDidLoseConnection()

    /// Called when all subscriptions from the time of the loss are confirmed again.
    func subscriberDidRecover()
}
