// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Metrics
import NIOCore
import Synchronization

/// Keeps any one client from taking more than its share of this gateway (docs/conformance.md §1.10): so many requests for each session, for each
/// address, and for each token of an app's own server.
///
/// It is asked before anything else is done for a request. The limits are far beyond what people cause; each gateway counts for itself.
final class RateLimiter: Sendable {
    /// Settings of it.
    struct Limits: Sendable {
        /// Nil: off.
        var session: RateLimit? = RateLimit(rate: 200, burst: 4000)
        var address: RateLimit? = RateLimit(rate: 2000, burst: 20_000)
        /// The limit of each token of an app's own server. nil: off.
        var server: RateLimit? = RateLimit(rate: 500, burst: 5000)
        /// How many proxies stand in front, each of which says in `X-Forwarded-For` whom it serves.
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

    /// A request or frame of a session.
    /// - Returns: how long it has to wait; nil: it need not.
    func admit(session key: RateKey) -> Duration? {
        guard let wait = sessions?.take(key) else { return nil }
        refusedSessions.increment()
        return wait
    }

    /// A request of an app's own server.
    /// - Returns: how long it has to wait; nil: it need not.
    func admit(server caller: ServerCaller) -> Duration? {
        guard let wait = servers?.take(RateKey(token: caller.token)) else { return nil }
        refusedServers.increment()
        return wait
    }

    /// A request, or the handshake of a socket, from an address.
    /// - Parameters:
    ///   - remote: the other end of the connection.
    ///   - forwarded: all values of `X-Forwarded-For`, in their order.
    /// - Returns: how long it has to wait; nil: it need not.
    func admit(address remote: SocketAddress?, forwarded: [some StringProtocol]) -> Duration? {
        guard let addresses, let wait = addresses.take(client(remote, forwarded: forwarded)) else { return nil }
        refusedAddresses.increment()
        return wait
    }

    /// Who is at the other end: as the proxies in front say, if there are any, or else as the connection does.
    func client(_ remote: SocketAddress?, forwarded: [some StringProtocol]) -> RateKey {
        Self.client(of: forwarded, trusting: limits.trustedProxies) ?? RateKey(remote)
    }

    /// Each proxy appends whom it got the request from, so what the outermost trusted one saw stands so many from the end; what stands before it
    /// the client may have invented. Nil: the connection itself tells more.
    static func client(of forwarded: [some StringProtocol], trusting count: Int) -> RateKey? {
        guard count > 0, !forwarded.isEmpty else { return nil }
        let hops = forwarded.flatMap { $0.split(separator: ",") }
        guard let hop = hops.suffix(count).first else { return nil }
        return RateKey(address: String(hop).filter { $0 != " " && $0 != "\t" })
    }
}
