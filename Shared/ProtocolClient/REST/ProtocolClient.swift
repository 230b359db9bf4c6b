// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
public import Foundation
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
public import NIOPosix

/// Speaks the public protocol to one server, as one of its users or before any sign-in: REST calls, and any number of sockets.
///
/// It is thin on purpose: it shows what the server says, keeps nothing, and retries nothing. ``shutdown()`` must be called at the end.
public final class ProtocolClient: Sendable {
    /// Where REST calls go; no trailing slash.
    public let baseURL: String
    /// Where sockets are opened; no trailing slash.
    public let webSocketURL: String
    /// What is spoken on both.
    public let version: ProtocolVersion
    let trust: ServerTrust
    let eventLoopGroup: MultiThreadedEventLoopGroup
    let http: HTTPClient

    /// The time a call may take that is given no deadline.
    public static let patience: Duration = .seconds(15)
    private static let bodyLimit = 64 << 20

    /// A client of the server at these addresses.
    /// - Parameters:
    ///   - webSocketURL: nil: the same as `baseURL`, with `ws` for `http`.
    ///   - eventLoopGroup: must outlive the client.
    /// - Throws: ``ProtocolClientError/Code/invalidURL``, or NIOSSL's error for a trust root that is none.
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
        var configuration = HTTPClient.Configuration(tlsConfiguration: try trust.tlsConfiguration(), redirectConfiguration: .disallow)
        configuration.httpVersion = .http1Only
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        // Half of the server's time for the first request, 15 s, since the pool opens connections that it then does not need: what the server closes because
        // it is silent is not being used at that moment.
        configuration.connectionPool.idleTimeout = .seconds(7)
        // A request that fails in transit is shown, not tried again behind the caller's back.
        configuration.connectionPool.retryConnectionEstablishment = false
        http = HTTPClient(eventLoopGroupProvider: .shared(eventLoopGroup), configuration: configuration)
    }

    /// Closes the connections of REST calls; sockets live on.
    public func shutdown() async throws { try await http.shutdown() }

    /// Makes one REST call.
    /// - Parameters:
    ///   - path: begins with `/` and is sent as it is: percent-encode what has to be.
    ///   - token: the session's; nil for none.
    ///   - headers: replace those that would be sent: `Accept`, `Content-Type` (that of a patch with PATCH), `Authorization`. An empty value sends none.
    /// - Returns: whatever the server answered, refusals as well.
    /// - Throws: ``ProtocolClientError`` with ``ProtocolClientError/Code/deadlineExceeded``, ``ProtocolClientError/Code/untrusted`` or
    ///   ``ProtocolClientError/Code/transport``.
    public func call(
        _ method: String, _ path: String, body: JSONValue? = nil, token: String? = nil, headers: [String: String] = [:],
        deadline: ContinuousClock.Instant? = nil
    ) async throws -> RESTAnswer {
        try await call(method, path, data: body.map { Data($0.text.utf8) }, token: token, headers: headers, deadline: deadline)
    }

    /// Makes one REST call with a body of any bytes; otherwise like ``call(_:_:body:token:headers:deadline:)``.
    public func call(
        _ method: String, _ path: String, data: Data?, token: String? = nil, headers: [String: String] = [:],
        deadline: ContinuousClock.Instant? = nil
    ) async throws -> RESTAnswer {
        var request = HTTPClientRequest(url: baseURL + path)
        request.method = HTTPMethod(rawValue: method)
        request.headers.add(name: "Accept", value: version.accept)
        if let token { request.headers.add(name: "Authorization", value: "Layer session-token=\"\(token)\"") }
        if let data {
            request.headers.add(name: "Content-Type", value: method == "PATCH" ? "application/vnd.layer-patch+json" : "application/json")
            request.body = .bytes(ByteBuffer(data: data))
        }
        for (name, value) in headers {
            request.headers.remove(name: name)
            if !value.isEmpty { request.headers.add(name: name, value: value) }
        }
        let deadline = deadline ?? .now + Self.patience
        let remaining = deadline - .now
        guard remaining > .zero else { throw ProtocolClientError(.deadlineExceeded, "\(method) \(path) was given no time") }
        do {
            let response = try await http.execute(request, deadline: .now() + TimeAmount(remaining))
            let body = try await Self.collect(response.body, until: deadline)
            let lines = response.headers.map { RESTAnswer.Header(name: $0.name, value: $0.value) }
            return RESTAnswer(status: Int(response.status.code), headers: lines, body: Data(body.readableBytesView))
        } catch {
            throw Self.failure(error, of: "\(method) \(path)")
        }
    }

    /// What is thrown where the HTTP client has thrown `error`.
    static func failure(_ error: any Error, of what: String) -> any Error {
        if error is CancellationError || error is ProtocolClientError { return error }
        switch error as? HTTPClientError {
        case .some(.deadlineExceeded), .some(.connectTimeout): return ProtocolClientError(.deadlineExceeded, "\(what) took too long")
        case .some(.invalidURL), .some(.emptyHost), .some(.emptyScheme): return ProtocolClientError(.invalidURL, "\(what): the URL is none")
        default: break
        }
        if Task.isCancelled { return CancellationError() }
        if ServerTrust.isDistrust(error) { return ProtocolClientError(.untrusted, "\(what): the certificate is not trusted") }
        return ProtocolClientError(.transport, "\(what): \(error)")
    }

    /// The whole body. The deadline given to the HTTP client ends with the response's head; a server may as well stop in the middle of the body.
    private static func collect(_ body: HTTPClientResponse.Body, until deadline: ContinuousClock.Instant) async throws -> ByteBuffer {
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
    /// The same length, at most about three centuries.
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self = seconds > 9_000_000_000 ? .hours(24 * 365 * 200) : .nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
