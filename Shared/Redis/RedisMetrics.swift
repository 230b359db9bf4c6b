// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Logging
import NetKit

struct RedisMetrics: Sendable {
    let commands = Counter(label: "strata_redis_commands_total")
    /// Failed commands, for any reason.
    let failures = Counter(label: "strata_redis_command_failures_total")
    /// Publishes without a waiting caller that did not reach a server.
    let droppedPublishes = Counter(label: "strata_redis_dropped_publishes_total")
    /// Commands refused because the queue's limit of commands or bytes was reached.
    let refused = Counter(label: "strata_redis_refused_commands_total")
    /// Queued and in-flight commands.
    let queuedCommands = Gauge(label: "strata_redis_queued_commands")
    /// The size of the arguments of queued and in-flight commands, in bytes.
    let queuedBytes = Gauge(label: "strata_redis_queued_bytes")
    let reconnects = Counter(label: "strata_redis_reconnects_total")
    /// Returns the availability of Redis for one use, reported as `strata_process_dependency_up{dependency="redis"}`.
    /// - Parameter use: `commands` or `subscriptions`. A process may have both.
    static func availability(for use: String, logger: Logger) -> Availability {
        let gauge = Gauge(label: "strata_process_dependency_up", dimensions: [("dependency", "redis"), ("for", use)])
        var logger = logger
        logger[metadataKey: "redis.for"] = "\(use)"
        return Availability(
            failureMessage: "Redis is unavailable", recoveryMessage: "Redis is available again", logger: logger
        ) { gauge.record($0 ? 1 : 0) }
    }

    let messages = Counter(label: "strata_redis_messages_received_total")
}
