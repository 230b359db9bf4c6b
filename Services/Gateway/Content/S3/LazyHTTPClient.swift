// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
import NIOCore
import NIOSSL
import NetKit
import Synchronization

/// An HTTP/1.1 client that is created by its first request. A client that exists must be shut down, which a gateway
/// that fails to start does not do.
final class LazyHTTPClient: Sendable {
    private enum State {
        case unused
        case open(HTTPClient)
        case closed
    }

    private let state = Mutex(State.unused)
    private let configuration: HTTPClient.Configuration
    private let group: any EventLoopGroup

    /// - Parameter connections: the maximum number of connections. Further requests wait for
    ///   ``S3Patience/connect``.
    init(_ settings: S3Settings, patience: S3Patience, connections: Int, group: any EventLoopGroup) {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.additionalTrustRoots = settings.trustedRoots.isEmpty ? [] : [.certificates(settings.trustedRoots)]
        tls.minimumTLSVersion = .tlsv12
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls, redirectConfiguration: .disallow)
        configuration.timeout = HTTPClient.Configuration.Timeout(
            connect: patience.connect.timeAmount, read: patience.answer.timeAmount)
        configuration.httpVersion = .http1Only
        configuration.decompression = .disabled
        configuration.connectionPool.idleTimeout = .seconds(15)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
        configuration.connectionPool.retryConnectionEstablishment = false
        self.configuration = configuration
        self.group = group
    }

    /// Returns the client.
    /// - Throws: `HTTPClientError.alreadyShutdown` after ``shutDown()``.
    func client() throws -> HTTPClient {
        try state.withLock { state in
            switch state {
            case .open(let client): return client
            case .closed: throw HTTPClientError.alreadyShutdown
            case .unused:
                let client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
                state = .open(client)
                return client
            }
        }
    }

    func shutDown() async {
        let client = state.withLock { state -> HTTPClient? in
            defer { state = .closed }
            guard case .open(let client) = state else { return nil }
            return client
        }
        try? await client?.shutdown()
    }
}
