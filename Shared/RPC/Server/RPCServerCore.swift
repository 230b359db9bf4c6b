// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Logging
import NIOCore
import NetKit
import Synchronization

/// What all connections of a server share.
final class RPCServerCore: Sendable {
    typealias Handler = @Sendable (RPCContext, ByteBuffer) async throws -> ByteBuffer

    private struct Connections {
        var open: [ObjectIdentifier: RPCServerConnection] = [:]
        var isDraining = false
    }

    let configuration: RPCServerConfiguration
    let secret: RPCSecret
    let logger: Logger
    let metrics: RPCMetrics
    private let handler: Handler
    private let running = Atomic<Int>(0)
    /// Requests that are being worked on, and long answers on their way.
    let held: ByteBudget
    private let connections = Mutex(Connections())

    init(configuration: RPCServerConfiguration, logger: Logger, handler: @escaping Handler) {
        self.configuration = configuration
        self.secret = RPCSecret(configuration.clusterSecret)
        self.logger = logger
        self.handler = handler
        self.held = ByteBudget(limit: configuration.maxBytesInFlight)
        self.metrics = RPCMetrics(prefix: "strata_rpc_server", dimensions: [], methodName: configuration.methodName)
    }

    // MARK: Calls

    /// Takes one of the places for running handlers, and room for the request; ``handle(_:_:)`` gives the room back. False: there is none.
    func takePlace(for bytes: Int) -> Bool {
        guard running.wrappingAdd(1, ordering: .relaxed).oldValue < configuration.maxCallsInFlight, held.take(bytes) else {
            freePlace()
            return false
        }
        return true
    }

    /// Gives the place of one call back.
    func freePlace() {
        running.wrappingSubtract(1, ordering: .relaxed)
    }

    /// Reports the calls in flight to the metrics.
    func recordInFlight() {
        metrics.inFlight.record(running.load(ordering: .relaxed))
        metrics.bytes.record(held.inUse)
    }

    /// Runs the handler and turns whatever it does into an answer or an error that may travel.
    func handle(_ context: RPCContext, with payload: ByteBuffer) async -> Result<ByteBuffer, RPCError> {
        defer { held.give(payload.readableBytes) }
        let result: Result<ByteBuffer, RPCError>
        do {
            result = .success(try await handler(context, payload))
        } catch let error as RPCError {
            result = .failure(error)
        } catch is CancellationError {
            result = .failure(ContinuousClock.now >= context.deadline ? .deadlineExceeded : .cancelled)
        } catch {
            // The type alone: a description might hold what must not be in logs.
            log(for: context, "RPC handler failed", metadata: ["error.type": "\(type(of: error))"])
            result = .failure(.internal)
        }
        return bounded(result, for: context)
    }

    private func bounded(_ result: Result<ByteBuffer, RPCError>, for context: RPCContext) -> Result<ByteBuffer, RPCError> {
        switch result {
        case .success(let answer) where answer.readableBytes > configuration.maxAnswerBytes:
            log(for: context, "RPC answer is too large", metadata: ["rpc.bytes": "\(answer.readableBytes)"])
            return .failure(.answerTooLarge)
        case .failure(let error) where (error.payload?.readableBytes ?? 0) + 64 > configuration.maxFrameBytes:
            log(for: context, "RPC error payload is too large", metadata: ["rpc.bytes": "\(error.payload?.readableBytes ?? 0)"])
            return .failure(.internal)
        case .success, .failure:
            return result
        }
    }

    private func log(for context: RPCContext, _ message: Logger.Message, metadata: Logger.Metadata) {
        var metadata = metadata
        metadata["rpc.method"] = "\(configuration.methodName(context.method))"
        metadata["trace.id"] = "\(context.trace)"
        metadata["rpc.peer"] = "\(context.peer)"
        logger.error(message, metadata: metadata)
    }

    // MARK: Connections

    /// A connection was accepted. False: there are too many, or the server is going away; close it.
    func opened(_ connection: RPCServerConnection) -> Bool {
        let (accepted, count) = connections.withLock { connections in
            let accepted = !connections.isDraining && connections.open.count < configuration.maxConnections
            if accepted { connections.open[ObjectIdentifier(connection)] = connection }
            return (accepted, connections.open.count)
        }
        if !accepted { metrics.refusedConnections.increment() }
        metrics.connections.record(count)
        return accepted
    }

    func closed(_ connection: RPCServerConnection) {
        let count = connections.withLock { connections in
            connections.open[ObjectIdentifier(connection)] = nil
            return connections.open.count
        }
        metrics.connections.record(count)
    }

    /// Accepts no more connections, and returns those there are.
    func stopAccepting() -> [RPCServerConnection] {
        connections.withLock { connections in
            connections.isDraining = true
            return Array(connections.open.values)
        }
    }
}
