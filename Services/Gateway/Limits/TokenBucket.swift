// SPDX-License-Identifier: Apache-2.0

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
