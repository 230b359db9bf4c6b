// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
public import Foundation
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
public import NIOPosix
import NIOSSL

/// A client of the public protocol for one server, for one user or before sign-in. It makes REST calls and opens any
/// number of sockets.
///
/// The client is deliberately thin: it reports what the server sends, stores nothing and retries nothing. Call
/// ``shutdown()`` at the end.
public final class ProtocolClient: Sendable {
    /// The base URL of REST calls, without a trailing slash.
    public let baseURL: String
    /// The base URL of sockets, without a trailing slash.
    public let webSocketURL: String
    /// The protocol version for REST and sockets.
    public let version: ProtocolVersion
    let trust: ServerTrust
    let eventLoopGroup: MultiThreadedEventLoopGroup
    let http: HTTPClient

    /// The default time-out of a call.
    public static let defaultTimeout: Duration = .seconds(15)
    private static let bodyLimit = 64 << 20

    /// Creates a client for a server.
    /// - Parameters:
    ///   - webSocketURL: the base URL of sockets; nil: `baseURL` with `ws` instead of `http`.
    ///   - eventLoopGroup: the event loops, which must outlive the client.
    /// - Throws: ``ProtocolClientError/Code/invalidURL``, or NIOSSL's error for an invalid trust root.
    public init(
        baseURL: String, webSocketURL: String? = nil, version: ProtocolVersion = .v3, trust: ServerTrust = .system,
        eventLoopGroup: MultiThreadedEventLoopGroup = .singleton
    ) throws {
        let base = Self.withoutSlash(baseURL)
        guard base.hasPrefix("http://") || base.hasPrefix("https://") else {
            throw ProtocolClientError(.invalidURL, "the base URL must begin with http:// or https://")
        }
        self.baseURL = base
        self.webSocketURL = Self.withoutSlash(webSocketURL ?? "ws" + base.dropFirst(4))
        self.version = version
        self.trust = trust
        self.eventLoopGroup = eventLoopGroup
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: try trust.tlsConfiguration(), redirectConfiguration: .disallow)
        configuration.httpVersion = .http1Only
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        // Half of the server's time-out of 15 s for the first request. The pool may open connections that it does not
        // use at once; thus the client closes them before the server does.
        configuration.connectionPool.idleTimeout = .seconds(7)
        // A request that fails in transit is reported, not retried without the caller's knowledge.
        configuration.connectionPool.retryConnectionEstablishment = false
        http = HTTPClient(eventLoopGroupProvider: .shared(eventLoopGroup), configuration: configuration)
    }

    /// Closes the connections of REST calls. Sockets stay open.
    public func shutdown() async throws { try await http.shutdown() }

    /// Makes a REST call.
    /// - Parameters:
    ///   - path: begins with `/` and is sent unchanged, so it must already be percent-encoded.
    ///   - token: the session's token; nil: none.
    ///   - headers: replace the default headers `Accept`, `Content-Type` (that of a patch with PATCH) and
    ///     `Authorization`. An empty value removes a header.
    /// - Returns: the server's response, which may be a refusal.
    /// - Throws: ``ProtocolClientError`` with ``ProtocolClientError/Code/deadlineExceeded``,
    ///   ``ProtocolClientError/Code/untrusted`` or ``ProtocolClientError/Code/transport``.
    public func call(
        _ method: String, _ path: String, body: JSONValue? = nil, token: String? = nil, headers: [String: String] = [:],
        deadline: ContinuousClock.Instant? = nil
    ) async throws -> RESTResponse {
        try await call(
            method, path, data: body.map { Data($0.text.utf8) }, token: token, headers: headers, deadline: deadline)
    }

    /// Makes a REST call with a body of any bytes, otherwise like ``call(_:_:body:token:headers:deadline:)``.
    public func call(
        _ method: String, _ path: String, data: Data?, token: String? = nil, headers: [String: String] = [:],
        deadline: ContinuousClock.Instant? = nil
    ) async throws -> RESTResponse {
        var request = HTTPClientRequest(url: baseURL + path)
        request.method = HTTPMethod(rawValue: method)
        request.headers.add(name: "Accept", value: version.accept)
        if let token { request.headers.add(name: "Authorization", value: "Layer session-token=\"\(token)\"") }
        if let data {
            request.headers.add(
                name: "Content-Type", value: method == "PATCH" ? "application/vnd.layer-patch+json" : "application/json"
            )
            request.body = .bytes(ByteBuffer(data: data))
        }
        for (name, value) in headers {
            request.headers.remove(name: name)
            if !value.isEmpty { request.headers.add(name: name, value: value) }
        }
        let deadline = deadline ?? .now + Self.defaultTimeout
        let remaining = deadline - .now
        guard remaining > .zero else {
            throw ProtocolClientError(.deadlineExceeded, "\(method) \(path) was given no time")
        }
        do {
            let response = try await http.execute(request, deadline: .now() + TimeAmount(remaining))
            let body = try await Self.collect(response.body, until: deadline)
            let lines = response.headers.map { RESTResponse.Header(name: $0.name, value: $0.value) }
            return RESTResponse(status: Int(response.status.code), headers: lines, body: Data(body.readableBytesView))
        } catch {
            throw Self.failure(error, of: "\(method) \(path)")
        }
    }

    /// Returns the error to throw for an `error` of the HTTP client.
    static func failure(_ error: any Error, of what: String) -> any Error {
        if error is CancellationError || error is ProtocolClientError { return error }
        switch error as? HTTPClientError {
        case .some(.deadlineExceeded), .some(.connectTimeout):
            return ProtocolClientError(.deadlineExceeded, "\(what) took too long")
        case .some(.invalidURL), .some(.emptyHost), .some(.emptyScheme):
            return ProtocolClientError(.invalidURL, "\(what): the URL is invalid")
        default: break
        }
        if Task.isCancelled { return CancellationError() }
        if ServerTrust.isDistrust(error) {
            return ProtocolClientError(.untrusted, "\(what): the certificate is not trusted")
        }
        return ProtocolClientError(.transport, "\(what): \(error)")
    }

    /// Returns the whole body. The HTTP client's deadline covers only the response's head, but a server may also stall
    /// within the body.
    private static func collect(
        _ body: HTTPClientResponse.Body, until deadline: ContinuousClock.Instant
    ) async throws -> ByteBuffer {
        try await withThrowingTaskGroup(of: ByteBuffer.self) { group in
            group.addTask { try await body.collect(upTo: bodyLimit) }
            group.addTask {
                try await Task.sleep(until: deadline, clock: .continuous)
                throw HTTPClientError.deadlineExceeded
            }
            defer { group.cancelAll() }
            return try await group.next() ?? ByteBuffer()
        }
    }

    private static func withoutSlash(_ url: String) -> String { url.hasSuffix("/") ? String(url.dropLast()) : url }
}

