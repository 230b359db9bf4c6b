// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
public import Logging
public import NIOCore
import NIOPosix
import NetKit
public import ServiceLifecycle
import Synchronization

/// A client that calls the instances of one service, over permanent connections to each of them from each event loop.
///
/// Run it as a service. Calls made before the first connection wait for it, at most for the connect time-out.
/// Afterwards, a call fails immediately as ``RPCError/Code/unavailable`` if no instance is connected. Calls are never
/// queued until an instance becomes available.
///
/// Each call goes to the connected instance with the fewest calls in flight. A caller on an event loop uses the
/// connections of that loop, so that no other thread is involved.
///
/// If a connection turns out to be closed before the request was written, the call goes to another one, whether
/// idempotent or not. A call lost later fails as ``RPCError/Code/transportLost``. An idempotent one is first retried
/// once, preferably on another instance.
public final class RPCClient: Service {
    typealias Balancer = RPCBalancer<SocketAddress, RPCClientConnection>

    let configuration: RPCClientConfiguration
    /// The event loops. Each has a connection to each address.
    let loops: [any EventLoop]
    let logger: Logger
    let metrics: RPCMetrics
    let balancer: Mutex<Balancer>
    /// A replacement for the system's resolver; nil: none.
    let lookUp: (@Sendable (RPCEndpoint) async throws -> [SocketAddress])?
    /// A latch that opens when calls need not wait for a first connection.
    private let settled = Latch<Void>()
    private let isSettled = Atomic<Bool>(false)
    private let inFlight = Atomic<Int>(0)
    /// The byte budget for incomplete long responses on all connections.
    let arriving: ByteBudget
    private let availability: Availability

    /// Creates a client, which connects in ``run()``.
    public convenience init(configuration: RPCClientConfiguration, eventLoopGroup: any EventLoopGroup, logger: Logger) {
        self.init(configuration: configuration, eventLoopGroup: eventLoopGroup, logger: logger, lookUp: nil)
    }

    init(
        configuration: RPCClientConfiguration, eventLoopGroup: any EventLoopGroup, logger: Logger,
        lookUp: (@Sendable (RPCEndpoint) async throws -> [SocketAddress])?
    ) {
        self.lookUp = lookUp
        var logger = logger
        logger[metadataKey: "rpc.target"] = "\(configuration.target)"
        self.configuration = configuration
        self.arriving = ByteBudget(limit: configuration.maxArrivingBytes)
        self.loops = Array(eventLoopGroup.makeIterator())
        self.logger = logger
        self.availability = Self.availability(of: configuration.name, logger: logger)
        self.metrics = RPCMetrics(
            prefix: "strata_rpc_client", dimensions: [("target", configuration.name)],
            methodName: configuration.methodName)
        self.balancer = Mutex(Balancer(connectionsPerAddress: loops.count))
    }

    /// True if at least one instance is connected.
    public var isAvailable: Bool { balancer.withLock { $0.readyCount > 0 } }

    /// Makes a call.
    ///
    /// - Parameters:
    ///   - payload: the request, which must fit into one frame.
    ///   - deadline: the end of the caller's wait, limited to one hour. The remaining time is sent with the request.
    ///   - trace: the id of the request in logs.
    ///   - isIdempotent: true if carrying out the call twice is harmless.
    /// - Returns: the response, which may have been sent in several frames.
    /// - Throws: an ``RPCError``, with ``RPCError/isAfterLoss`` if a previous attempt was lost. If the task is
    ///   cancelled, the method returns immediately, and the handler is cancelled, too.
    public func call(
        _ method: RPCMethod, with payload: ByteBuffer, deadline: ContinuousClock.Instant, trace: TraceID,
        isIdempotent: Bool = false
    ) async throws(RPCError) -> ByteBuffer {
        let started = ContinuousClock.now
        let call = RPCOutgoingCall(method: method, payload: payload, deadline: deadline, trace: trace)
        do throws(RPCError) {
            let answer = try await bounded(call, started: started, isIdempotent: isIdempotent)
            metrics.ended(method, code: nil, after: .now - started)
            return answer
        } catch {
            metrics.ended(method, code: error.code, after: .now - started)
            throw error
        }
    }

