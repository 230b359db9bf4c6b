// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
public import Foundation
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
public import NIOPosix

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
