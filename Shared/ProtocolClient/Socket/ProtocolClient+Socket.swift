// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

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
