// SPDX-License-Identifier: Apache-2.0

import CoreMetrics

/// What the module counts.
struct RedisMetrics: Sendable {
    /// Commands issued.
    let commands = Counter(label: "redis_commands_total")
    /// Commands that failed, for whatever reason.
    let failures = Counter(label: "redis_command_failures_total")
    /// Publishes nobody waited for that did not reach a server.
    let droppedPublishes = Counter(label: "redis_dropped_publishes_total")
    /// Connections that were lost, and had to be made again.
    let reconnects = Counter(label: "redis_reconnects_total")
    /// Messages received by subscribers.
    let messages = Counter(label: "redis_messages_received_total")
}
