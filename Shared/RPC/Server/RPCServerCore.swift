// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Logging
import NIOCore
import NetKit
import Synchronization

/// The state shared by all connections of a server.
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
    private let isShort: @Sendable (RPCMethod) -> Bool
    private let running = Atomic<Int>(0)
    /// The byte budget for requests with running handlers and for unsent long responses.
    let held: ByteBudget
    private let connections = Mutex(Connections())

    init(
        configuration: RPCServerConfiguration, logger: Logger,
        isShort: @escaping @Sendable (RPCMethod) -> Bool = { _ in false }, handler: @escaping Handler
    ) {
        self.configuration = configuration
        self.secret = RPCSecret(configuration.clusterSecret)
        self.logger = logger
        self.handler = handler
        self.isShort = isShort
        self.held = ByteBudget(limit: configuration.maxBytesInFlight)
        self.metrics = RPCMetrics(prefix: "strata_rpc_server", dimensions: [], methodName: configuration.methodName)
    }

    // MARK: Calls

    /// Reserves a slot for a running handler, and bytes for the request, which ``handle(_:with:)`` releases. Returns
    /// false if the limits are reached.
    func reserveSlot(for bytes: Int) -> Bool {
        guard running.wrappingAdd(1, ordering: .relaxed).oldValue < configuration.maxCallsInFlight, held.reserve(bytes)
        else {
            releaseSlot()
            return false
        }
        return true
    }

    /// Releases the slot of a call.
    func releaseSlot() {
        running.wrappingSubtract(1, ordering: .relaxed)
    }

    /// Waits until no handler runs, for at most a second or until the task is cancelled. Handlers use event loops,
    /// which end after the server.
    func waitForHandlers() async {
        let end = ContinuousClock.now + .seconds(1)
        while running.load(ordering: .relaxed) > 0, ContinuousClock.now < end,
            (try? await Task.sleep(for: .milliseconds(10))) != nil
        {}
    }

    func recordInFlight() {
        metrics.inFlight.record(running.load(ordering: .relaxed))
        metrics.bytes.record(held.inUse)
    }

    /// Returns the executor of a call's handler: the connection's event loop for a short call, which saves two
    /// hand-overs between threads; nil, the concurrency pool, for another one, because the loop's calls would wait.
    func executor(
        for method: RPCMethod, requestBytes: Int, on connection: RPCServerConnection
    ) -> (any TaskExecutor)? {
        isShort(method) && requestBytes <= EventLoopExecutor.requestBytes ? connection.executor : nil
    }

    /// Runs the handler and converts its result to a response or an error that can be sent.
    func handle(_ context: RPCContext, with payload: ByteBuffer) async -> Result<ByteBuffer, RPCError> {
        defer { held.release(payload.readableBytes) }
        let result: Result<ByteBuffer, RPCError>
        do {
            result = .success(try await handler(context, payload))
        } catch let error as RPCError {
            result = .failure(error)
        } catch is CancellationError {
            result = .failure(ContinuousClock.now >= context.deadline ? .deadlineExceeded : .cancelled)
        } catch {
            // Log only the type, because a description may contain confidential data.
            log(for: context, "RPC handler failed", metadata: ["error.type": "\(type(of: error))"])
            result = .failure(.internal)
        }
        return bounded(result, for: context)
    }

    private func bounded(
        _ result: Result<ByteBuffer, RPCError>, for context: RPCContext
    ) -> Result<ByteBuffer, RPCError> {
        switch result {
        case .success(let answer) where answer.readableBytes > configuration.maxAnswerBytes:
            log(for: context, "RPC answer is too large", metadata: ["rpc.bytes": "\(answer.readableBytes)"])
            return .failure(.answerTooLarge)
        case .failure(let error) where (error.payload?.readableBytes ?? 0) + 64 > configuration.maxFrameBytes:
            log(
                for: context, "RPC error payload is too large",
                metadata: ["rpc.bytes": "\(error.payload?.readableBytes ?? 0)"])
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

    /// Registers an accepted connection. Returns false if it must be closed, because there are too many or the server
    /// is shutting down.
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

    /// Stops accepting connections and returns the open ones.
    func stopAccepting() -> [RPCServerConnection] {
        connections.withLock { connections in
            connections.isDraining = true
            return Array(connections.open.values)
        }
    }
}

/// A connection as seen by the server's tasks: a mailbox for the handler on the event loop.
final class RPCServerConnection: Sendable {
    enum Item: Sendable {
        case finished(id: UInt64, method: RPCMethod, started: ContinuousClock.Instant, Result<ByteBuffer, RPCError>)
        case drain(within: Duration)
        case close
    }

    let channel: any Channel
    let executor: EventLoopExecutor
    let mailbox = Mailbox<Item>()
    /// The handler, set while it is in the pipeline. The handler and this object only refer to each other during that
    /// time.
    let handler: NIOLoopBoundBox<RPCServerHandler?>

    /// Creates a connection. Must be called on the channel's event loop.
    init(channel: any Channel) {
        self.channel = channel
        self.executor = EventLoopExecutor(channel.eventLoop)
        self.handler = NIOLoopBoundBox(nil, eventLoop: channel.eventLoop)
    }

    /// Puts an item into the mailbox. Returns false if the connection is closed.
    func put(_ item: Item) -> Bool {
        switch mailbox.putFollowUp(item) {
        case .refused, .full: return false
        case .queued: return true
        case .wake:
            channel.eventLoop.execute { [handler] in handler.value?.mailFilled() }
            return true
        }
    }

    func closed() async {
        // The close future never fails.
        try? await channel.closeFuture.get()
    }
}
