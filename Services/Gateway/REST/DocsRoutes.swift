// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import ProtocolDocs
import StrataModel
import StrataWire

/// Routes for the protocol's documentation, to which error objects link. They require neither a version nor a session.
struct DocsRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let docs = routes.open("/docs")
        for method in [HTTPRequest.Method.get, .head] {
            docs.on(method, use: index)
            docs.on(method, "errors") { (asked: DocumentRequest, _) throws(Failure) in asked.answer(ProtocolDocs.errors)
            }
            docs.on(method, "openapi.yaml") { (asked: DocumentRequest, _) throws(Failure) in
                asked.answer(ProtocolDocs.openAPI)
            }
            docs.on(method, "asyncapi.yaml") { (asked: DocumentRequest, _) throws(Failure) in
                asked.answer(ProtocolDocs.asyncAPI)
            }
            docs.on(method, "server-openapi.yaml") { (asked: DocumentRequest, _) throws(Failure) in
                asked.answer(ProtocolDocs.serverOpenAPI)
            }
        }
    }

    /// Serves the index page. The router treats a path with and without a final slash as one route, but links on the
    /// page need the slash.
    private func index(_ asked: DocumentRequest, in context: RESTContext) async throws(Failure) -> RESTAnswer {
        guard !asked.hasSlash else { return asked.answer(ProtocolDocs.index) }
        // Redirect relative to the public base URL, because a proxy may have removed a prefix from the path.
        return RESTAnswer(
            status: .permanentRedirect, headers: [.location: services.renderer.baseURL + "/docs/", .contentLength: "0"])
    }
}

private struct DocumentRequest: RESTRequest {
    /// Returns the content security policy of a page. Pages contain their styles, one contains its search script, and
    /// they load nothing else.
    private static func policy(of file: ProtocolDocs.File) -> String {
        let scripts = file.scriptSource.map { "script-src \($0); " } ?? ""
        return
            "default-src 'none'; style-src 'unsafe-inline'; \(scripts)base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    }

    let hasSlash: Bool
    private let wantsBody: Bool
    /// The value of `If-None-Match`.
    private let known: String?

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) {
        hasSlash = request.uri.path.hasSuffix("/")
        wantsBody = request.method == .get
        known = request.headers[.ifNoneMatch]
    }

    func answer(_ file: ProtocolDocs.File) -> RESTAnswer {
        var headers: HTTPFields = [
            .eTag: file.entityTag, .cacheControl: "no-cache", .contentSecurityPolicy: Self.policy(of: file),
            .xContentTypeOptions: "nosniff",
        ]
        if isKnown(file.entityTag) { return RESTAnswer(status: .notModified, headers: headers) }
        headers[.contentType] = file.contentType
        headers[.contentLength] = String(file.bytes.readableBytes)
        guard wantsBody else { return RESTAnswer(status: .ok, headers: headers) }
        return RESTAnswer(status: .ok, stream: ResponseBody(byteBuffer: file.bytes), headers: headers)
    }

    /// True if `If-None-Match` names the tag. A weak tag matches, too, because a compressing proxy makes it weak.
    private func isKnown(_ tag: String) -> Bool {
        guard let known else { return false }
        return known.split(separator: ",")
            .contains { element in
                let known = element.filter { $0 != " " }
                return known == "*" || known == tag || known == "W/" + tag
            }
    }
}
