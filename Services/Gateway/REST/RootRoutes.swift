// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import ProtocolDocs
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

/// Routes for the protocol's documentation, to which error objects link, for the JavaScript client, and for the demo
/// page. They require neither a version nor a session.
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
        addFolder("/client", to: routes) { ProtocolDocs.client[$0] }
        guard services.settings.servesDemo else { return }
        addFolder("/demo", to: routes) { ProtocolDocs.demo[$0] }
    }

    /// Adds the routes of a folder's files. Its `index.html` is the folder's page.
    private func addFolder(
        _ path: String, to routes: RESTRoutes, file: @escaping @Sendable (String) -> ProtocolDocs.File?
    ) {
        let folder = routes.open(RouterPath(path))
        for method in [HTTPRequest.Method.get, .head] {
            if let index = file("index.html") {
                folder.on(method) { (asked: DocumentRequest, _) throws(Failure) in
                    asked.hasSlash ? asked.answer(index, policy: DocumentRequest.pagePolicy) : redirect(to: path + "/")
                }
            }
            folder.on(method, ":file") { (asked: DocumentRequest, context) throws(Failure) in
                // The page has one address, that of its folder.
                guard let name = context.parameters.get("file"), name != "index.html", let found = file(name) else {
                    throw .notFound("file")
                }
                return asked.answer(found)
            }
        }
    }

    /// Serves the index page. The router treats a path with and without a final slash as one route, but links on the
    /// page need the slash.
    private func index(_ asked: DocumentRequest, in context: RESTContext) async throws(Failure) -> RESTAnswer {
        asked.hasSlash ? asked.answer(ProtocolDocs.index) : redirect(to: "/docs/")
    }

    /// Redirects relative to the public base URL, because a proxy may have removed a prefix from the path.
    private func redirect(to path: String) -> RESTAnswer {
        RESTAnswer(
            status: .permanentRedirect, headers: [.location: services.renderer.baseURL + path, .contentLength: "0"])
    }
}

private struct DocumentRequest: RESTRequest {
    /// Returns the content security policy of a page. Pages contain their styles, one contains its search script, and
    /// they load nothing else.
    private static func policy(of file: ProtocolDocs.File) -> String {
        let scripts = file.scriptSource.map { "script-src \($0); " } ?? ""
        return """
            default-src 'none'; style-src 'unsafe-inline'; \(scripts)base-uri 'none'; form-action 'none'; \
            frame-ancestors 'none'
            """
    }

    let hasSlash: Bool
    private let wantsBody: Bool
    /// The value of `If-None-Match`.
    private let known: String?
    private let acceptsGzip: Bool

    init(_ request: Request, in context: RESTContext, for services: GatewayServices) {
        hasSlash = request.uri.path.hasSuffix("/")
        wantsBody = request.method == .get
        known = request.headers[.ifNoneMatch]
        acceptsGzip = request.headers[values: .acceptEncoding].contains(where: Self.includesGzip)
    }

    /// Returns true if a value of `Accept-Encoding` includes gzip, with a weight other than 0.
    private static func includesGzip(_ encodings: String) -> Bool {
        encodings.split(separator: ",")
            .contains { element in
                let parts = element.lowercased().filter { $0 != " " }.split(separator: ";")
                return parts.first == "gzip" && !parts.contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) == 0 }
            }
    }

    /// The content security policy of a page that loads its modules, styles and data from its own origin only.
    static let pagePolicy = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
        connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """

    /// - Parameter policy: the content security policy; nil: that of a page of the documentation.
    func answer(_ file: ProtocolDocs.File, policy: String? = nil) -> RESTAnswer {
        let compressed = acceptsGzip ? file.compressed : nil
        // Each form of a file has a tag of its own.
        let tag = compressed == nil ? file.entityTag : String(file.entityTag.dropLast()) + "-gzip\""
        var headers: HTTPFields = [
            .eTag: tag, .cacheControl: "no-cache",
            .contentSecurityPolicy: policy ?? Self.policy(of: file),
            .xContentTypeOptions: "nosniff",
        ]
        if file.compressed != nil { headers[.vary] = "Accept-Encoding, Origin" }
        if isKnown(tag) { return RESTAnswer(status: .notModified, headers: headers) }
        headers[.contentType] = file.contentType
        if compressed != nil { headers[.contentEncoding] = "gzip" }
        let bytes = compressed ?? file.bytes
        headers[.contentLength] = String(bytes.readableBytes)
        guard wantsBody else { return RESTAnswer(status: .ok, headers: headers) }
        return RESTAnswer(status: .ok, stream: ResponseBody(byteBuffer: bytes), headers: headers)
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
