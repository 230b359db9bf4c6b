// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import FoundationEssentials
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

        /// - Returns: nil if a token was taken, otherwise the time that the client has to wait.
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

/// The owner of a token bucket: a session, a client address, or a token of an app's own server.
struct RateKey: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// - Parameter tokenDigest: the SHA-256 digest of the session token. The first half suffices to distinguish
    ///   sessions.
    init(tokenDigest: [UInt8]) {
        self.init(high: Self.number(tokenDigest.prefix(8)), low: Self.number(tokenDigest.dropFirst(8).prefix(8)))
    }

    /// - Parameter token: the id of an app's server token.
    init(token: UUID) {
        self = withUnsafeBytes(of: token.uuid) {
            Self(high: Self.number(Array($0[..<8])[...]), low: Self.number(Array($0[8...])[...]))
        }
    }

    /// Makes the key of an IPv4 address, or of the /64 network of an IPv6 address. One subscriber can use any number of
    /// addresses in such a network.
    init(_ address: SocketAddress?) {
        // The address bytes follow the family and port, and in IPv6 also the flow information.
        switch address {
        case .v4(let v4): self.init(v4: withUnsafeBytes(of: v4.address) { Array($0[4..<8]) })
        case .v6(let v6): self.init(v6: withUnsafeBytes(of: v6.address) { Array($0[8..<24]) })
        default: self.init(high: 0, low: 0)
        }
    }

    /// Parses an address as written by a proxy: with or without a port, and with brackets around an IPv6 address. nil
    /// for anything else.
    init?(address text: some StringProtocol) {
        var host = String(text)
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            host = String(host[host.index(after: host.startIndex)..<end])
        } else if host.count(where: { $0 == ":" }) == 1, let colon = host.firstIndex(of: ":") {
            host = String(host[..<colon])
        }
        guard let address = try? SocketAddress(ipAddress: host, port: 0) else { return nil }
        self.init(address)
    }

    private init(v4 bytes: [UInt8]) { self.init(high: 4, low: Self.number(bytes[...])) }

    private init(v6 bytes: [UInt8]) {
        // An IPv4-mapped IPv6 address is the same client as its IPv4 address.
        if bytes.prefix(10).allSatisfy({ $0 == 0 }), bytes[10] == 0xff, bytes[11] == 0xff {
            self.init(v4: Array(bytes[12...]))
        } else {
            self.init(high: 6, low: Self.number(bytes.prefix(8)))
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}

/// A token-bucket limit: a sustained rate and a maximum burst.
struct RateLimit: Hashable, Sendable {
    /// Tokens added per second.
    let rate: Double
    /// The maximum number of tokens, and so of requests in one burst.
    let burst: Double

    /// The time after which an unused bucket is full again. It can then be discarded.
    var memory: Duration { .seconds(burst / rate) }

    init(rate: Double, burst: Double) {
        self.rate = rate
        self.burst = burst
    }

    /// Parses `rate/burst`, for example `200/4000`.
    init?(setting text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let rate = Double(parts[0]), let burst = Double(parts[1]), (0.001...1e9).contains(rate),
            (1...1e9).contains(burst)
        else { return nil }
        self.init(rate: rate, burst: burst)
    }
}

/// The tokens that one client has left under a ``RateLimit``. The caller passes the time, so that this is a plain
/// value.
struct TokenBucket: Hashable, Sendable {
    private var tokens: Double
    private var countedAt: ContinuousClock.Instant

    init(_ limit: RateLimit, at now: ContinuousClock.Instant) {
        tokens = limit.burst
        countedAt = now
    }

    /// Takes a token if there is one. A refusal costs nothing, so a client that waits as told gets the next token.
    /// - Returns: nil if a token was taken, otherwise the time until there is one.
    mutating func take(_ limit: RateLimit, at now: ContinuousClock.Instant) -> Duration? {
        if now > countedAt {
            tokens = min(limit.burst, tokens + (now - countedAt) / .seconds(1) * limit.rate)
            countedAt = now
        }
        guard tokens >= 1 else { return .seconds((1 - tokens) / limit.rate) }
        tokens -= 1
        return nil
    }
}

/// The token buckets of recently active clients, in two generations.
///
/// The older generation is discarded as a whole: when all its buckets are full again, or when there are too many. The
/// work for one request therefore does not depend on the number of clients.
struct BucketTable: Sendable {
    private let limit: RateLimit
    private let capacity: Int
    private var young: [RateKey: TokenBucket] = [:]
    private var old: [RateKey: TokenBucket] = [:]
    private var turnsAt: ContinuousClock.Instant

    /// - Parameter capacity: the maximum number of buckets.
    init(_ limit: RateLimit, capacity: Int = 100_000, at now: ContinuousClock.Instant) {
        self.limit = limit
        self.capacity = capacity
        turnsAt = now + limit.memory
    }

    var count: Int { young.count + old.count }

    /// - Returns: nil if a token was taken, otherwise the time that the client has to wait.
    mutating func take(_ key: RateKey, at now: ContinuousClock.Instant) -> Duration? {
        if now >= turnsAt || young.count >= capacity / 2 {
            // A bucket used since the last generation change moves on; an unused one has had enough time to become
            // full.
            old = now >= turnsAt + limit.memory ? [:] : young
            young = [:]
            turnsAt = now + limit.memory
        }
        if let place = young.index(forKey: key) { return young.values[place].take(limit, at: now) }
        var bucket = old.removeValue(forKey: key) ?? TokenBucket(limit, at: now)
        let wait = bucket.take(limit, at: now)
        young[key] = bucket
        return wait
    }
}
