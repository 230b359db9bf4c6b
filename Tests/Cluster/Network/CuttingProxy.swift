// SPDX-License-Identifier: Apache-2.0

import NIOCore
package import NIOPosix
import Synchronization

/// A TCP proxy between one client and gateways. It can cut connections, reject new ones, drop the server's data before
/// a cut, and delay data.
package final class CuttingProxy: Sendable {
    private struct State {
        var connections: [ObjectIdentifier: [any Channel]] = [:]
        var losesAnswers = false
        var isDown = false
        var delay: ClosedRange<Int>?
        var nextTarget = 0
        var limits = Limits()
    }

    /// The number of bytes after which a connection is cut; nil: unlimited.
    package struct Limits: Sendable {
        var fromClient: Int?
        var fromServer: Int?

        package init(fromClient: Int? = nil, fromServer: Int? = nil) {
            (self.fromClient, self.fromServer) = (fromClient, fromServer)
        }
    }

    private let state = Mutex(State())
    private let listener: any Channel
    private let targets: [Int]

    package var port: Int { listener.localAddress?.port ?? 0 }

    private init(listener: any Channel, targets: [Int]) { (self.listener, self.targets) = (listener, targets) }

    /// Starts a proxy that forwards to the given loopback ports in rotation. A port without a listener is skipped.
    package static func start(
        to targets: [Int], on group: MultiThreadedEventLoopGroup = .singleton
    ) async throws -> CuttingProxy {
        let box = Mutex<CuttingProxy?>(nil)
        let listener = try await ServerBootstrap(group: group).serverChannelOption(.backlog, value: 64)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { client in
                guard let proxy = box.withLock({ $0 }), let order = proxy.targetsInTurn() else {
                    return client.eventLoop.makeFailedFuture(ChannelError.alreadyClosed)
                }
                return connect(to: order[...], on: client.eventLoop)
                    .flatMap { server in
                        client.eventLoop
                            .makeCompletedFuture {
                                guard proxy.add(client, server) else {
                                    server.close(promise: nil)
                                    throw ChannelError.alreadyClosed
                                }
                                try client.pipeline.syncOperations.addHandler(
                                    Glue(to: server, isFromServer: false, proxy: proxy))
                                try server.pipeline.syncOperations.addHandler(
                                    Glue(to: client, isFromServer: true, proxy: proxy))
                            }
                            .flatMap {
                                server.setOption(.autoRead, value: true).and(client.setOption(.autoRead, value: true))
                                    .map { _ in }
                            }
                    }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let proxy = CuttingProxy(listener: listener, targets: targets)
        box.withLock { $0 = proxy }
        return proxy
    }

    private static func connect(to targets: ArraySlice<Int>, on loop: any EventLoop) -> EventLoopFuture<any Channel> {
        guard let target = targets.first else { return loop.makeFailedFuture(ChannelError.connectTimeout(.zero)) }
        return ClientBootstrap(group: loop).channelOption(.autoRead, value: false)
            .connect(host: "127.0.0.1", port: target)
            .flatMapError { _ in connect(to: targets.dropFirst(), on: loop) }
    }

    package func cut() {
        let channels = state.withLock { state in
            defer { state.connections = [:] }
            state.losesAnswers = false
            return state.connections.values.joined()
        }
        for channel in channels { channel.close(promise: nil) }
    }

    /// Drops the server's data until the connections are cut. The client's data still arrives.
    package func loseAnswers() { state.withLock { $0.losesAnswers = true } }

    /// Cuts each connection once it has carried the given number of bytes, including those before this call.
    package func limit(_ limits: Limits) { state.withLock { $0.limits = limits } }

    fileprivate func limit(isFromServer: Bool) -> Int? {
        state.withLock { isFromServer ? $0.limits.fromServer : $0.limits.fromClient }
    }

    /// Cuts every connection and closes new ones at once, until ``comeBack()``.
    package func goDown() {
        state.withLock { $0.isDown = true }
        cut()
    }

    /// Accepts connections again after ``goDown()``.
    package func comeBack() { state.withLock { $0.isDown = false } }

    /// Sets the additional delay in milliseconds, random for each piece of data. nil: no delay.
    package func setDelay(_ milliseconds: ClosedRange<Int>?) { state.withLock { $0.delay = milliseconds } }

    package func close() async {
        goDown()
        try? await listener.close()
    }

    fileprivate var losesAnswers: Bool { state.withLock { $0.losesAnswers } }
    fileprivate var delay: TimeAmount { state.withLock { .milliseconds(Int64($0.delay?.randomElement() ?? 0)) } }

    /// Returns the ports in the order in which to try them; nil while the proxy is down.
    private func targetsInTurn() -> [Int]? {
        state.withLock { state in
            guard !state.isDown, !targets.isEmpty else { return nil }
            state.nextTarget = (state.nextTarget + 1) % targets.count
            return Array(targets[state.nextTarget...] + targets[..<state.nextTarget])
        }
    }

    private func add(_ client: any Channel, _ server: any Channel) -> Bool {
        let id = ObjectIdentifier(client)
        let isTaken = state.withLock { state in
            guard !state.isDown else { return false }
            state.connections[id] = [client, server]
            return true
        }
        client.closeFuture.whenComplete { [weak self] _ in self?.state.withLock { $0.connections[id] = nil } }
        return isTaken
    }
}

/// A handler that forwards data from one side to the other, in order.
private final class Glue: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel
    private let isFromServer: Bool
    private let proxy: CuttingProxy
    /// The number of pieces in transit, and the arrival time of the last one.
    private var underWay = 0
    private var last = NIODeadline.uptimeNanoseconds(0)
    /// The number of bytes received so far.
    private var count = 0

    init(to other: any Channel, isFromServer: Bool, proxy: CuttingProxy) {
        (self.other, self.isFromServer, self.proxy) = (other, isFromServer, proxy)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isFromServer, proxy.losesAnswers { return }
        let other = other
        var bytes = unwrapInboundIn(data)
        let room = (proxy.limit(isFromServer: isFromServer) ?? .max) - count
        count += bytes.readableBytes
        guard bytes.readableBytes > room else {
            return arrive(context) { [bytes] in other.writeAndFlush(bytes, promise: nil) }
        }
        let first = bytes.readSlice(length: max(room, 0)) ?? ByteBuffer()
        arrive(context) { other.writeAndFlush(first, promise: nil) }
        arrive(context) { other.close(promise: nil) }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        let other = other
        arrive(context) { other.close(promise: nil) }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Runs `body` after all earlier pieces have arrived.
    private func arrive(_ context: ChannelHandlerContext, _ body: @escaping () -> Void) {
        let delay = proxy.delay
        if underWay == 0, delay == .zero { return body() }
        last = max(.now() + delay, last + .nanoseconds(1))
        underWay += 1
        context.eventLoop.assumeIsolated()
            .scheduleTask(deadline: last) {
                self.underWay -= 1
                body()
            }
    }
}
