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

/// An HTTP/1.1 client for calling receivers. It checks addresses after name resolution, verifies certificates, and does
/// not follow redirects.
///
/// Each host has its own AsyncHTTPClient client, which is given the checked address and resolves no names itself. Idle
/// connections are kept for a few seconds, less than common receivers keep them, so that no request is sent into a
/// closing connection.
final class HTTPSender: Sendable {
    struct Answer: Sendable {
        let status: Int
        let reason: String
        /// The body, up to the requested size; nil if it was longer, or ended prematurely.
        let body: ByteBuffer?
    }

    /// A reason for a missing answer.
    enum Problem: Error, Hashable, Sendable {
        /// The instance is stopping, or the app has too many concurrent name look-ups. This says nothing about the
        /// receiver.
        case interrupted
        /// A clause for the app's owner that can follow "because".
        case failed(String)
    }

    private struct Target: Sendable {
        let client: HTTPClient
        /// The addresses. The first one is in use.
        var addresses: [IPAddress]
        var resolvedAt: ContinuousClock.Instant
        var usedAt: ContinuousClock.Instant
        var inUse = 0
    }

    private struct State {
        var targets: [String: Target] = [:]
        /// Clients that get no new requests, with the number of their pending requests.
        var retired: [ObjectIdentifier: Int] = [:]
        /// True after shutdown. A client created now would never be shut down.
        var isShutDown = false
    }

    /// The time after which a name in use is resolved again.
    private static let freshness = Duration.seconds(30)
    /// The maximum time for which addresses are used without an answer of a name server.
    private static let longestUse = Duration.seconds(600)
    /// The time limit for reading the rest of an answer.
    private static let restPatience = Duration.seconds(1)
    /// The maximum number of hosts with a client.
    private static let mostTargets = 512
    /// The maximum number of bytes read from an answer. The status determines whether a delivery succeeded; the body is
    /// ignored.
    static let answerBytes = 64 << 10

    private let policy: AddressPolicy
    private let timeout: Duration
    private let connectionsPerHost: Int
    private let trustedRoots: [NIOSSLCertificate]
    private let group: any EventLoopGroup
    private let names: NameLookup
    private let state = Mutex(State())

