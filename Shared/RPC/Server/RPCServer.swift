// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
public import Logging
public import NIOCore
import NIOPosix
import NIOSSL
import NetKit
public import ServiceLifecycle

/// A server for the calls of other services.
///
/// Only peers with the cluster secret can send requests. Each call runs in its own task, which is cancelled when the
/// caller cancels the call, its deadline passes, or the connection is lost. On graceful shutdown, the server stops
/// listening, asks all clients to send no more requests, finishes the received ones, and closes. No call is lost.
public final class RPCServer: Service {
    private let configuration: RPCServerConfiguration
    private let eventLoopGroup: any EventLoopGroup
    private let logger: Logger
    private let core: RPCServerCore
    private let port = Latch<Int>()

    /// Creates a server, which listens in ``run()``.
    /// - Parameters:
    ///   - isShort: returns true for a method whose handler computes for less than about a millisecond if the request
    ///     is short. It then runs on the connection's event loop.
    ///   - handler: handles a call. An ``RPCError`` that it throws is sent to the caller. Any other error is logged by
    ///     its type, and sent as ``RPCError/Code/internal``.
    public init(
        configuration: RPCServerConfiguration, eventLoopGroup: any EventLoopGroup, logger: Logger,
        isShort: @escaping @Sendable (RPCMethod) -> Bool = { _ in false },
        handler: @escaping @Sendable (RPCContext, ByteBuffer) async throws -> ByteBuffer
    ) {
        self.configuration = configuration
        self.eventLoopGroup = eventLoopGroup
        self.logger = logger
        self.core = RPCServerCore(configuration: configuration, logger: logger, isShort: isShort, handler: handler)
    }

    /// The listening port. Waits until ``run()`` listens, and throws its error if it cannot.
    public var boundPort: Int {
        get async throws { try await port.value() }
    }

    /// Serves calls until the task is cancelled, which closes all connections immediately, or shuts down gracefully,
    /// which finishes calls in flight.
    public func run() async throws {
        let listener: any Channel
        do {
            listener = try await listen()
        } catch {
            port.settle(.failure(error))
            throw error
        }
        let bound = listener.localAddress?.port ?? configuration.port
        logger.info("RPC server listening", metadata: ["rpc.host": "\(configuration.host)", "rpc.port": "\(bound)"])
        port.settle(.success(bound))
        let wasGraceful = (try? await gracefulShutdown()) != nil
        try? await listener.close()
        await close(core.stopAccepting(), gracefully: wasGraceful)
        await core.waitForHandlers()
        logger.info("RPC server stopped")
    }

    private func close(_ connections: [RPCServerConnection], gracefully: Bool) async {
        await withTaskCancellationHandler {
            for connection in connections {
                _ = connection.put(gracefully ? .drain(within: configuration.drainTimeout) : .close)
            }
            for connection in connections { await connection.closed() }
        } onCancel: {
            for connection in connections { _ = connection.put(.close) }
        }
    }

    private func listen() async throws -> any Channel {
        let tls = try configuration.tls.map { try NIOSSLContext(configuration: $0) }
        let core = core
        return try await ServerBootstrap(group: eventLoopGroup)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { [logger] channel in
                let failures = Counter(label: "strata_process_accept_failures_total", dimensions: [("listener", "rpc")])
                return channel.eventLoop.makeCompletedFuture {
                    try AcceptGuard.add("rpc", to: channel, logger: logger) { failures.increment() }
                }
            }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 256 << 10, high: 1 << 20))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                    try pipeline.addHandler(
                        RPCServerHandler(core: core, connection: RPCServerConnection(channel: channel)))
                }
            }
            .bind(host: configuration.host, port: configuration.port).get()
    }
}