    private func bounded(
        _ call: RPCOutgoingCall, started: ContinuousClock.Instant, isIdempotent: Bool
    ) async throws(RPCError) -> ByteBuffer {
        guard call.payload.readableBytes + RPCFrame.requestOverhead <= configuration.maxFrameBytes else {
            throw .tooLarge
        }
        guard call.deadline > started else { throw .deadlineExceeded }
        guard !Task.isCancelled else { throw .cancelled }
        let others = inFlight.wrappingAdd(1, ordering: .relaxed).oldValue
        defer { inFlight.wrappingSubtract(1, ordering: .relaxed) }
        guard others < configuration.maxCallsInFlight else { throw .overloaded }
        if !isSettled.load(ordering: .acquiring) { try await waitForFirstConnection(until: call.deadline) }
        return try await attempt(call, isIdempotent: isIdempotent)
    }

    /// Makes attempts until one has a definite outcome.
    private func attempt(_ call: RPCOutgoingCall, isIdempotent: Bool) async throws(RPCError) -> ByteBuffer {
        var mayRepeat = isIdempotent
        var failure: RPCError?
        var last: RPCClientConnection?
        while let connection = pick(after: last) {
            let attempt = await connection.perform(call)
            connection.load.wrappingSubtract(1, ordering: .relaxed)
            last = connection
            switch attempt {
            case .answered(let answer):
                return answer
            case .notSent:
                // The connection was closing, which the balancer knows or will soon know. The loop ends when no other
                // connection is left.
                continue
            case .failed(var error):
                error.isAfterLoss = failure != nil
                guard mayRepeat, error.code == .transportLost || error.code == .unavailable else { throw error }
                mayRepeat = false
                failure = error
            }
        }
        if let failure { throw failure }
        throw balancer.withLock { $0.lastFailure } ?? .unavailable
    }

    /// Returns the connection for the next attempt and increments its load. It prefers the caller's event loop. After a
    /// failure, it never returns the connection that has just failed, and prefers another instance.
    private func pick(after last: RPCClientConnection?) -> RPCClientConnection? {
        let here = MultiThreadedEventLoopGroup.currentEventLoop
        let place = here.flatMap { here in loops.firstIndex { $0 === here } }
        return balancer.withLock { balancer in
            let load = { (connection: RPCClientConnection) in connection.load.load(ordering: .relaxed) }
            let chosen =
                if let last {
                    balancer.pick(load: load, except: { $0.member.address == last.address || !$0.connection.isOpen })
                        ?? balancer.pick(load: load, except: { $0.connection === last || !$0.connection.isOpen })
                } else {
                    balancer.pick(at: place, load: load) ?? balancer.pick(load: load)
                }
            chosen?.connection.load.wrappingAdd(1, ordering: .relaxed)
            return chosen?.connection
        }
    }

    private func waitForFirstConnection(until deadline: ContinuousClock.Instant) async throws(RPCError) {
        let limit = min(deadline, .now + configuration.connectTimeout)
        let settled = settled
        let error = await withTaskGroup(of: RPCError?.self) { group in
            group.addTask { (try? await settled.value()) == nil ? .cancelled : nil }
            group.addTask {
                try? await Task.sleep(until: limit, clock: .continuous)
                return Task.isCancelled ? .cancelled : .unavailable
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        if let error { throw error }
    }

    /// Changes the balancer and releases waiting calls if the change ended the wait for a first connection.
    func change<Result>(_ body: (inout sending Balancer) -> sending Result) -> sending Result {
        let (result, ready, done) = balancer.withLock { balancer in
            let result = body(&balancer)
            // Report within the lock, so that two changes are reported in the right order.
            updateAvailability(balancer)
            return (result, balancer.readyCount, balancer.isSettled)
        }
        metrics.connections.record(ready)
        if done, !isSettled.exchange(true, ordering: .acquiringAndReleasing) { settled.settle(.success(())) }
        return result
    }

    private static func availability(of service: String, logger: Logger) -> Availability {
        var logger = logger
        logger[metadataKey: "rpc.service"] = "\(service)"
        let gauge = Gauge(label: "strata_process_dependency_up", dimensions: [("dependency", service)])
        return Availability(
            failureMessage: "service is unavailable", recoveryMessage: "service is available again", logger: logger
        ) { gauge.record($0 ? 1 : 0) }
    }

    private func updateAvailability(_ balancer: borrowing Balancer) {
        if balancer.isClosed { return availability.close() }
        availability.update(balancer.readyCount > 0)
        // Before the first attempts to connect, a service without a connection is not a failure.
        if balancer.isSettled { availability.failed() }
    }

    func recordInFlight() {
        metrics.inFlight.record(inFlight.load(ordering: .relaxed))
        metrics.arrivingBytes?.record(arriving.inUse)
        metrics.bytes.record(balancer.withLock { $0.connections.reduce(0) { $0 + $1.queuedBytes } })
    }
}
