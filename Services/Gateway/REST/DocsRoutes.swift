// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import ProtocolDocs
import StrataModel
import StrataWire

/// The description of the protocol, where error objects point to: readable without a version or a session.
struct DocsRoutes: RESTFeature {
    let services: GatewayServices

    func add(to routes: RESTRoutes) {
        let docs = routes.open("/docs")
        for method in [HTTPRequest.Method.get, .head] {
            docs.on(method, use: index)
            docs.on(method, "errors") { (asked: DocumentRequest, _) throws(Failure) in asked.answer(ProtocolDocs.errors) }
            docs.on(method, "openapi.yaml") { (asked: DocumentRequest, _) throws(Failure) in asked.answer(ProtocolDocs.openAPI) }
            docs.on(method, "asyncapi.yaml") { (asked: DocumentRequest, _) throws(Failure) in asked.answer(ProtocolDocs.asyncAPI) }
            docs.on(method, "server-openapi.yaml") { (asked: DocumentRequest, _) throws(Failure) in asked.answer(ProtocolDocs.serverOpenAPI) }
        }
    }

    /// A path and the same with a slash at its end are one route; links on the page need the slash.
    private func index(_ asked: DocumentRequest, in context: RESTContext) async throws(Failure) -> RESTAnswer {
        guard !asked.hasSlash else { return asked.answer(ProtocolDocs.index) }
        // Relative to the public base, since a proxy may have taken a prefix off the path.
        return RESTAnswer(status: .permanentRedirect, headers: [.location: services.renderer.baseURL + "/docs/", .contentLength: "0"])
    }
}

private struct DocumentRequest: RESTRequest {
    /// The pages bring their style with them, one brings the script of its search, and they need nothing else.
    private static func policy(of file: ProtocolDocs.File) -> String {
        let scripts = file.scriptSource.map { "script-src \($0); " } ?? ""
        return "default-src 'none'; style-src 'unsafe-inline'; \(scripts)base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    }

    /// Whether the path ends with one.
    let hasSlash: Bool
    private let wantsBody: Bool
    /// `If-None-Match`
    private let known: String?

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) {
        hasSlash = request.uri.path.hasSuffix("/")
        wantsBody = request.method == .get
        known = request.headers[.ifNoneMatch]
    }

    func answer(_ file: ProtocolDocs.File) -> RESTAnswer {
        var headers: HTTPFields = [
            .eTag: file.entityTag, .cacheControl: "no-cache", .contentSecurityPolicy: Self.policy(of: file), .xContentTypeOptions: "nosniff",
        ]
        if isKnown(file.entityTag) { return RESTAnswer(status: .notModified, headers: headers) }
        headers[.contentType] = file.contentType
        headers[.contentLength] = String(file.bytes.readableBytes)
        guard wantsBody else { return RESTAnswer(status: .ok, headers: headers) }
        return RESTAnswer(status: .ok, stream: ResponseBody(byteBuffer: file.bytes), headers: headers)
    }

    /// Whether `If-None-Match` names the tag; a proxy that compresses makes it a weak one.
    private func isKnown(_ tag: String) -> Bool {
        guard let known else { return false }
        return known.split(separator: ",")
            .contains { element in
                let known = element.filter { $0 != " " }
                return known == "*" || known == tag || known == "W/" + tag
            }
    }
}
