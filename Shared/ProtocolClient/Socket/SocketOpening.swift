// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

/// The opening of a socket: the connection, the upgrade request and its outcome.
struct SocketOpening {
    let head: HTTPRequestHead
    let options: ProtocolSocket.Options
    let tls: TLSConfiguration?
    let host: String

    enum Outcome: Sendable {
        case opened(ProtocolSocket, subprotocol: String?)
        case refused(RESTResponse)
    }

    private enum Negotiated: Sendable {
        case opened(ProtocolSocket, subprotocol: String?)
        case refused(EventLoopFuture<RESTResponse>)
    }

    func open(on group: any EventLoopGroup, port: Int, deadline: ContinuousClock.Instant) async throws -> Outcome {
        guard deadline > .now else {
            throw ProtocolClientError(.deadlineExceeded, "the socket was given no time to open")
        }
        let channel: any Channel
        let negotiated: EventLoopFuture<Negotiated>
        do {
            var bootstrap = ClientBootstrap(group: group).connectTimeout(TimeAmount(deadline - .now))
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            // Set the buffer before connecting, because the window is negotiated then.
            if let bytes = options.receiveBuffer {
                bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: bytes)
            }
            (channel, negotiated) =
                try await bootstrap
                .connect(host: host, port: port) { channel in
                    channel.eventLoop.makeCompletedFuture { (channel, try configure(channel)) }
                }
        } catch let error as ChannelError {
            if case .connectTimeout = error {
                throw ProtocolClientError(.deadlineExceeded, "the server could not be reached in time")
            }
            throw ProtocolClientError(.transport, "the server could not be reached: \(error)")
        } catch {
            throw ProtocolClientError(.transport, "the server could not be reached: \(error)")
        }
        return try await result(of: negotiated, on: channel, deadline: deadline)
    }

    private func result(
        of negotiated: EventLoopFuture<Negotiated>, on channel: any Channel, deadline: ContinuousClock.Instant
    ) async throws -> Outcome {
        let outcome = negotiated.flatMap { negotiated in
            switch negotiated {
            case .opened(let socket, let subprotocol):
                channel.eventLoop.makeSucceededFuture(Outcome.opened(socket, subprotocol: subprotocol))
            case .refused(let answer): answer.map { Outcome.refused($0) }
            }
        }
        // Closing the channel fails all pending futures.
        let timeout = channel.eventLoop.scheduleTask(in: TimeAmount(max(deadline - .now, .zero))) {
            channel.close(promise: nil)
        }
        defer { timeout.cancel() }
        return try await withTaskCancellationHandler {
            do {
                let outcome = try await outcome.get()
                if case .refused = outcome { try? await channel.close() }
                return outcome
            } catch {
                try? await channel.close()
                if Task.isCancelled { throw CancellationError() }
                if deadline <= .now {
                    throw ProtocolClientError(.deadlineExceeded, "the server did not open the socket in time")
                }
                throw ProtocolClientError(.transport, "the socket could not be opened: \(error)")
            }
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    private func configure(_ channel: any Channel) throws -> EventLoopFuture<Negotiated> {
        if let tls {
            let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
            let context = try NIOSSLContext(configuration: tls)
            try channel.pipeline.syncOperations.addHandler(
                NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host))
        }
        let upgrader = NIOTypedWebSocketClientUpgrader<Negotiated>(maxFrameSize: options.frameLimit) {
            [options] channel, response in
            channel.eventLoop.makeCompletedFuture {
                let socket = ProtocolSocket(channel: channel, options: options)
                try channel.pipeline.syncOperations.addHandler(SocketHandler(socket: socket))
                return Negotiated.opened(socket, subprotocol: response.headers.first(name: "Sec-WebSocket-Protocol"))
            }
        }
        let configuration = NIOTypedHTTPClientUpgradeConfiguration(upgradeRequestHead: head, upgraders: [upgrader]) {
            channel in
            channel.eventLoop.makeCompletedFuture {
                let answer = channel.eventLoop.makePromise(of: RESTResponse.self)
                try channel.pipeline.syncOperations.addHandler(RefusalHandler(answer: answer))
                return Negotiated.refused(answer.futureResult)
            }
        }
        return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
            configuration: .init(upgradeConfiguration: configuration))
    }
}

