// SPDX-License-Identifier: Apache-2.0

/// So many of something at once, and so many a second for good.
struct RateLimit: Hashable, Sendable {
    let rate: Double
    /// At once.
    let burst: Double

    /// After this long without use a bucket is full again, and its past does not matter any more.
    var memory: Duration { .seconds(burst / rate) }

    init(rate: Double, burst: Double) {
        self.rate = rate
        self.burst = burst
    }

    /// Reads `200/4000`, rate and burst.
    init?(setting text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let rate = Double(parts[0]), let burst = Double(parts[1]), (0.001...1e9).contains(rate), (1...1e9).contains(burst)
        else { return nil }
        self.init(rate: rate, burst: burst)
    }
}

/// What is left of a ``RateLimit`` for one client. The time is given, so that this is a plain value.
struct TokenBucket: Hashable, Sendable {
    private var tokens: Double
    private var countedAt: ContinuousClock.Instant

    /// Full.
    init(_ limit: RateLimit, at now: ContinuousClock.Instant) {
        tokens = limit.burst
        countedAt = now
    }

    /// Takes one, if there is one. A refusal costs nothing: a client that waits as long as it is told gets the next one.
    /// - Returns: how long until there is one again; nil: it was taken.
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

/// The buckets of all clients that were heard of lately. They are two generations, the older of which is forgotten as a whole: after it has become
/// meaningless, or when there are too many. So the work for one request does not depend on how many clients there are.
struct BucketTable: Sendable {
    private let limit: RateLimit
    private let capacity: Int
    private var young: [RateKey: TokenBucket] = [:]
    private var old: [RateKey: TokenBucket] = [:]
    private var turnsAt: ContinuousClock.Instant

    /// - Parameter capacity: of buckets, at most.
    init(_ limit: RateLimit, capacity: Int = 100_000, at now: ContinuousClock.Instant) {
        self.limit = limit
        self.capacity = capacity
        turnsAt = now + limit.memory
    }

    /// How many there are.
    var count: Int { young.count + old.count }

    /// - Returns: how long the client has to wait; nil: it need not.
    mutating func take(_ key: RateKey, at now: ContinuousClock.Instant) -> Duration? {
        if now >= turnsAt || young.count >= capacity / 2 {
            // A bucket used since the last turn moves on; one that was not has been left alone long enough to be full.
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
