// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import Model
import NIOCore
import ProtocolDocs
import Wire

/// The description of the protocol, where error objects point to: readable for anybody, without a version or a session.
extension RESTRouter {
    func registerDocs(on router: RESTRoutes) {
        // A path and the same with a slash at its end are one route; links on the page need the slash.
        doc(router, "/docs") { request in
            request.uri.path.hasSuffix("/") ? Self.answer(ProtocolDocs.index, request) : redirection(to: "/docs/")
        }
        doc(router, "/docs/errors") { Self.answer(ProtocolDocs.errors, $0) }
        doc(router, "/docs/openapi.yaml") { Self.answer(ProtocolDocs.openAPI, $0) }
        doc(router, "/docs/asyncapi.yaml") { Self.answer(ProtocolDocs.asyncAPI, $0) }
    }

    private func doc(_ router: RESTRoutes, _ path: RouterPath, _ answer: @escaping @Sendable (Request) -> Response) {
        for method in [HTTPRequest.Method.get, .head] {
            router.on(path, method: method, access: .open) { request, _ in answer(request) }
        }
    }

    /// Relative to the public base, since a proxy may have taken a prefix off the path.
    private func redirection(to path: String) -> Response {
        Response(status: .permanentRedirect, headers: [.location: services.renderer.baseURL + path, .contentLength: "0"])
    }

    private static func answer(_ file: ProtocolDocs.File, _ request: Request) -> Response {
        var headers: HTTPFields = [
            .eTag: file.entityTag, .cacheControl: "no-cache", .contentSecurityPolicy: policy, .xContentTypeOptions: "nosniff",
        ]
        if isKnown(file.entityTag, request.headers[.ifNoneMatch]) { return Response(status: .notModified, headers: headers) }
        headers[.contentType] = file.contentType
        headers[.contentLength] = String(file.count)
        guard request.method == .get else { return Response(status: .ok, headers: headers) }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: file.withBytes { ByteBuffer(bytes: $0) }))
    }

    /// The pages bring their style with them and need nothing else, least of all scripts.
    private static let policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    /// Whether `If-None-Match` names the tag; a proxy that compresses makes it a weak one.
    private static func isKnown(_ tag: String, _ header: String?) -> Bool {
        guard let header else { return false }
        return header.split(separator: ",")
            .contains { element in
                let known = element.filter { $0 != " " }
                return known == "*" || known == tag || known == "W/" + tag
            }
    }
}