extension TimeAmount {
    /// Creates a time amount of the same length, limited to 200 years.
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self =
            seconds > 9_000_000_000
            ? .hours(24 * 365 * 200) : .nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}

extension ProtocolClient {
    /// Requests a new nonce.
    /// - Throws: ``ProtocolClientError/Code/refused`` if the response contains none.
    public func nonce(deadline: ContinuousClock.Instant? = nil) async throws -> String {
        let answer = try await call("POST", "/nonces", deadline: deadline)
        guard answer.isSuccess, let nonce = answer.json["nonce"].string else {
            throw ProtocolClientError(.refused, "no nonce", answer: answer)
        }
        return nonce
    }

    /// Exchanges an identity token for a session.
    /// - Returns: the session token.
    /// - Throws: ``ProtocolClientError/Code/refused`` if the response contains none.
    public func signIn(
        appID: String, identityToken: String, deadline: ContinuousClock.Instant? = nil
    ) async throws -> String {
        let body: JSONValue = ["app_id": .string(appID), "identity_token": .string(identityToken)]
        let answer = try await call("POST", "/sessions", body: body, deadline: deadline)
        guard answer.isSuccess, let token = answer.json["session_token"].string else {
            throw ProtocolClientError(.refused, "no session", answer: answer)
        }
        return token
    }

    /// Ends a session. Its token is in the path, as stock clients send it.
    public func signOut(token: String, deadline: ContinuousClock.Instant? = nil) async throws -> RESTResponse {
        try await call("DELETE", "/sessions/\(token)", token: token, deadline: deadline)
    }
}

/// A response of the server over HTTP.
public struct RESTResponse: Sendable, Hashable {
    /// A header line.
    public struct Header: Sendable, Hashable {
        /// The name as spelled by the server.
        public let name: String
        /// The value of the header.
        public let value: String
    }

    /// The HTTP status.
    public let status: Int
    /// The headers, in the order received.
    public let headers: [Header]
    /// The body as received.
    public let body: Data
    /// The body as JSON, or ``JSONValue/null`` if it is not JSON.
    public let json: JSONValue

    init(status: Int, headers: [Header], body: Data) {
        self.status = status
        self.headers = headers
        self.body = body
        json = body.isEmpty ? .null : (try? JSONValue(parsing: body)) ?? .null
    }

    /// True if the status indicates success.
    public var isSuccess: Bool { (200..<300).contains(status) }
    /// The `id` of the error object, or nil if the call succeeded.
    public var errorID: String? { isSuccess ? nil : json["id"].string }
    /// Returns the value of the first header with this name, ignoring case.
    public func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }
}

/// A version of the public protocol, for both transports.
public enum ProtocolVersion: String, Sendable, CaseIterable {
    case v2 = "2.0"
    case v3 = "3.0"

    /// The `Accept` header of requests.
    public var accept: String { "application/vnd.layer+json; version=\(rawValue)" }
    /// The WebSocket subprotocol.
    public var subprotocol: String { "layer-\(rawValue)" }
}

/// The servers whose certificates a client trusts.
public enum ServerTrust: Sendable, Hashable {
    /// Servers with a certificate of a public authority.
    case system
    /// Servers with a certificate signed by one of these PEM certificates.
    case roots(pem: String)
    /// All servers, for tests on the local machine.
    case anyCertificate
}

extension ServerTrust {
    func tlsConfiguration() throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        switch self {
        case .system: break
        case .roots(let pem):
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)))
        case .anyCertificate: configuration.certificateVerification = .none
        }
        return configuration
    }

    /// Returns true if a connection failed because the certificate is not trusted. BoringSSL's reason is only in the
    /// text of the error.
    static func isDistrust(_ error: any Error) -> Bool {
        if let error = error as? NIOSSLExtraError { return error == .failedToValidateHostname }
        guard case .handshakeFailed(let reason) = error as? NIOSSLError else { return false }
        return "\(reason)".contains("CERTIFICATE_VERIFY_FAILED")
    }
}
