// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import NetKit
import ServiceLifecycle
import Synchronization

extension RPCClient {
    /// Keeps the connections until the task is cancelled or shuts down gracefully; then lets calls in flight finish for a while.
    /// - Throws: only if the TLS configuration is unusable.
    public func run() async throws {
        let tls = try configuration.tls.map { try NIOSSLContext(configuration: $0) }
        let threads = NIOThreadPool(numberOfThreads: 1)
        threads.start()
        // Not waited for: the system's resolver may take its time to give up.
        defer { threads.shutdownGracefully { _ in } }
        let resolver = RPCResolver(threads: threads)
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                await self.follow(resolver, in: &group) { member in await self.keepConnected(member, tls: tls) }
                for connection in self.change({ $0.close() }) { connection.drain(within: self.configuration.drainTimeout) }
            }
        }
        logger.debug("RPC client stopped")
    }

    /// Looks the target up again and again, and starts and retires what has changed.
    private func follow(
        _ resolver: RPCResolver, in group: inout DiscardingTaskGroup, keep: @escaping @Sendable (Balancer.Member) async -> Void
    ) async {
        var known: [RPCEndpoint: [SocketAddress]] = [:]
        var failing: Set<RPCEndpoint> = []
        while !Task.isCancelled {
            if await refresh(resolver, known: &known, failing: &failing) {
                let addresses = configuration.target.endpoints.flatMap { known[$0] ?? [] }
                let update = change { $0.resolved(addresses) }
                for member in update.started {
                    logger.debug("RPC address appeared", metadata: ["rpc.address": "\(member.address)"])
                    group.addTask { await keep(member) }
                }
                for connection in update.retired {
                    logger.debug("RPC address vanished", metadata: ["rpc.address": "\(connection.address)"])
                    connection.drain(within: configuration.drainTimeout)
                }
            } else {
                change { $0.resolutionFailed() }
            }
            recordInFlight()
            try? await Task.sleep(for: configuration.resolveInterval)
        }
    }

    /// Returns whether anything is known. An endpoint that cannot be looked up keeps the addresses it had.
    private func refresh(
        _ resolver: RPCResolver, known: inout [RPCEndpoint: [SocketAddress]], failing: inout Set<RPCEndpoint>
    ) async -> Bool {
        for endpoint in configuration.target.endpoints {
            do {
                known[endpoint] = if let lookUp { try await lookUp(endpoint) } else { try await resolver.addresses(of: endpoint) }
                failing.remove(endpoint)
            } catch {
                guard !Task.isCancelled else { break }
                // Once, and not every few seconds.
                guard failing.insert(endpoint).inserted else { continue }
                logger.warning("RPC target cannot be resolved", metadata: ["error.message": "\(error)"])
            }
        }
        return !known.isEmpty
    }

    /// Connects a member again and again, as long as it is wanted.
    private func keepConnected(_ member: Balancer.Member, tls: NIOSSLContext?) async {
        var backoff = configuration.backoff
        var wasConnected = false
        while !Task.isCancelled, balancer.withLock({ $0.isWanted(member) }) {
            let began = ContinuousClock.now
            do {
                let connection = try await connect(to: member, tls: tls)
                if wasConnected { metrics.reconnects?.increment() }
                wasConnected = true
                await use(connection, of: member)
            } catch {
                let error = error as? RPCError ?? .unavailable
                change { $0.connectFailed(member, error: error) }
                if error.code == .unauthenticated { metrics.refusedConnections.increment() }
                logger.debug("RPC connect failed", metadata: ["rpc.address": "\(member.address)", "error.message": "\(error)"])
            }
            // A connection that stood for a while proves that the address is good; one that is closed at once does not.
            if .now - began > .seconds(5) { backoff.reset() }
            try? await Task.sleep(for: backoff.next())
        }
    }

    /// Returns when the connection is closed.
    private func use(_ connection: RPCClientConnection, of member: Balancer.Member) async {
        let limit = configuration.drainTimeout
        await withTaskCancellationHandler {
            let isWanted = change { $0.connected(member, with: connection) }
            if !isWanted { connection.drain(within: limit) }
            // Its server may have said goodbye before it was counted as connected.
            if !connection.isOpen { change { $0.disconnected(member) } }
            await connection.closed()
            change { $0.disconnected(member) }
        } onCancel: {
            connection.drain(within: limit)
        }
    }

    private func connect(to member: Balancer.Member, tls: NIOSSLContext?) async throws -> RPCClientConnection {
        let mailbox = Mailbox<RPCClientConnection.Item>(limit: .init(items: .max, bytes: configuration.maxQueuedBytes))
        var logger = logger
        logger[metadataKey: "rpc.address"] = "\(member.address)"
        let connection = try await ClientBootstrap(group: eventLoopGroup)
            .connectTimeout(TimeAmount(configuration.connectTimeout))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connect(to: member.address) { [self, logger] channel in
                channel.eventLoop.makeCompletedFuture {
                    try makeConnection(to: member, on: channel, mailbox: mailbox, tls: tls, logger: logger)
                }
            }
        do {
            try await connection.opened()
            return connection
        } catch {
            await connection.closed()
            throw error
        }
    }

    private func makeConnection(
        to member: Balancer.Member, on channel: any Channel, mailbox: Mailbox<RPCClientConnection.Item>, tls: NIOSSLContext?,
        logger: Logger
    ) throws -> RPCClientConnection {
        let pipeline = channel.pipeline.syncOperations
        if let tls { try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: configuration.tlsHostname)) }
        let handler = RPCClientHandler(
            configuration: configuration, arriving: arriving, mailbox: mailbox, eventLoop: channel.eventLoop, logger: logger
        ) { [weak self] in
            self?.change { $0.disconnected(member) }
        }
        do {
            try pipeline.addHandler(handler)
        } catch {
            handler.opened.fail(error)
            throw error
        }
        return RPCClientConnection(
            address: member.address, channel: channel, mailbox: mailbox, handler: NIOLoopBound(handler, eventLoop: channel.eventLoop))
    }
}

extension RPCClientConfiguration {
    /// The name that TLS checks and announces. An address cannot be announced, and is checked as it is.
    var tlsHostname: String? {
        if let tlsServerName { return tlsServerName }
        guard case .dns(let host, _) = target, (try? SocketAddress(ipAddress: host, port: 0)) == nil else { return nil }
        return host
    }
}
