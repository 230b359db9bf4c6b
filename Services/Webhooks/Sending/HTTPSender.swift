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
    struct Answer: Sendable {
        let status: Int
        let reason: String
        /// As much of it as was wanted; nil: it was longer, or ended before its time.
        let body: ByteBuffer?
    }

    /// Why there is no answer.
    enum Problem: Error, Hashable, Sendable {
        /// This instance ends, or the app has many other names looked up; it says nothing about the receiver.
        case interrupted
        /// A clause for the app's owner that can follow "because".
        case failed(String)
    }

    private struct Target: Sendable {
        let client: HTTPClient
        /// The first one is in use.
        var addresses: [IPAddress]
        var resolvedAt: ContinuousClock.Instant
        var usedAt: ContinuousClock.Instant
        var inUse = 0
    }

    private struct State {
        var targets: [String: Target] = [:]
        /// Clients that are not used for new requests any more, with those under way.
        var retired: [ObjectIdentifier: Int] = [:]
        /// Nothing would end a client that is made now.
        var isShutDown = false
    }

    /// How long addresses are used before the name is resolved again, while they go on being used.
    private static let freshness = Duration.seconds(30)
    /// How long they are used at most without an answer of a name server.
    private static let longestUse = Duration.seconds(600)
    /// How long the rest of an answer may take.
    private static let restPatience = Duration.seconds(1)
    /// How many hosts are remembered.
    private static let mostTargets = 512
    /// Bytes of an answer that are read. The status says whether a delivery succeeded; the rest is of no interest.
    static let answerBytes = 64 << 10

    private let policy: AddressPolicy
    private let timeout: Duration
    private let connectionsPerHost: Int
    private let trustedRoots: [NIOSSLCertificate]
    private let group: any EventLoopGroup
    private let names: NameLookup
    private let state = Mutex(State())

    init(
        policy: AddressPolicy, timeout: Duration, connectionsPerHost: Int, trustedRoots: [NIOSSLCertificate], group: any EventLoopGroup,
        names: NameLookup = NameLookup()
    ) {
        self.policy = policy
        self.timeout = timeout
        self.connectionsPerHost = connectionsPerHost
        self.trustedRoots = trustedRoots
        self.group = group
        self.names = names
    }

    /// Sends a request to a receiver and waits for the head of its answer.
    /// - Parameters:
    ///   - url: of the target, perhaps with more in its query.
    ///   - app: whose receiver it is.
    ///   - bodyBytes: of the answer's body that are waited for and returned.
    ///   - limit: less time than the receiver has otherwise.
    /// - Throws: ``Problem`` if there is no answer in time, or the receiver may not be called.
    func send(
        _ method: HTTPMethod, _ url: String, to target: TargetURL, of app: AppID, headers: HTTPHeaders, body: ByteBuffer?, bodyBytes: Int = 0,
        limit: Duration? = nil
    ) async throws(Problem) -> Answer {
        let timeout = min(self.timeout, limit ?? self.timeout)
        let end = ContinuousClock.now + timeout
        let client = try await client(for: target, of: app, until: end, within: timeout)
        defer { release(client, of: target) }
        guard !Task.isCancelled else { throw .interrupted }
        var request = HTTPClientRequest(url: url)
        request.method = method
        request.headers = headers
        if let body { request.body = .bytes(body) }
        // Later than all waiting below: it only ends what is left of a request when no caller waits for that any more.
        let deadline = NIODeadline.now() + (timeout + Self.restPatience * 2).timeAmount
        let head = await within(max(end - .now, .zero)) { [request] () -> Result<HTTPClientResponse, any Error> in
            do { return .success(try await client.execute(request, deadline: deadline)) } catch { return .failure(error) }
        }
        switch head {
        case .success(let response)?:
            let rest = await rest(of: response, within: bodyBytes > 0 ? max(end - .now, .zero) : Self.restPatience)
            return Answer(
                status: Int(response.status.code), reason: response.status.reasonPhrase,
                body: rest.flatMap { $0.readableBytes <= bodyBytes ? $0 : nil })
        case .failure(let error)?:
            if Self.isAboutConnecting(error) { avoidAddress(of: client, for: target) }
            throw Self.problem(for: error)
        case nil:
            if Task.isCancelled { throw .interrupted }
            avoidAddress(of: client, for: target)
            throw .failed("no answer came within \(timeout.inWords)")
        }
    }

    /// What is left of an answer is read, so that the connection can be used again; the status has said all. A receiver that goes on for longer than that has its
    /// connection closed, and has succeeded all the same.
    private func rest(of response: HTTPClientResponse, within limit: Duration) async -> ByteBuffer? {
        await within(limit) { try? await response.body.collect(upTo: Self.answerBytes) } ?? nil
    }

    /// Ends all connections.
    func shutDown() async {
        let clients = state.withLock { state in
            state.isShutDown = true
            defer { state.targets = [:] }
            return state.targets.values.map(\.client)
        }
        for client in clients { try? await client.shutdown() }
        await names.shutDown()
    }

    // MARK: Clients

    /// The client for a target, to be given back by ``release(_:of:)``.
    private func client(
        for target: TargetURL, of app: AppID, until end: ContinuousClock.Instant, within timeout: Duration
    ) async throws(Problem) -> HTTPClient {
        let known = state.withLock { state -> Target? in
            guard var known = state.targets[target.authority], .now < known.resolvedAt + Self.longestUse else { return nil }
            known.usedAt = .now
            known.inUse += 1
            state.targets[target.authority] = known
            return known
        }
        if let known {
            // Requests do not wait for a name server: what was resolved and checked before is used meanwhile.
            if .now >= known.resolvedAt + Self.freshness { Task { await self.resolveAgain(target, of: app) } }
            return known.client
        }
        let answer = await within(max(end - .now, .zero)) { [names] in await names.addresses(of: target.host, for: app) }
        let addresses: [IPAddress]
        switch answer {
        case .found(let found)?: addresses = found
        case .unknown?: throw .failed("the target's name could not be resolved")
        case .notAsked?: throw .interrupted
        case nil: throw Task.isCancelled ? Problem.interrupted : Problem.failed("the target's name was not resolved within \(timeout.inWords)")
        }
        guard let client = use(addresses, for: target, isTaken: true) else {
            if state.withLock({ $0.isShutDown }) { throw .interrupted }
            throw .failed("the target's address is private or reserved and is not called")
        }
        return client
    }

    private func resolveAgain(_ target: TargetURL, of app: AppID) async {
        guard case .found(let addresses) = await names.addresses(of: target.host, for: app) else { return }
        _ = use(addresses, for: target, isTaken: false)
    }

    /// Uses those of these addresses that may be called.
    /// - Parameter isTaken: the client is used at once, and given back by ``release(_:of:)``.
    /// - Returns: nil if none of them may be called, or this has been shut down.
    private func use(_ resolved: [IPAddress], for target: TargetURL, isTaken: Bool) -> HTTPClient? {
        let addresses = resolved.filter { policy.admits($0) }
        var idle: [HTTPClient] = []
        let client = state.withLock { state -> HTTPClient? in
            guard !state.isShutDown else { return nil }
            if var known = state.targets[target.authority] {
                // An address that is still among those of the name goes on being used, with its connections.
                if let current = known.addresses.first, addresses.contains(current) {
                    known.addresses = [current] + addresses.filter { $0 != current }
                    (known.resolvedAt, known.usedAt) = (.now, .now)
                    if isTaken { known.inUse += 1 }
                    state.targets[target.authority] = known
                    return known.client
                }
                state.targets[target.authority] = nil
                retire(known, in: &state, idle: &idle)
            }
            guard let address = addresses.first else { return nil }
            makeRoom(in: &state, idle: &idle)
            let client = makeClient(for: target, at: address)
            state.targets[target.authority] = Target(
                client: client, addresses: addresses, resolvedAt: .now, usedAt: .now, inUse: isTaken ? 1 : 0)
            return client
        }
        for client in idle { Task { try? await client.shutdown() } }
        return client
    }

    /// A server could not be reached: the next request goes to another address of the name, if it has one.
    private func avoidAddress(of client: HTTPClient, for target: TargetURL) {
        var idle: [HTTPClient] = []
        state.withLock { state in
            guard let known = state.targets[target.authority], known.client === client, known.addresses.count > 1 else { return }
            let addresses = Array(known.addresses.dropFirst()) + known.addresses.prefix(1)
            retire(known, in: &state, idle: &idle)
            state.targets[target.authority] = Target(
                client: makeClient(for: target, at: addresses[0]), addresses: addresses, resolvedAt: known.resolvedAt, usedAt: .now)
        }
        for client in idle { Task { try? await client.shutdown() } }
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

    // MARK: Problems

    private static func isAboutConnecting(_ error: any Error) -> Bool {
        switch error {
        case let error as HTTPClientError: error == .connectTimeout || error == .tlsHandshakeTimeout
        default: error is NIOConnectionError || error is IOError
        }
    }

    /// Why there is no answer, if this is what the client threw.
    static func problem(for error: any Error) -> Problem {
        switch error {
        case let error as HTTPClientError:
            switch error {
            case .connectTimeout, .deadlineExceeded, .readTimeout, .getConnectionFromPoolTimeout: .failed("no answer came in time")
            case .remoteConnectionClosed: .failed("the receiver closed the connection before it answered")
            case .cancelled, .alreadyShutdown: .interrupted
            case .tlsHandshakeTimeout: .failed("the TLS handshake did not end in time")
            default: .failed("the request failed: \(error.shortDescription)")
            }
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            .failed("the TLS connection could not be made: the certificate may be wrong")
        case is NIOConnectionError, is IOError: .failed("the receiver could not be reached")
        case is CancellationError: .interrupted
        default: .failed("the answer could not be understood")
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