/// A channel handler that reads the response of a server that does not upgrade.
private final class RefusalHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let answer: EventLoopPromise<RESTResponse>
    private var head: HTTPResponseHead?
    private var body = ByteBuffer()
    private var isDone = false

    init(answer: EventLoopPromise<RESTResponse>) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body(let part): if body.readableBytes < 1 << 20 { body.writeImmutableBuffer(part) }
        case .end: finish()
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func finish() {
        guard !isDone else { return }
        isDone = true
        guard let head else { return answer.fail(ChannelError.eof) }
        let lines = head.headers.map { RESTResponse.Header(name: $0.name, value: $0.value) }
        answer.succeed(RESTResponse(status: Int(head.status.code), headers: lines, body: Data(body.readableBytesView)))
    }
}

extension ProtocolClient {
    /// Opens a socket.
    /// - Parameter sessionToken: sent in the query, as by stock clients; nil: not sent.
    /// - Throws: ``ProtocolClientError``:
    ///   - `refused`: the server did not upgrade the connection. The error contains its response.
    ///   - `transport`: no connection could be established.
    ///   - `malformed`: the server chose another subprotocol.
    ///   - `deadlineExceeded`, `invalidURL`.
    public func openSocket(
        sessionToken: String?, options: ProtocolSocket.Options = .init(), deadline: ContinuousClock.Instant? = nil
    ) async throws -> ProtocolSocket {
        let address = try SocketAddressParts(webSocketURL)
        let query = sessionToken.map { "?session_token=\($0)" } ?? ""
        var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: address.path + (options.target ?? "/\(query)"))
        head.headers.add(name: "Host", value: address.authority)
        let subprotocol = options.subprotocol ?? version.subprotocol
        if !subprotocol.isEmpty { head.headers.add(name: "Sec-WebSocket-Protocol", value: subprotocol) }
        for (name, value) in options.headers {
            head.headers.remove(name: name)
            if !value.isEmpty { head.headers.add(name: name, value: value) }
        }
        let limit = deadline ?? .now + Self.defaultTimeout
        let opening = SocketOpening(
            head: head, options: options, tls: address.isSecure ? try trust.tlsConfiguration() : nil, host: address.host
        )
        let outcome = try await opening.open(on: eventLoopGroup, port: address.port, deadline: limit)
        switch outcome {
        case .refused(let answer):
            throw ProtocolClientError(.refused, "the server did not open a socket", answer: answer)
        case .opened(let socket, let chosen):
            guard chosen == (subprotocol.isEmpty ? nil : subprotocol) else {
                await socket.abort()
                throw ProtocolClientError(
                    .malformed, "the server chose the subprotocol \(chosen ?? "none") instead of \(subprotocol)")
            }
            return socket
        }
    }
}

/// The components of a `ws` or `wss` URL.
struct SocketAddressParts: Equatable {
    let isSecure: Bool
    let host: String
    let port: Int
    /// The path, without a trailing slash.
    let path: String

    init(_ url: String) throws {
        guard let parts = URLComponents(string: url), let host = parts.host,
            parts.scheme == "ws" || parts.scheme == "wss"
        else {
            throw ProtocolClientError(.invalidURL, "the WebSocket URL must begin with ws:// or wss://")
        }
        isSecure = parts.scheme == "wss"
        self.host = host.trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        port = parts.port ?? (isSecure ? 443 : 80)
        path = parts.path.hasSuffix("/") ? String(parts.path.dropLast()) : parts.path
    }

    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }
}
