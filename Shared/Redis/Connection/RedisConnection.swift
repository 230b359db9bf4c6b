// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOPosix
import NetKit

/// The role of a connection, which receives its replies. All methods are called on the connection's event loop.
protocol ConnectionRole: AnyObject {
    var isAwaitingReply: Bool { get }

    /// Takes a complete reply from the builder. An error closes the connection.
    func replyReceived(_ reply: inout ReplyBuilder) throws(RedisError)

    /// Called after all replies of one read were taken.
    func receivedAll()

    /// Writes a PING and expects its response.
    func encodePing(into buffer: inout ByteBuffer)
}

/// A connection over TCP or TLS, with handshake, parsing and keep-alive. It ends once and never reconnects.
final class RedisConnection<Role: ConnectionRole>: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case handshaking(Handshake, timeout: Scheduled<Void>)
        case ready
        case ended
    }

    let endpoint: RedisEndpoint
    private let role: Role
    private let configuration: RedisConfiguration
    private let parser: ReplyParser
    private let onReady: (RedisConnection) -> Void
    private let onEnd: (RedisError, _ wasReady: Bool) -> Void
    private var state = State.ended
    private var keepalive = KeepAlive(allowedMisses: 1)
    private var context: ChannelHandlerContext?
    private var tick: Scheduled<Void>?

    private init(
        to endpoint: RedisEndpoint, configuration: RedisConfiguration, role: Role,
        onReady: @escaping (RedisConnection) -> Void, onEnd: @escaping (RedisError, _ wasReady: Bool) -> Void
    ) throws {
        self.endpoint = endpoint
        self.role = role
        self.configuration = configuration
        self.onReady = onReady
        self.onEnd = onEnd
        parser = try ReplyParser(maximumReplyBytes: configuration.maximumReplyBytes)
    }

    /// Connects and performs the handshake. `onReady` is called at most once. `onEnd` is called exactly once, after a
    /// failed attempt or at the end of the connection. Must be called on the event loop, on which both are called, too.
    static func open(
        to endpoint: RedisEndpoint, configuration: RedisConfiguration, eventLoop: any EventLoop, role: Role,
        onReady: @escaping (RedisConnection) -> Void, onEnd: @escaping (RedisError, _ wasReady: Bool) -> Void
    ) {
        let deadline = NIODeadline.now() + configuration.connectTimeout.timeAmount
        ClientBootstrap(group: eventLoop)
            .connectTimeout(configuration.connectTimeout.timeAmount)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls = configuration.tls {
                        try channel.pipeline.syncOperations.addHandler(tls.handler(for: endpoint))
                    }
                }
            }
            .connect(host: endpoint.host, port: endpoint.port)
            .assumeIsolated()
            .whenComplete { result in
                do {
                    let channel = try result.get()
                    let connection = try RedisConnection(
                        to: endpoint, configuration: configuration, role: role, onReady: onReady, onEnd: onEnd)
                    connection.begin(on: channel, until: deadline)
                } catch {
                    onEnd(RedisError(.connectionUnavailable, "cannot connect to \(endpoint): \(error)"), false)
                }
            }
    }

    private func begin(on channel: any Channel, until deadline: NIODeadline) {
        let timeout = channel.eventLoop.after(.nanoseconds((deadline - .now()).nanoseconds)) { [weak self] in
            self?.end(RedisError(.connectionUnavailable, "no handshake in time"))
        }
        let handshake = Handshake(configuration)
        state = .handshaking(handshake, timeout: timeout)
        do {
            try channel.pipeline.syncOperations.addHandler(self)
        } catch {
            end(RedisError(.connectionUnavailable, "\(endpoint) closed the connection"))
            return
        }
        guard channel.isActive else {
            end(RedisError(.connectionUnavailable, "\(endpoint) closed the connection"))
            return
        }
        var buffer = channel.allocator.buffer(capacity: 256)
        for command in handshake.commands { CommandEncoder.encode(command, into: &buffer) }
        write(buffer)
        scheduleTick(on: channel.eventLoop)
    }

    /// Sends bytes. If they cannot be sent, the end of the connection fails their commands.
    func write(_ buffer: ByteBuffer) {
        context?.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
    }

    func close() { end(.closed) }

    private func end(_ error: RedisError) {
        let wasReady: Bool
        switch state {
        case .ended: return
        case .ready: wasReady = true
        case .handshaking(_, let timeout):
            timeout.cancel()
            wasReady = false
        }
        state = .ended
        tick?.cancel()
        tick = nil
        let context = self.context
        self.context = nil
        context?.close(promise: nil)
        onEnd(error, wasReady)
    }

    private func scheduleTick(on eventLoop: any EventLoop) {
        tick = eventLoop.after(max(configuration.livenessTimeout / 4, .milliseconds(5))) { [weak self] in
            self?.keepaliveTick(on: eventLoop)
        }
    }

    private func keepaliveTick(on eventLoop: any EventLoop) {
        guard case .ready = state else {
            if case .handshaking = state { scheduleTick(on: eventLoop) }
            return
        }
        switch keepalive.tick() {
        case .none: break
        case .ping:
            // A pending response makes a PING unnecessary.
            if role.isAwaitingReply { break }
            var buffer = ByteBuffer()
            role.encodePing(into: &buffer)
            write(buffer)
        case .giveUp:
            end(RedisError(.connectionUnavailable, "\(endpoint) is silent"))
            return
        }
        scheduleTick(on: eventLoop)
    }

    private func replyReceived(_ reply: inout ReplyBuilder) throws(RedisError) {
        switch state {
        case .ready: try role.replyReceived(&reply)
        case .handshaking(var handshake, let timeout):
            switch handshake.replyReceived(reply.takeValue()) {
            case .doNothing: state = .handshaking(handshake, timeout: timeout)
            case .becomeReady:
                timeout.cancel()
                state = .ready
                onReady(self)
            case .fail(let error): throw error
            }
        case .ended: reply.reset()
        }
    }

    // MARK: ChannelInboundHandler

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        keepalive.recordProgress()
        do {
            try parser.feed(unwrapInboundIn(data)) { (reply) throws(RedisError) in try replyReceived(&reply) }
        } catch {
            end(error)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if case .ready = state { role.receivedAll() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(RedisError(.connectionUnavailable, "\(endpoint) closed the connection"))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(RedisError(.connectionUnavailable, "the connection to \(endpoint) failed: \(error)"))
    }
}

