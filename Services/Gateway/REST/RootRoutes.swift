// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import Model
import ServiceKit
import Wire

/// Discovery, the session check, and the connectivity probe (spec 3.1, 3.2).
extension RESTRouter {
    func registerRoot(on router: RESTRoutes) {
        for path in ["/", "/websocket"] as [RouterPath] {
            on(router, .get, path, .open) { request, context throws(Failure) in try await root(request, context) }
        }
        on(router, .head, "/", .open) { _, _ throws(Failure) in RESTAnswer(status: .ok, headers: [.link: services.renderer.linkHeader]) }
        on(router, .head, "/ping", .open) { _, _ throws(Failure) in RESTAnswer(status: .ok) }
        on(router, .get, "/ping", .open) { _, _ throws(Failure) in RESTAnswer(status: .ok) }
    }

    /// A socket's handshake that was refused comes here, too, to be told why.
    private func root(_ request: Request, _ context: RESTContext) async throws(Failure) -> RESTAnswer {
        if request.headers[.upgrade]?.lowercased() == "websocket" { throw try await refusal(request, context) }
        if request.headers[.authorization] != nil { _ = try await session(of: request, context) }
        return .json(headers: [.link: services.renderer.linkHeader]) {
            $0.beginObject()
            $0.endObject()
        }
    }

    private func refusal(_ request: Request, _ context: RESTContext) async throws(Failure) -> Failure {
        let address = services.limiter.client(context.channel.remoteAddress, request.headers[values: .forwardedFor])
        if services.limiter.limits.trustedProxies > 0, services.clients.isFull(address) { return .unavailable }
        let protocols = request.headers[values: .secWebSocketProtocol].flatMap { $0.split(separator: ",") }
        guard protocols.contains(where: { WireVersion(subprotocol: $0.filter { $0 != " " }) != nil }) else {
            return Failure(
                .invalidHeader, "The subprotocol must be layer-3.0 or layer-2.0.", detail: .header("Sec-WebSocket-Protocol"))
        }
        if let text = request.uri.queryParameters.get("session_token") {
            guard let token = SessionToken(text) else { return Failure(.authenticationRequired, "Please sign in.") }
            _ = try await services.sessions.session(for: token, trace: context.trace)
        } else {
            _ = try await session(of: request, context)
        }
        guard request.headers[.secWebSocketKey] != nil, request.headers[.secWebSocketVersion] == "13" else {
            return Failure(.invalidRequest, "The WebSocket handshake is incomplete: it needs Sec-WebSocket-Key, and Sec-WebSocket-Version: 13.")
        }
        // All is well now; a moment ago the session could not be looked up. (Or it was not the connection's first request, and NIO takes no other.)
        return .unavailable
    }
}
