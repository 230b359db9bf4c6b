// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOPosix

/// A queue of requests over a number of connections that stay open. It is confined to its event loop.
///
/// A request waits for a free connection. Its latency counts from the time at which it was due, so waiting is part of
/// it.
final class RESTLane: @unchecked Sendable {
    typealias Completion = (LoadResponse) -> Void

    private let server: LoadAddress
    private let eventLoop: any EventLoop
    private let limit: Int
    /// The longest time for which a connection stays unused. A server may close an older one while a request is on its
    /// way, and the request would be lost.
    private static let longestPause = TimeAmount.seconds(5)

    private var waiting = CircularBuffer<(request: ByteBuffer, completion: Completion)>()
    private var free: [RESTConnection] = []
    /// The number of connections, including those that are being opened.
    private var connections = 0
    private var isClosed = false

    /// - Parameter connections: The maximum number of connections, which is the number of requests in flight.
    init(_ server: LoadAddress, connections: Int, on eventLoop: any EventLoop) {
        self.server = server
        self.eventLoop = eventLoop
        limit = connections
    }

    /// Sends a request as soon as a connection is free.
    /// - Parameter completion: Receives the response, on the event loop.
    func send(_ request: ByteBuffer, _ completion: @escaping Completion) {
        while let connection = free.popLast() {
            if NIODeadline.now() - connection.lastUse < Self.longestPause {
                return connection.send(request, completion)
            }
            connection.close()
        }
        waiting.append((request, completion))
        if connections < limit, !isClosed { connect() }
    }

    /// Closes all connections.
    func close() {
        isClosed = true
        for connection in free { connection.close() }
        free = []
    }

    private func connect() {
        connections += 1
        let connection = RESTConnection(
            onFree: { [weak self] in self?.use($0) }, onEnd: { [weak self] in self?.remove($0) })
        let server = server
        ClientBootstrap(group: eventLoop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try server.addTLS(to: channel.pipeline.syncOperations)
                    try channel.pipeline.syncOperations.addHandler(connection)
                }
            }
            .connect(host: server.host, port: server.port)
            .assumeIsolated()
            .whenFailure { _ in self.failed() }
    }

    private func use(_ connection: RESTConnection) {
        if let (request, completion) = waiting.popFirst() {
            connection.send(request, completion)
        } else if isClosed {
            connection.close()
        } else {
            free.append(connection)
        }
    }

    private func remove(_ connection: RESTConnection) {
        connections -= 1
        free.removeAll { $0 === connection }
        if !waiting.isEmpty, !isClosed { connect() }
    }

    /// Fails one waiting request, so that an unreachable server does not stop the load.
    private func failed() {
        connections -= 1
        waiting.popFirst()?.completion(LoadResponse(status: 0))
        if !waiting.isEmpty, connections == 0 { connect() }
    }
}

/// A connection with at most one request in flight. It is confined to its event loop.
private final class RESTConnection: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let onFree: (RESTConnection) -> Void
    private let onEnd: (RESTConnection) -> Void
    private var context: ChannelHandlerContext?
    private var reader = HTTPResponseReader()
    private var completion: RESTLane.Completion?
    /// The time of the last response, or of the opening.
    private(set) var lastUse = NIODeadline.now()

    init(onFree: @escaping (RESTConnection) -> Void, onEnd: @escaping (RESTConnection) -> Void) {
        self.onFree = onFree
        self.onEnd = onEnd
    }

    func send(_ request: ByteBuffer, _ completion: @escaping RESTLane.Completion) {
        guard let context else { return completion(LoadResponse(status: 0)) }
        self.completion = completion
        context.writeAndFlush(wrapOutboundOut(request), promise: nil)
    }

    func close() { context?.close(promise: nil) }

    func channelActive(context: ChannelHandlerContext) {
        self.context = context
        onFree(self)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reader.append(unwrapInboundIn(data))
        do {
            while let response = try reader.next() {
                let completion = completion
                self.completion = nil
                lastUse = .now()
                completion?(response)
                onFree(self)
            }
        } catch {
            context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.context = nil
        let completion = completion
        self.completion = nil
        onEnd(self)
        completion?(LoadResponse(status: 0))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// The bytes of requests over REST.
enum RESTRequest {
    /// Returns a request.
    /// - Parameters:
    ///   - token: The session's token.
    ///   - body: The body as JSON; nil: none.
    static func bytes(
        _ method: String, _ path: String, token: String, body: String? = nil, to server: LoadAddress
    ) -> ByteBuffer {
        var text = "\(method) \(path) HTTP/1.1\r\nHost: \(server.name)\r\n"
        text += "Accept: application/vnd.layer+json; version=3.0\r\n"
        text += "Authorization: Layer session-token=\"\(token)\"\r\n"
        if let body {
            let type = method == "PATCH" ? "application/vnd.layer-patch+json" : "application/json"
            text += "Content-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n"
        }
        return ByteBuffer(string: "\(text)\r\n\(body ?? "")")
    }
}