    init(
        policy: AddressPolicy, timeout: Duration, connectionsPerHost: Int, trustedRoots: [NIOSSLCertificate],
        group: any EventLoopGroup,
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
    ///   - url: the URL of the target, possibly with additional query parameters.
    ///   - app: the app of the receiver.
    ///   - bodyBytes: the maximum size of the answer's body to wait for and return.
    ///   - limit: a time limit that applies if it is shorter than the receiver's.
    /// - Throws: ``Problem`` if no answer arrives in time, or if the receiver may not be called.
    func send(
        _ method: HTTPMethod, _ url: String, to target: TargetURL, of app: AppID, headers: HTTPHeaders,
        body: ByteBuffer?, bodyBytes: Int = 0,
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
        // The deadline is later than all waits below. It only ends a request that no caller waits for.
        let deadline = NIODeadline.now() + (timeout + Self.restPatience * 2).timeAmount
        let head = await within(max(end - .now, .zero)) { [request] () -> Result<HTTPClientResponse, any Error> in
            do { return .success(try await client.execute(request, deadline: deadline)) } catch {
                return .failure(error)
            }
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

    /// Reads the rest of an answer, so that the connection can be reused. The status has already determined the result.
    /// If a receiver sends for longer than `limit`, its connection is closed, and the delivery still counts as
    /// successful.
    private func rest(of response: HTTPClientResponse, within limit: Duration) async -> ByteBuffer? {
        await within(limit) { try? await response.body.collect(upTo: Self.answerBytes) } ?? nil
    }

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

    /// Returns the client for a target. The caller must return it with ``release(_:of:)``.
    private func client(
        for target: TargetURL, of app: AppID, until end: ContinuousClock.Instant, within timeout: Duration
    ) async throws(Problem) -> HTTPClient {
        let known = state.withLock { state -> Target? in
            guard var known = state.targets[target.authority], .now < known.resolvedAt + Self.longestUse else {
                return nil
            }
            known.usedAt = .now
            known.inUse += 1
            state.targets[target.authority] = known
            return known
        }
        if let known {
            // Requests do not wait for a name server: the checked addresses are used during a new resolution.
            if .now >= known.resolvedAt + Self.freshness { Task { await self.resolveAgain(target, of: app) } }
            return known.client
        }
        let answer = await within(max(end - .now, .zero)) { [names] in await names.addresses(of: target.host, for: app)
        }
        let addresses: [IPAddress]
        switch answer {
        case .found(let found)?: addresses = found
        case .unknown?: throw .failed("the target's name could not be resolved")
        case .notAsked?: throw .interrupted
        case nil:
            throw Task.isCancelled
                ? Problem.interrupted : Problem.failed("the target's name was not resolved within \(timeout.inWords)")
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

    /// Uses the permitted addresses.
    /// - Parameter isTaken: true if the caller uses the client now and returns it with ``release(_:of:)``.
    /// - Returns: nil if no address is permitted, or after shutdown.
    private func use(_ resolved: [IPAddress], for target: TargetURL, isTaken: Bool) -> HTTPClient? {
        let addresses = resolved.filter { policy.admits($0) }
        var idle: [HTTPClient] = []
        let client = state.withLock { state -> HTTPClient? in
            guard !state.isShutDown else { return nil }
            if var known = state.targets[target.authority] {
                // Keep the current address, with its connections, if the name still has it.
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

    /// Switches to another address of the name, if it has one, because the server could not be reached.
    private func avoidAddress(of client: HTTPClient, for target: TargetURL) {
        var idle: [HTTPClient] = []
        state.withLock { state in
            guard let known = state.targets[target.authority], known.client === client, known.addresses.count > 1 else {
                return
            }
            let addresses = Array(known.addresses.dropFirst()) + known.addresses.prefix(1)
            retire(known, in: &state, idle: &idle)
            state.targets[target.authority] = Target(
                client: makeClient(for: target, at: addresses[0]), addresses: addresses, resolvedAt: known.resolvedAt,
                usedAt: .now)
        }
        for client in idle { Task { try? await client.shutdown() } }
    }

    /// Returns a client after a request. A retired client is shut down after its last request.
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

    /// Excludes a client from further requests. Without requests in progress, it is added to `idle`, and the caller
    /// shuts it down.
    private func retire(_ target: Target, in state: inout State, idle: inout [HTTPClient]) {
        if target.inUse == 0 {
            idle.append(target.client)
        } else {
            state.retired[ObjectIdentifier(target.client)] = target.inUse
        }
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

    static func problem(for error: any Error) -> Problem {
        switch error {
        case let error as HTTPClientError:
            switch error {
            case .connectTimeout, .deadlineExceeded, .readTimeout, .getConnectionFromPoolTimeout:
                .failed("no answer came in time")
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
    /// The duration as text for an error message, for example `10 s`.
    var inWords: String {
        let (seconds, attoseconds) = components
        return attoseconds == 0 ? "\(seconds) s" : "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000) ms"
    }
}

/// A reason why a receiver did not accept a request, in words for the app's owner.
enum ReceiverFault: Hashable, Sendable, CustomStringConvertible {
    /// A response with an unexpected status, and its reason phrase.
    case status(Int, String)
    /// A clause, for example "the receiver could not be reached".
    case clause(String)

    /// The reason alone, as shown in the list of deliveries.
    var description: String {
        switch self {
        case .status(let status, let reason):
            "unexpected response status: \(status)\(reason.isEmpty ? "" : " \(reason)")"
        case .clause(let clause): clause
        }
    }

    /// The end of a sentence such as "Verification failed". The protocol defines the wording for statuses, without a
    /// full stop.
    var cause: String {
        switch self {
        case .status: "due to \(self)"
        case .clause(let clause): "because \(clause)\(clause.hasSuffix(".") ? "" : ".")"
        }
    }
}
