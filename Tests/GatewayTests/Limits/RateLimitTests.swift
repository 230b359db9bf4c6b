// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
import ServiceKit
import StrataModel
import Testing

@testable import FanOut
@testable import Gateway

@Suite("rate limits")
struct RateLimitTests {
    private let start = ContinuousClock.now
    private let limit = RateLimit(rate: 10, burst: 5)

    private func key(_ number: Int) -> RateKey {
        RateKey(tokenDigest: withUnsafeBytes(of: number) { Array($0) } + Array(repeating: 0, count: 8))
    }

    @Test("a bucket allows its burst at once, then its rate, and never more than its burst")
    func bucket() {
        var bucket = TokenBucket(limit, at: start)
        for _ in 0..<5 { #expect(bucket.take(limit, at: start) == nil) }
        #expect(bucket.take(limit, at: start) == .milliseconds(100))
        #expect(
            bucket.take(limit, at: start + .milliseconds(60))
                .map { (.milliseconds(39) ... .milliseconds(41)).contains($0) } == true)
        // A client that waits for the given time gets the next token, regardless of its attempts in the meantime.
        #expect(bucket.take(limit, at: start + .milliseconds(101)) == nil)
        #expect(bucket.take(limit, at: start + .milliseconds(101)) != nil)
        for _ in 0..<5 { #expect(bucket.take(limit, at: start + .seconds(3600)) == nil) }
        #expect(bucket.take(limit, at: start + .seconds(3600)) != nil)
    }

    @Test("a clock that seems to go back adds no tokens and breaks nothing")
    func backwards() {
        var bucket = TokenBucket(limit, at: start)
        for _ in 0..<5 { #expect(bucket.take(limit, at: start - .seconds(5)) == nil) }
        #expect(bucket.take(limit, at: start - .seconds(10)) != nil)
    }

    @Test("every client has a separate bucket")
    func separate() {
        var table = BucketTable(limit, at: start)
        for _ in 0..<5 { #expect(table.take(key(1), at: start) == nil) }
        #expect(table.take(key(1), at: start) != nil)
        #expect(table.take(key(2), at: start) == nil)
    }

    @Test("full buckets are removed, and no others")
    func idle() {
        var table = BucketTable(limit, at: start)
        for number in 0..<100 { _ = table.take(key(number), at: start) }
        // All buckets but number 1 are full again after half a second. Number 1 is always empty, so no change of
        // generations may refill it.
        var given = 5
        for _ in 0..<5 { _ = table.take(key(1), at: start) }
        for step in 1...200 {
            if table.take(key(1), at: start + .milliseconds(10 * step)) == nil { given += 1 }
        }
        #expect((24...26).contains(given))
        #expect(table.count == 1)
    }

    @Test("the number of buckets is limited, for any number of clients")
    func bounded() {
        var table = BucketTable(limit, capacity: 1000, at: start)
        for number in 0..<10_000 {
            _ = table.take(key(number), at: start)
            #expect(table.count <= 1000)
        }
        // A bucket in constant use is not evicted.
        var refused = 0
        for number in 0..<10_000 {
            if table.take(key(-1), at: start) != nil { refused += 1 }
            _ = table.take(key(number), at: start)
        }
        #expect(refused == 10_000 - 5)
    }

    @Test("a rate limit setting has two numbers")
    func settings() {
        #expect(RateLimit(setting: "200/4000") == RateLimit(rate: 200, burst: 4000))
        #expect(RateLimit(setting: "0.5/1") == RateLimit(rate: 0.5, burst: 1))
        for text in ["", "1", "1/", "/1", "0/5", "5/0", "-1/5", "1/2/3", "a/b", "nan/1", "inf/5"] {
            #expect(RateLimit(setting: text) == nil, "\(text)")
        }
    }

    @Test("addresses have separate limits, IPv6 addresses share one per network")
    func addresses() throws {
        func key(_ text: String) throws -> RateKey { RateKey(try SocketAddress(ipAddress: text, port: 1)) }
        #expect(try key("10.0.0.1") != key("10.0.0.2"))
        #expect(try key("2001:db8::1") == key("2001:db8::ffff:2"))
        #expect(try key("2001:db8::1") != key("2001:db8:0:1::1"))
        #expect(try key("::ffff:10.0.0.1") == key("10.0.0.1"))
        #expect(try RateKey(address: "10.0.0.1") == key("10.0.0.1"))
        #expect(try RateKey(address: "10.0.0.1:8080") == key("10.0.0.1"))
        #expect(try RateKey(address: "[2001:db8::1]:443") == key("2001:db8::1"))
        #expect(try RateKey(address: "2001:db8::1") == key("2001:db8::1"))
        for text in ["", "unknown", "10.0.0", "[", "_hidden:1"] { #expect(RateKey(address: text) == nil, "\(text)") }
    }

    @Test("the client address is taken only from trusted proxies")
    func forwarded() {
        func client(_ values: [String], _ count: Int) -> RateKey? { RateLimiter.client(of: values, trusting: count) }
        let (first, second, third) = (
            RateKey(address: "10.0.0.1"), RateKey(address: "10.0.0.2"), RateKey(address: "10.0.0.3")
        )
        #expect(client(["10.0.0.1"], 0) == nil)
        #expect(client([], 1) == nil)
        #expect(client(["10.0.0.1, 10.0.0.2"], 1) == second)
        #expect(client(["10.0.0.1", " 10.0.0.2 ,10.0.0.3"], 1) == third)
        #expect(client(["10.0.0.1", "10.0.0.2,10.0.0.3"], 2) == second)
        #expect(client(["10.0.0.1"], 3) == first)
        #expect(client(["10.0.0.1, nonsense"], 1) == nil)
    }

    @Test("each server token has a default limit that the operator can change and remove")
    func serverTokens() throws {
        func limit(_ environment: [String: String]) throws -> RateLimit? {
            try GatewaySettings.LoadLimits(Settings(environment: environment)).rates.server
        }
        #expect(try limit([:]) == RateLimit(rate: 500, burst: 5000))
        #expect(try limit(["STRATA_RATE_LIMIT_SERVER": "1/2"]) == RateLimit(rate: 1, burst: 2))
        #expect(try limit(["STRATA_RATE_LIMIT_SERVER": "0"]) == nil)
        let limiter = RateLimiter(.init(server: RateLimit(rate: 0.001, burst: 2)))
        let (one, other) = (ServerCaller(app: .random(), token: UUID()), ServerCaller(app: .random(), token: UUID()))
        for _ in 0..<2 { #expect(limiter.admit(server: one) == nil) }
        #expect(limiter.admit(server: one) != nil)
        #expect(limiter.admit(server: other) == nil)
    }

    @Test("a limiter counts sessions and addresses separately, and not at all when it is off")
    func limiter() throws {
        let address = try SocketAddress(ipAddress: "10.0.0.1", port: 1)
        let tight = RateLimiter(
            .init(
                session: RateLimit(rate: 0.001, burst: 2), address: RateLimit(rate: 0.001, burst: 3), trustedProxies: 1)
        )
        for _ in 0..<2 { #expect(tight.admit(session: key(1)) == nil) }
        #expect(tight.admit(session: key(1)) != nil)
        for _ in 0..<3 { #expect(tight.admit(address: address, forwarded: [String]()) == nil) }
        #expect(tight.admit(address: address, forwarded: [String]()) != nil)
        #expect(tight.admit(address: address, forwarded: ["10.0.0.2"]) == nil)
        let off = RateLimiter(.init(session: nil, address: nil))
        for _ in 0..<1000 {
            #expect(off.admit(session: key(1)) == nil)
            #expect(off.admit(address: address, forwarded: [String]()) == nil)
        }
    }
}
