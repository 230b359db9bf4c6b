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
    /// Commands that were not taken because too many, or too many bytes, were waiting or in flight.
    let refused = Counter(label: "redis_refused_commands_total")
    /// Commands that wait or are in flight.
    let queuedCommands = Gauge(label: "redis_queued_commands")
    /// Bytes of their arguments.
    let queuedBytes = Gauge(label: "redis_queued_bytes")
    /// Connections that were lost, and had to be made again.
    let reconnects = Counter(label: "redis_reconnects_total")
    /// Messages received by subscribers.
    let messages = Counter(label: "redis_messages_received_total")
}
