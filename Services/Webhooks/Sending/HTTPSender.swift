// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NetKit
import StrataModel
import Synchronization

/// Calls receivers: over HTTP/1.1, at addresses that were checked after the name was resolved, with certificates verified, and without following redirects.
///
/// A client of AsyncHTTPClient for each host is told the address that was checked, so that it resolves nothing itself. It keeps connections for a few
/// seconds, less than common receivers do: a request is not sent into a connection that is about to be closed.
final class HTTPSender: Sendable {
    /// What a receiver answered.
    struct Answer: Sendable {
        let status: Int
        let reason: String
        /// As much of it as was wanted; nil: it was longer, or ended before its time.
        let body: ByteBuffer?
    }

    /// Why there is no answer, in words for the app's owner.
    struct Problem: Error, Sendable {
        let reason: String
    }

    private struct Target: Sendable {
        let client: HTTPClient
        let addresses: [IPAddress]
        var resolvedAt: ContinuousClock.Instant
        var usedAt: ContinuousClock.Instant
        var inUse = 0
    }

    private struct State {
        var targets: [String: Target] = [:]
        /// Clients that are not used for new requests any more, with those under way.
        var retired: [ObjectIdentifier: Int] = [:]
    }

    /// How long an address is used before the name is resolved again.
    private static let freshness = Duration.seconds(30)
    /// How many hosts are remembered.
    private static let mostTargets = 512
    /// Bytes of an answer that are read. The status says whether a delivery succeeded; the rest is of no interest.
    static let answerBytes = 64 << 10

    private let policy: AddressPolicy
    private let timeout: Duration
    private let connectionsPerHost: Int
    private let trustedRoots: [NIOSSLCertificate]
    private let group: any EventLoopGroup
    private let threads = NIOThreadPool(numberOfThreads: 8)
    private let state = Mutex(State())

    init(
        policy: AddressPolicy, timeout: Duration, connectionsPerHost: Int, trustedRoots: [NIOSSLCertificate], group: any EventLoopGroup
    ) {
        self.policy = policy
        self.timeout = timeout
        self.connectionsPerHost = connectionsPerHost
        self.trustedRoots = trustedRoots
        self.group = group
        threads.start()
    }