/// The commands at the beginning of each connection. AUTH must succeed; a refused client name is harmless.
struct Handshake {
    enum Step: Equatable {
        case authenticate
        case setName
        case ping
    }

    enum Action {
        case doNothing
        case becomeReady
        case fail(RedisError)
    }

    private var awaited: [Step] = []
    let commands: [[RedisArgument]]

    /// Creates a handshake. Its PING checks that the server is ready: a server that is still loading its data answers
    /// with an error.
    init(_ configuration: RedisConfiguration) {
        var commands: [[RedisArgument]] = []
        if let password = configuration.password {
            commands.append(["AUTH"] + (configuration.username.map { [.string($0)] } ?? []) + [.string(password)])
            awaited.append(.authenticate)
        }
        if let name = configuration.clientName {
            commands.append(["CLIENT", "SETNAME", .string(name)])
            awaited.append(.setName)
        }
        commands.append(["PING"])
        awaited.append(.ping)
        self.commands = commands
    }

    mutating func replyReceived(_ reply: RedisValue) -> Action {
        guard let step = awaited.first else {
            return .fail(RedisError(.protocolViolation, "a reply without a command"))
        }
        awaited.removeFirst()
        if case .error(let error) = reply, step != .setName {
            let what = step == .authenticate ? "authentication was refused" : "the server does not serve"
            return .fail(RedisError(.connectionUnavailable, what, serverError: error))
        }
        return awaited.isEmpty ? .becomeReady : .doNothing
    }
}
