// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Logging
import NetKit

/// What the module counts.
struct RedisMetrics: Sendable {
    let commands = Counter(label: "strata_redis_commands_total")
    /// Commands that failed, for whatever reason.
    let failures = Counter(label: "strata_redis_command_failures_total")
    /// Publishes without a waiting caller that did not reach a server.
    let droppedPublishes = Counter(label: "strata_redis_dropped_publishes_total")
    /// Commands that were not taken because too many, or too many bytes, were waiting or in flight.
    let refused = Counter(label: "strata_redis_refused_commands_total")
    /// Commands that wait or are in flight.
    let queuedCommands = Gauge(label: "strata_redis_queued_commands")
    /// Bytes of their arguments.
    let queuedBytes = Gauge(label: "strata_redis_queued_bytes")
    /// Connections that were lost, and had to be made again.
    let reconnects = Counter(label: "strata_redis_reconnects_total")
    /// Whether Redis works for one use of it, which is shown as `strata_process_dependency_up{dependency="redis"}`.
    /// - Parameter use: `commands` or `subscriptions`: a process may have both.
    static func availability(for use: String, logger: Logger) -> Availability {
        let gauge = Gauge(label: "strata_process_dependency_up", dimensions: [("dependency", "redis"), ("for", use)])
        var logger = logger
        logger[metadataKey: "redis.for"] = "\(use)"
        return Availability(gone: "Redis is unavailable", back: "Redis is available again", logger: logger) { gauge.record($0 ? 1 : 0) }
    }

    /// Messages received by subscribers.
    let messages = Counter(label: "strata_redis_messages_received_total")
}
