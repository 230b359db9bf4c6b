// SPDX-License-Identifier: Apache-2.0

/// The number of frames over the session's rate limit that are refused before the socket is closed.
struct FrameLimit {
    let key: RateKey
    /// A bucket with the frames that may still be refused. nil until the first refusal.
    private var patience: TokenBucket?

    init(of key: RateKey) { self.key = key }

    /// Counts a refused frame.
    /// - Returns: true if the socket must be closed.
    mutating func refuse(_ limit: RateLimit, at now: ContinuousClock.Instant) -> Bool {
        var left = patience ?? TokenBucket(limit, at: now)
        defer { patience = left }
        return left.take(limit, at: now) != nil
    }
}
