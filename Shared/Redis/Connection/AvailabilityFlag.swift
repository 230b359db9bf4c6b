// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Logging
import Synchronization

/// Whether Redis works, as the event loop last saw it: read from anywhere, shown as `strata_dependency_up{dependency="redis"}`, and logged once when it
/// goes and once when it is back, however many attempts and commands fail in between.
final class AvailabilityFlag: Sendable {
    private let flag = Atomic(false)
    private let isAway = Atomic(false)
    private let gauge: Gauge
    private let logger: Logger

    /// - Parameter role: `commands` or `subscriptions`: a process may have both.
    init(_ role: String, logger: Logger) {
        gauge = Gauge(label: "strata_dependency_up", dimensions: [("dependency", "redis"), ("for", role)])
        gauge.record(0)
        var logger = logger
        logger[metadataKey: "redis.for"] = "\(role)"
        self.logger = logger
    }

    var isAvailable: Bool { flag.load(ordering: .relaxed) }

    /// On the event loop, as everything that follows.
    func set(_ value: Bool) {
        guard flag.exchange(value, ordering: .relaxed) != value else { return }
        gauge.record(value ? 1 : 0)
        if !value { return failed(nil) }
        if isAway.exchange(false, ordering: .relaxed) { logger.notice("Redis is available again") }
    }

    /// Something went wrong. That is news if nothing works any more, or never has.
    func failed(_ error: RedisError?) {
        guard !isAvailable, !isAway.exchange(true, ordering: .relaxed) else { return }
        logger.error("Redis is unavailable", metadata: error.map { ["redis.error": "\($0)"] } ?? [:])
    }

    /// We leave, not Redis.
    func close() {
        flag.store(false, ordering: .relaxed)
        gauge.record(0)
    }
}