    /// Sends a request to a receiver and waits for the head of its answer.
    /// - Parameters:
    ///   - url: of the target, perhaps with more in its query.
    ///   - bodyBytes: of the answer's body that are returned.
    ///   - limit: less time than the receiver has otherwise.
    /// - Throws: ``Problem`` if there is no answer in time, or the receiver may not be called.
    func send(
        _ method: HTTPMethod, _ url: String, to target: TargetURL, headers: HTTPHeaders, body: ByteBuffer?, bodyBytes: Int = 0, limit: Duration? = nil
    ) async throws(Problem) -> Answer {
        let timeout = min(self.timeout, limit ?? self.timeout)
        let result: Result<Answer, Problem>? = await withTaskGroup(of: Result<Answer, Problem>?.self) { group in
            group.addTask {
                do throws(Problem) {
                    return .success(try await self.exchange(method, url, to: target, headers: headers, body: body, bodyBytes: bodyBytes))
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                try? await Task.sleep(for: timeout)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        switch result {
        case .success(let answer)?: return answer
        case .failure(let problem)?: throw problem
        case nil: throw Problem(reason: Task.isCancelled ? "interrupted" : "no answer within \(timeout.inWords)")
        }
    }

    /// Ends all connections.
    func shutDown() async {
        let clients = state.withLock { state in
            defer { state.targets = [:] }
            return state.targets.values.map(\.client)
        }
        for client in clients { try? await client.shutdown() }
        try? await threads.shutdownGracefully()
    }

    private func exchange(
        _ method: HTTPMethod, _ url: String, to target: TargetURL, headers: HTTPHeaders, body: ByteBuffer?, bodyBytes: Int
    ) async throws(Problem) -> Answer {
        let client = try await client(for: target)
        defer { release(client, of: target) }
        var request = HTTPClientRequest(url: url)
        request.method = method
        request.headers = headers
        if let body { request.body = .bytes(body) }
        do {
            let response = try await client.execute(request, deadline: .now() + timeout.timeAmount)
            let status = Int(response.status.code)
            // What is left of the answer is read, so that the connection can be used again; the status has said all.
            let rest = try? await response.body.collect(upTo: Self.answerBytes)
            return Answer(status: status, reason: response.status.reasonPhrase, body: rest.flatMap { $0.readableBytes <= bodyBytes ? $0 : nil })
        } catch {
            throw Problem(reason: Self.words(for: error))
        }
    }

    // MARK: Clients

    private func client(for target: TargetURL) async throws(Problem) -> HTTPClient {
        let known = state.withLock { state -> Target? in
            guard var known = state.targets[target.authority], .now < known.resolvedAt + Self.freshness else { return nil }
            known.usedAt = .now
            known.inUse += 1
            state.targets[target.authority] = known
            return known
        }
        if let known { return known.client }
        let addresses = try await addresses(of: target.host).filter { policy.admits($0) }
        guard let address = addresses.first else {
            throw Problem(reason: "the target's address is private or reserved, and is not called")
        }
        var idle: [HTTPClient] = []
        let client = state.withLock { state -> HTTPClient in
            if var known = state.targets[target.authority] {
                known.resolvedAt = .now
                known.usedAt = .now
                // An address that is still among those of the name goes on being used, with its connections.
                if let current = known.addresses.first, addresses.contains(current) {
                    known.inUse += 1
                    state.targets[target.authority] = known
                    return known.client
                }
                retire(known, in: &state, idle: &idle)
            }
            makeRoom(in: &state, idle: &idle)
            let client = makeClient(for: target, at: address)
            state.targets[target.authority] = Target(
                client: client, addresses: [address], resolvedAt: .now, usedAt: .now, inUse: 1)
            return client
        }
        for client in idle { Task { try? await client.shutdown() } }
        return client
    }

    private func release(_ client: HTTPClient, of target: TargetURL) {
        let isDone = state.withLock { state -> Bool in
            if var known = state.targets[target.authority], known.client === client {
                known.inUse -= 1
                state.targets[target.authority] = known
                return false
            }
            guard let inUse = state.retired[ObjectIdentifier(client)] else { return false }
            state.retired[ObjectIdentifier(client)] = inUse > 1 ? inUse - 1 : nil
            return inUse == 1
        }
        if isDone { Task { try? await client.shutdown() } }
    }

    private func retire(_ target: Target, in state: inout State, idle: inout [HTTPClient]) {
        if target.inUse == 0 { idle.append(target.client) } else { state.retired[ObjectIdentifier(target.client)] = target.inUse }
    }

    private func makeRoom(in state: inout State, idle: inout [HTTPClient]) {
        guard state.targets.count >= Self.mostTargets,
            let oldest = state.targets.min(by: { $0.value.usedAt < $1.value.usedAt })
        else { return }
        state.targets[oldest.key] = nil
        retire(oldest.value, in: &state, idle: &idle)
    }

    private func makeClient(for target: TargetURL, at address: IPAddress) -> HTTPClient {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.additionalTrustRoots = trustedRoots.isEmpty ? [] : [.certificates(trustedRoots)]
        tls.minimumTLSVersion = .tlsv12
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls, redirectConfiguration: .disallow)
        configuration.timeout = HTTPClient.Configuration.Timeout(connect: timeout.timeAmount, read: timeout.timeAmount)
        configuration.httpVersion = .http1Only
        configuration.dnsOverride = [target.host: address.description]
        configuration.decompression = .disabled
        configuration.connectionPool.idleTimeout = .seconds(4)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connectionsPerHost
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
    }

    // MARK: Names

    private func addresses(of host: String) async throws(Problem) -> [IPAddress] {
        if let address = IPAddress(host) { return [address] }
        do {
            return try await threads.runIfActive { try NameResolution.addresses(of: host) }
        } catch {
            throw Problem(reason: "the target's name could not be resolved")
        }
    }

    private static func words(for error: any Error) -> String {
        switch error {
        case let error as HTTPClientError:
            switch error {
            case .connectTimeout, .deadlineExceeded, .readTimeout, .getConnectionFromPoolTimeout: "no answer in time"
            case .remoteConnectionClosed: "the receiver closed the connection before it answered"
            case .cancelled: "interrupted"
            case .tlsHandshakeTimeout: "no TLS handshake in time"
            default: "the request failed: \(error.shortDescription)"
            }
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError: "the TLS connection could not be made: the certificate may be wrong"
        case is NIOConnectionError, is IOError: "the receiver could not be reached"
        case is CancellationError: "interrupted"
        default: "the answer could not be understood"
        }
    }
}

extension Duration {
    /// `10 s`, for a reader of an error.
    var inWords: String {
        let (seconds, attoseconds) = components
        return attoseconds == 0 ? "\(seconds) s" : "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000) ms"
    }
}
