// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
import HTTPTypes
import NIOCore
import NIOHTTP1
import NetKit
import ServiceLifecycle
import StrataModel

/// An HTTP client of the deployment's own processes, and of its Prometheus.
final class InternalClient: Service {
    /// The headers of browsers' requests that are passed on to gateways.
    static let passedOn = [
        "Accept", "Content-Type", "If-None-Match", "Range", "Strata-Mutation", "Upload-Content-Length",
        "Upload-Content-Type", "Upload-Origin", "X-HTTP-Method-Override",
    ]

    private let calls: HTTPClient
    private let streams: HTTPClient

    init(group: any EventLoopGroup) {
        calls = Self.client(group, readTimeout: .seconds(30))
        streams = Self.client(group, readTimeout: nil)
    }

    /// - Parameter readTimeout: the time after which an answer that does not go on is given up; nil: never.
    private static func client(_ group: any EventLoopGroup, readTimeout: TimeAmount?) -> HTTPClient {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout = HTTPClient.Configuration.Timeout(connect: .seconds(3), read: readTimeout)
        configuration.httpVersion = .http1Only
        configuration.decompression = .disabled
        // Half of the gateways' time-out for the first request on a connection.
        configuration.connectionPool.idleTimeout = .seconds(7)
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
    }

    /// Closes all connections at the end.
    func run() async throws {
        try? await gracefulShutdown()
        try await calls.shutdown()
        try await streams.shutdown()
    }

    /// Sends a request and returns the head of its answer. The body is read as it arrives.
    /// - Parameter isStream: true if the answer may pause for minutes.
    /// - Throws: `service_unavailable` if no answer begins in time.
    func send(
        _ method: String, _ url: String, headers: HTTPHeaders = [:], body: ByteBuffer? = nil, isStream: Bool = false,
        timeout: Duration
    ) async throws(Failure) -> HTTPClientResponse {
        var request = HTTPClientRequest(url: url)
        request.method = HTTPMethod(rawValue: method)
        request.headers = headers
        if let body, body.readableBytes > 0 { request.body = .bytes(body) }
        do {
            return try await (isStream ? streams : calls).execute(request, timeout: timeout.timeAmount)
        } catch {
            throw .unavailable
        }
    }

    /// A whole answer.
    struct Answer: Sendable {
        let status: Int
        let headers: HTTPHeaders
        let body: ByteBuffer
    }

    /// Sends a request and returns its whole answer.
    /// - Parameter limit: the maximum size of the body, in bytes.
    /// - Throws: `service_unavailable` if the answer is not complete in time, or exceeds the limit.
    func fetch(
        _ url: String, method: String = "GET", headers: HTTPHeaders = [:], body: ByteBuffer? = nil,
        timeout: Duration, limit: Int = 16 << 20
    ) async throws(Failure) -> Answer {
        do {
            return try await withThrowingTaskGroup(of: Answer?.self) { group in
                group.addTask {
                    let response = try await self.send(method, url, headers: headers, body: body, timeout: timeout)
                    return Answer(
                        status: Int(response.status.code), headers: response.headers,
                        body: try await response.body.collect(upTo: limit))
                }
                group.addTask {
                    try await Task.sleep(for: timeout)
                    return nil
                }
                defer { group.cancelAll() }
                guard let answer = try await group.next() ?? nil else { throw Failure.unavailable }
                return answer
            }
        } catch {
            throw .unavailable
        }
    }
}
