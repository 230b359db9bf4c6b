// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Logging
package import NIOCore
package import NIOPosix
import NIOSSL
import NetKit
import ServiceLifecycle
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension RPCClient {
    /// Maintains the connections until the task is cancelled or shuts down gracefully. Then calls in flight may finish
    /// within the drain time-out.
    /// - Throws: an error only if the TLS configuration is invalid.
    public func run() async throws {
        let tls = try configuration.tls.map { try NIOSSLContext(configuration: $0) }
        let threads = NIOThreadPool(numberOfThreads: 1)
        threads.start()
        // Do not wait for the threads, because the system's resolver can take long to give up.
        defer { threads.shutdownGracefully { _ in } }
        let resolver = RPCResolver(threads: threads)
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                await self.follow(resolver, in: &group) { member in await self.keepConnected(member, tls: tls) }
                for connection in self.change({ $0.close() }) {
                    connection.drain(within: self.configuration.drainTimeout)
                }
            }
        }
        logger.debug("RPC client stopped")
    }

    /// Looks up the target periodically, and starts and retires members accordingly.
    private func follow(
        _ resolver: RPCResolver, in group: inout DiscardingTaskGroup,
        keep: @escaping @Sendable (Balancer.Member) async -> Void
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

    /// Looks up all endpoints. Returns true if any address is known. An endpoint whose lookup fails keeps its
    /// addresses.
    private func refresh(
        _ resolver: RPCResolver, known: inout [RPCEndpoint: [SocketAddress]], failing: inout Set<RPCEndpoint>
    ) async -> Bool {
        for endpoint in configuration.target.endpoints {
            do {
                known[endpoint] =
                    if let lookUp { try await lookUp(endpoint) } else { try await resolver.addresses(of: endpoint) }
                failing.remove(endpoint)
            } catch {
                guard !Task.isCancelled else { break }
                // Log a failing endpoint once, not at each attempt.
                guard failing.insert(endpoint).inserted else { continue }
                logger.warning("RPC target cannot be resolved", metadata: ["error.message": "\(error)"])
            }
        }
        return !known.isEmpty
    }

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
                logger.debug(
                    "RPC connect failed", metadata: ["rpc.address": "\(member.address)", "error.message": "\(error)"])
            }
            // A connection that lasted for some time shows that the address works. Reset the back-off only then.
            if .now - began > .seconds(5) { backoff.reset() }
            try? await Task.sleep(for: backoff.next())
        }
    }

    private func use(_ connection: RPCClientConnection, of member: Balancer.Member) async {
        let limit = configuration.drainTimeout
        await withTaskCancellationHandler {
            let isWanted = change { $0.connected(member, with: connection) }
            if !isWanted { connection.drain(within: limit) }
            // The server may have started draining before the connection was recorded.
            if !connection.isOpen { change { $0.disconnected(member) } }
            await connection.closed()
            change { $0.disconnected(member) }
        } onCancel: {
            connection.drain(within: limit)
        }
    }

    private func connect(to member: Balancer.Member, tls: NIOSSLContext?) async throws -> RPCClientConnection {
        let mailbox = Mailbox<RPCClientConnection.Item>(
            limit: .init(items: .max, bytes: configuration.maxQueuedBytes / loops.count))
        var logger = logger
        logger[metadataKey: "rpc.address"] = "\(member.address)"
        let connection = try await ClientBootstrap(group: loops[member.place])
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
        to member: Balancer.Member, on channel: any Channel, mailbox: Mailbox<RPCClientConnection.Item>,
        tls: NIOSSLContext?,
        logger: Logger
    ) throws -> RPCClientConnection {
        let pipeline = channel.pipeline.syncOperations
        if let tls {
            try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: configuration.tlsHostname))
        }
        let handler = RPCClientHandler(
            configuration: configuration, arriving: arriving, mailbox: mailbox, eventLoop: channel.eventLoop,
            logger: logger
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
            address: member.address, channel: channel, mailbox: mailbox,
            handler: NIOLoopBound(handler, eventLoop: channel.eventLoop))
    }
}

extension RPCClientConfiguration {
    /// The server name for TLS verification and SNI. Nil for an IP address, which cannot be sent in SNI and is verified
    /// as such.
    var tlsHostname: String? {
        if let tlsServerName { return tlsServerName }
        guard case .dns(let host, _) = target, (try? SocketAddress(ipAddress: host, port: 0)) == nil else { return nil }
        return host
    }
}

/// A resolver that returns all addresses of a name. The system's resolver blocks, so it runs on a dedicated thread.
package struct RPCResolver: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        let host: String
        let code: Int32
        package var description: String { "cannot resolve \(host): \(String(cString: gai_strerror(code)))" }
    }

    private let threads: NIOThreadPool

    package init(threads: NIOThreadPool) {
        self.threads = threads
    }

    /// Returns all addresses in the resolver's order. Returns immediately when the task is cancelled, even while the
    /// system's resolver is blocked.
    package func addresses(of endpoint: RPCEndpoint) async throws -> [SocketAddress] {
        if let literal = try? SocketAddress(ipAddress: endpoint.host, port: endpoint.port) { return [literal] }
        let found = Latch<[SocketAddress]>()
        threads.submit { state in
            guard state == .active else { return found.settle(.failure(CancellationError())) }
            found.settle(Result { try RPCResolver.lookUp(endpoint) })
        }
        return try await found.value()
    }

    private static func lookUp(_ endpoint: RPCEndpoint) throws -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        #if canImport(Glibc)
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        hints.ai_socktype = SOCK_STREAM
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(endpoint.host, String(endpoint.port), &hints, &list)
        guard code == 0 else { throw Failure(host: endpoint.host, code: code) }
        defer { freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var next = list
        while let entry = next {
            if let address = socketAddress(entry.pointee), !found.contains(address) { found.append(address) }
            next = entry.pointee.ai_next
        }
        return found
    }

    private static func socketAddress(_ entry: addrinfo) -> SocketAddress? {
        guard let raw = entry.ai_addr else { return nil }
        switch entry.ai_family {
        case AF_INET: return SocketAddress(UnsafeRawPointer(raw).loadUnaligned(as: sockaddr_in.self))
        case AF_INET6: return SocketAddress(UnsafeRawPointer(raw).loadUnaligned(as: sockaddr_in6.self))
        default: return nil
        }
    }
}
