// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
public import Logging
public import NIOCore
import NetKit
public import ServiceLifecycle
import Synchronization

/// Calls the instances of one service, over connections it keeps to each of them.
///
/// Run it as a service; calls made before the first connection stands wait for it, at most for the connect time-out. After that a call fails
/// at once as ``RPCError/Code/unavailable`` when no instance is connected: nothing is queued for a better day.
///
/// Each call goes to the connected instance with the fewest calls in flight. A call whose connection was found closed before its request was
/// written goes to another one, whatever kind it is. A call lost after that fails as ``RPCError/Code/transportLost``, unless it is idempotent:
/// then it is tried once more, on another instance if there is one.
public final class RPCClient: Service {
    typealias Balancer = RPCBalancer<SocketAddress, RPCClientConnection>

    let configuration: RPCClientConfiguration
    let eventLoopGroup: any EventLoopGroup
    let logger: Logger
    let metrics: RPCMetrics
    let balancer: Mutex<Balancer>
    /// Replaces the system's resolver.
    let lookUp: (@Sendable (RPCEndpoint) async throws -> [SocketAddress])?
    /// Settled when waiting for a first connection is over.
    private let settled = Latch<Void>()
    private let isSettled = Atomic<Bool>(false)
    private let inFlight = Atomic<Int>(0)
    /// Bytes of long answers that are arriving, on all connections.
    let arriving: ByteBudget
    private let availability: Availability

    /// A client. It connects when ``run()`` does.
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
        self.eventLoopGroup = eventLoopGroup
        self.logger = logger
        self.availability = Self.availability(of: configuration.name, logger: logger)
        self.metrics = RPCMetrics(prefix: "strata_rpc_client", dimensions: [("target", configuration.name)], methodName: configuration.methodName)
        self.balancer = Mutex(Balancer(connectionsPerAddress: configuration.connectionsPerAddress))
    }

    /// Whether at least one instance is connected.
    public var isAvailable: Bool { balancer.withLock { $0.readyCount > 0 } }

    /// One call.
    ///
    /// - Parameters:
    ///   - method: what is asked for.
    ///   - payload: the request; it must fit one frame.
    ///   - deadline: when to stop waiting. What remains of it travels with the request. No call lasts longer than an hour.
    ///   - trace: the request's name in the logs.
    ///   - isIdempotent: whether carrying it out twice does no harm.
    /// - Returns: the answer. A long one has travelled in several frames.
    /// - Throws: an ``RPCError``, with ``RPCError/isAfterLoss`` if an attempt before it was lost. When the task is cancelled, so is the handler, and this returns at once.
    public func call(
        _ method: RPCMethod, with payload: ByteBuffer, deadline: ContinuousClock.Instant, trace: TraceID, isIdempotent: Bool = false
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
        guard call.payload.readableBytes + RPCFrame.requestOverhead <= configuration.maxFrameBytes else { throw .tooLarge }
        guard call.deadline > started else { throw .deadlineExceeded }
        guard !Task.isCancelled else { throw .cancelled }
        let others = inFlight.wrappingAdd(1, ordering: .relaxed).oldValue
        defer { inFlight.wrappingSubtract(1, ordering: .relaxed) }
        guard others < configuration.maxCallsInFlight else { throw .overloaded }
        if !isSettled.load(ordering: .acquiring) { try await waitForFirstConnection(until: call.deadline) }
        return try await attempt(call, isIdempotent: isIdempotent)
    }

    /// Attempts until one counts.
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
                // The connection was closing. The balancer knows, or will in a moment; this goes on at most as long as there are others.
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

    /// The connection for the next attempt, counted as one call busier; never the one that has just failed, preferably another instance.
    private func pick(after last: RPCClientConnection?) -> RPCClientConnection? {
        balancer.withLock { balancer in
            let load = { (connection: RPCClientConnection) in connection.load.load(ordering: .relaxed) }
            let chosen =
                if let last {
                    balancer.pick(load: load, except: { $0.member.address == last.address || !$0.connection.isOpen })
                        ?? balancer.pick(load: load, except: { $0.connection === last || !$0.connection.isOpen })
                } else {
                    balancer.pick(load: load)
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

    /// Changes the balancer, and lets waiting calls go on if that ended the wait.
    func change<Result>(_ body: (inout sending Balancer) -> sending Result) -> sending Result {
        let (result, ready, done) = balancer.withLock { balancer in
            let result = body(&balancer)
            // Under the same lock, or two changes could be told in the wrong order.
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
        return Availability(gone: "a service is unavailable", back: "a service is available again", logger: logger) { gauge.record($0 ? 1 : 0) }
    }

    private func updateAvailability(_ balancer: borrowing Balancer) {
        if balancer.isClosed { return availability.close() }
        availability.update(balancer.readyCount > 0)
        // Before connecting was tried, a service without a connection is no news.
        if balancer.isSettled { availability.failed() }
    }

    /// Reports the calls in flight to the metrics.
    func recordInFlight() {
        metrics.inFlight.record(inFlight.load(ordering: .relaxed))
        metrics.arrivingBytes?.record(arriving.inUse)
        metrics.bytes.record(balancer.withLock { $0.connections.reduce(0) { $0 + $1.queuedBytes } })
    }
}
