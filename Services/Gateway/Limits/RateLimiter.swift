// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Metrics
import NIOCore
import Synchronization

/// Limits the rate of requests of each session, each client address, and each token of an app's own server
/// (docs/conformance.md §1.10).
///
/// The check precedes all other work for a request. The limits are far above the usage of people. Each gateway counts
/// separately.
final class RateLimiter: Sendable {
    struct Limits: Sendable {
        /// The limit of each session. nil: off.
        var session: RateLimit? = RateLimit(rate: 200, burst: 4000)
        /// The limit of each client address. nil: off.
        var address: RateLimit? = RateLimit(rate: 2000, burst: 20_000)
        /// The limit of each token of an app's own server. nil: off.
        var server: RateLimit? = RateLimit(rate: 500, burst: 5000)
        /// The number of trusted proxies in front of the gateway. Each appends the address of its peer to
        /// `X-Forwarded-For`.
        var trustedProxies = 0
    }

    private final class Buckets: Sendable {
        private let table: Mutex<BucketTable>

        init(_ limit: RateLimit) { table = Mutex(BucketTable(limit, at: .now)) }

        func take(_ key: RateKey) -> Duration? { table.withLock { $0.take(key, at: .now) } }
    }

    let limits: Limits
    private let sessions: Buckets?
    private let addresses: Buckets?
    private let servers: Buckets?
    private let refusedSessions = Counter(label: "strata_gateway_rate_limited_total", dimensions: [("by", "session")])
    private let refusedAddresses = Counter(label: "strata_gateway_rate_limited_total", dimensions: [("by", "address")])
    private let refusedServers = Counter(label: "strata_gateway_rate_limited_total", dimensions: [("by", "server")])

    init(_ limits: Limits) {
        self.limits = limits
        sessions = limits.session.map { Buckets($0) }
        addresses = limits.address.map { Buckets($0) }
        servers = limits.server.map { Buckets($0) }
    }

    /// Counts a request or frame of a session. Returns the time to wait if it exceeds the limit, otherwise nil.
    func admit(session key: RateKey) -> Duration? {
        guard let wait = sessions?.take(key) else { return nil }
        refusedSessions.increment()
        return wait
    }

    /// Counts a request of an app's own server. Returns the time to wait if it exceeds the limit, otherwise nil.
    func admit(server caller: ServerCaller) -> Duration? {
        guard let wait = servers?.take(RateKey(token: caller.token)) else { return nil }
        refusedServers.increment()
        return wait
    }

    /// Counts a request or a socket's handshake from an address.
    /// - Parameters:
    ///   - remote: the peer of the connection.
    ///   - forwarded: all values of `X-Forwarded-For`, in order.
    /// - Returns: the time to wait if it exceeds the limit, otherwise nil.
    func admit(address remote: SocketAddress?, forwarded: [some StringProtocol]) -> Duration? {
        guard let addresses, let wait = addresses.take(client(remote, forwarded: forwarded)) else { return nil }
        refusedAddresses.increment()
        return wait
    }

    /// Returns the client's address: from the trusted proxies if there are any, otherwise from the connection.
    func client(_ remote: SocketAddress?, forwarded: [some StringProtocol]) -> RateKey {
        Self.client(of: forwarded, trusting: limits.trustedProxies) ?? RateKey(remote)
    }

    /// Returns the client's address from `X-Forwarded-For`, or nil if the connection's address applies.
    ///
    /// Each proxy appends the address of its peer. The entry of the outermost trusted proxy is therefore at position
    /// `count` from the end. The client may have forged all earlier entries.
    static func client(of forwarded: [some StringProtocol], trusting count: Int) -> RateKey? {
        guard count > 0, !forwarded.isEmpty else { return nil }
        let hops = forwarded.flatMap { $0.split(separator: ",") }
        guard let hop = hops.suffix(count).first else { return nil }
        return RateKey(address: String(hop).filter { $0 != " " && $0 != "\t" })
    }
}
