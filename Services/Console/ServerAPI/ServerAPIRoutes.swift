// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import StrataModel

/// The Server API of the gateways, for operators: with the console's token of the app, in the app's own name.
struct ServerAPIRoutes: ConsoleFeature {
    let client: InternalClient
    let tokens: ServerTokens
    let gatewayURL: String

    /// The headers of gateways' answers that are passed on.
    private static let returned = [
        "Content-Type", "ETag", "Link", "Layer-Count", "Location", "Retry-After", "Strata-Position",
        "Strata-User-Position",
    ]

    func add(to routes: ConsoleRoutes) {
        for path: RouterPath in ["/api/apps/:app/server", "/api/apps/:app/server/**"] {
            routes.get(path) { request, context in
                let (app, target) = (try context.app, try target(of: request))
                // A method override would make a change of it.
                return try await pass(request, "GET", target, of: app, body: nil)
            }
            for method in [HTTPRequest.Method.post, .put, .patch, .delete] {
                routes.change(method, path) { request, context in
                    let (app, target) = (try context.app, try target(of: request))
                    let name = request.headers[.methodOverride]?.uppercased() ?? method.rawValue
                    let body = try await request.collectedBody()
                    return AuditedChange(
                        action: "server_api", app: app, target: target.path.isEmpty ? "/" : target.path,
                        detail: ["method": name]
                    ) {
                        try await pass(request, method.rawValue, target, of: app, body: body)
                    }
                }
            }
        }
    }

    /// Returns the path below `/api/apps/:app/server`, as the browser sent it.
    private func target(of request: Request) throws(Failure) -> GatewayPath {
        // The id of an app, which stands before it, does not contain this text.
        guard let prefix = request.uri.path.firstRange(of: "/server") else { throw .notFound("path") }
        return try GatewayPath(path: request.uri.path[prefix.upperBound...], query: request.uri.query)
    }

    /// Sends a request to a gateway, and once more with a new token if the token was refused.
    private func pass(
        _ request: Request, _ method: String, _ target: GatewayPath, of app: AppID, body: ByteBuffer?
    ) async throws(Failure) -> Response {
        let token = try await tokens.token(for: app)
        let answer = try await send(request, method, target, of: app, body: body, token: token)
        guard answer.status == .unauthorized else { return response(answer) }
        await tokens.discard(token, of: app)
        let next = try await tokens.token(for: app)
        return response(try await send(request, method, target, of: app, body: body, token: next))
    }

    private func send(
        _ request: Request, _ method: String, _ target: GatewayPath, of app: AppID, body: ByteBuffer?, token: String
    ) async throws(Failure) -> HTTPClientResponse {
        var headers: HTTPHeaders = ["Authorization": "Bearer \(token)"]
        for name in InternalClient.passedOn where method != "GET" || name != "X-HTTP-Method-Override" {
            if let field = HTTPField.Name(name), let value = request.headers[field] {
                headers.add(name: name, value: value)
            }
        }
        return try await client.send(
            method, "\(gatewayURL)/apps/\(app)\(target)", headers: headers, body: body, timeout: .seconds(20))
    }

    private func response(_ answer: HTTPClientResponse) -> Response {
        var headers: HTTPFields = [:]
        for name in Self.returned {
            if let field = HTTPField.Name(name), let value = answer.headers.first(name: name) { headers[field] = value }
        }
        let length = answer.headers.first(name: "Content-Length").flatMap { Int($0) }
        let status = HTTPResponse.Status(code: Int(answer.status.code))
        guard length != 0, status != .noContent, status != .notModified else {
            return Response(status: status, headers: headers)
        }
        let body = ResponseBody(contentLength: length) { writer in
            for try await part in answer.body { try await writer.write(part) }
            try await writer.finish(nil)
        }
        return Response(status: status, headers: headers, body: body)
    }
}

extension HTTPField.Name {
    fileprivate static let methodOverride = Self("X-HTTP-Method-Override")!
}
