// SPDX-License-Identifier: Apache-2.0

/// How many of a socket's frames may be refused, because its session asks for more than it may, before the socket is closed.
struct FrameLimit {
    let key: RateKey
    /// Frames that may still be refused; nil while none was.
    private var patience: TokenBucket?

    init(of key: RateKey) { self.key = key }

    /// A frame is refused.
    /// - Returns: whether that was one too many.
    mutating func refuse(_ limit: RateLimit, at now: ContinuousClock.Instant) -> Bool {
        var left = patience ?? TokenBucket(limit, at: now)
        defer { patience = left }
        return left.take(limit, at: now) != nil
    }
}
