// SPDX-License-Identifier: Apache-2.0
import FanOut
import NIOCore
import NIOHTTP1
import NIOWebSocket
import RPC
import StrataModel
import StrataWire
import Synchronization

/// Decides which `Upgrade: websocket` requests become sockets (docs/conformance.md §12.1). The REST router answers
/// refused requests with the reason.
final class SocketUpgrade: Sendable {
    private struct Accepted {
        let session: Session
        let version: WireVersion
    }

    private let services: GatewayServices
    private let loops: [DatabaseName: [ObjectIdentifier: SocketLoop]]
    private let limits: ConnectionLimits
    /// The accepted requests between the decision and the upgrade, which are separate steps in NIO.
    private let accepted = ChannelValues<Accepted>()

    /// - Parameter loops: for each database, a socket loop for each event loop.
    init(services: GatewayServices, loops: [DatabaseName: [SocketLoop]], limits: ConnectionLimits) {
        self.services = services
        self.limits = limits
        self.loops = loops.mapValues { loops in
            Dictionary(uniqueKeysWithValues: loops.map { (ObjectIdentifier($0.loop), $0) })
        }
    }

    /// Returns the headers of the handshake response, or nil to refuse the upgrade.
    func headers(for head: HTTPRequestHead, on channel: any Channel) -> EventLoopFuture<HTTPHeaders?> {
        let request = SocketHandshake(head)
        guard request.isSocketPath, request.isUpgradable, let version = request.version, let token = request.token
        else {
            return channel.eventLoop.makeSucceededFuture(nil)
        }
        // A refused request continues to the REST router, which applies the limit again.
        guard services.limiter.admit(address: channel.remoteAddress, forwarded: head.headers["X-Forwarded-For"]) == nil
        else {
            return channel.eventLoop.makeSucceededFuture(nil)
        }
        guard admitsSocket(head, on: channel) else { return channel.eventLoop.makeSucceededFuture(nil) }
        let promise = channel.eventLoop.makePromise(of: Session?.self)
        promise.completeWithTask { try? await self.services.sessions.session(for: token, trace: .random()) }
        return promise.futureResult.map { session in
            guard let session, self.accepted.keep(Accepted(session: session, version: version), for: channel) else {
                return nil
            }
            return ["Sec-WebSocket-Protocol": version.subprotocol]
        }
    }

    /// Counts a socket for the client address named by a proxy. Without proxies, the connection was already counted
    /// when it was accepted.
    private func admitsSocket(_ head: HTTPRequestHead, on channel: any Channel) -> Bool {
        guard services.limiter.limits.trustedProxies > 0 else { return true }
        let clients = services.clients
        let address = services.limiter.client(channel.remoteAddress, forwarded: head.headers["X-Forwarded-For"])
        guard clients.socketOpened(address) == nil else { return false }
        channel.closeFuture.whenComplete { _ in clients.socketClosed(address) }
        return true
    }

    /// Adds the socket to the channel, and replaces NIO's frame decoder by one that counts its memory. Call it on the
    /// channel's loop.
    func start(head: HTTPRequestHead, on channel: any Channel) -> EventLoopFuture<Void> {
        let sync = channel.pipeline.syncOperations
        let address = services.limiter.client(channel.remoteAddress, forwarded: head.headers["X-Forwarded-For"])
        do {
            return
                sync.removeHandler(
                    context: try sync.context(handlerType: ByteToMessageHandler<WebSocketFrameDecoder>.self)
                )
                .flatMapThrowing { try self.addHandlers(to: channel, of: address) }
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
    }

    private func addHandlers(to channel: any Channel, of address: RateKey) throws {
        guard let accepted = accepted.take(for: channel),
            let home = loops[accepted.session.database]?[ObjectIdentifier(channel.eventLoop)]
        else {
            throw Failure(.internalServerError, "The connection cannot be upgraded.")
        }
        let socket = Socket(session: accepted.session, version: accepted.version, home: home, address: address)
        try Self.add(socket, to: channel, limits: limits)
    }

    /// Adds the socket to the pipeline, behind the handlers that assemble messages from bytes.
    static func add(_ socket: Socket, to channel: any Channel, limits: ConnectionLimits) throws {
        let message = IncompleteMessage(socket.input, time: limits.arrival)
        let sync = channel.pipeline.syncOperations
        try sync.addHandler(
            ByteToMessageHandler(CountedFrameDecoder(maxFrameSize: limits.frameBytes, message: message)))
        try sync.addHandler(FrameRules())
        try sync.addHandler(MessageAssembler(maxBytes: limits.frameBytes, message: message))
        try sync.addHandler(socket)
    }
}

/// The relevant parts of a request that opens a socket.
struct SocketHandshake: Sendable {
    let isSocketPath: Bool
    /// True if the request is valid HTTP/1.1, the only version that can be upgraded. ``HTTPExchange`` refuses invalid
    /// requests.
    let isUpgradable: Bool
    /// The first supported subprotocol in the client's list.
    let version: WireVersion?
    let token: SessionToken?

    init(_ head: HTTPRequestHead) {
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts.first ?? "/"
        isSocketPath = head.method == .GET && (path == "/" || path == "" || path == "/websocket")
        isUpgradable = head.version.isModern && head.headers["Host"].count == 1
        version =
            head.headers[canonicalForm: "Sec-WebSocket-Protocol"].lazy.compactMap { WireVersion(subprotocol: $0) }.first
        let query = parts.count > 1 ? parts[1] : ""
        let parameter = query.split(separator: "&").first { $0.hasPrefix("session_token=") }?
            .dropFirst("session_token=".count)
        if let parameter {
            token = SessionToken(parameter)
        } else {
            token = head.headers.first(name: "Authorization").flatMap { SessionToken(authorization: $0) }
        }
    }
}

/// A store with one value per channel. A value is removed when it is taken or when its channel closes.
final class ChannelValues<Value: Sendable>: Sendable {
    private let values = Mutex<[ObjectIdentifier: Value]>([:])

    /// Stores a value. Call it on the channel's loop.
    /// - Returns: false if the channel has closed, because the value would never be removed.
    func keep(_ value: Value, for channel: any Channel) -> Bool {
        guard channel.isActive else { return false }
        let key = ObjectIdentifier(channel)
        values.withLock { $0[key] = value }
        channel.closeFuture.whenComplete { _ in self.values.withLock { _ = $0.removeValue(forKey: key) } }
        return true
    }

    func take(for channel: any Channel) -> Value? {
        values.withLock { $0.removeValue(forKey: ObjectIdentifier(channel)) }
    }

    var count: Int { values.withLock { $0.count } }
}
