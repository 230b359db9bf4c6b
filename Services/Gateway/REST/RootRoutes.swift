// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import ServiceKit
import StrataModel
import StrataWire

/// Routes for discovery, the session check and the connectivity probe (docs/conformance.md §3.1, §3.2).
struct RootRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let root = routes.open("/")
        root.on(.get, use: discover)
        root.on(.get, "websocket", use: discover)
        root.on(.head) { _ throws(Failure) in RESTAnswer(status: .ok, headers: [.link: services.renderer.linkHeader]) }
        root.on(.head, "ping") { _ throws(Failure) in RESTAnswer(status: .ok) }
        root.on(.get, "ping") { _ throws(Failure) in RESTAnswer(status: .ok) }
    }

    /// Answers discovery. A refused WebSocket handshake is routed here, too, to be answered with the reason.
    private func discover(_ request: Request, in context: RESTContext) async throws(Failure) -> RESTAnswer {
        if request.headers[.upgrade]?.lowercased() == "websocket" { throw try await refusal(of: request, in: context) }
        if request.headers[.authorization] != nil {
            _ = try await services.sessions.session(of: request, trace: context.trace)
        }
        return .json(headers: [.link: services.renderer.linkHeader]) {
            $0.beginObject()
            $0.endObject()
        }
    }

    private func refusal(of request: Request, in context: RESTContext) async throws(Failure) -> Failure {
        let address = services.limiter.client(
            context.channel.remoteAddress, forwarded: request.headers[values: .forwardedFor])
        if services.limiter.limits.trustedProxies > 0, services.clients.isFull(address) { return .unavailable }
        let protocols = request.headers[values: .secWebSocketProtocol].flatMap { $0.split(separator: ",") }
        guard protocols.contains(where: { WireVersion(subprotocol: $0.filter { $0 != " " }) != nil }) else {
            return Failure(
                .invalidHeader, "The subprotocol must be layer-3.0 or layer-2.0.",
                detail: .header("Sec-WebSocket-Protocol"))
        }
        if let text = request.uri.queryParameters.get("session_token") {
            guard let token = SessionToken(text) else { return Failure(.authenticationRequired, "Please sign in.") }
            _ = try await services.sessions.session(for: token, trace: context.trace)
        } else {
            _ = try await services.sessions.session(of: request, trace: context.trace)
        }
        guard request.headers[.secWebSocketKey] != nil, request.headers[.secWebSocketVersion] == "13" else {
            return Failure(
                .invalidRequest,
                "The WebSocket handshake is incomplete: it needs Sec-WebSocket-Key, and Sec-WebSocket-Version: 13.")
        }
        // The handshake is valid now, so an earlier look-up of the session must have failed. Or this is not the
        // connection's first request; NIO upgrades no other.
        return .unavailable
    }
}
