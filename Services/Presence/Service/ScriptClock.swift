// SPDX-License-Identifier: Apache-2.0
import Redis

/// The time source of a script.
///
/// The clocks of instances differ, and a deadline set by one instance is evaluated by another. So only the clock of
/// Redis is used.
struct ScriptClock: Sendable {
    /// The Lua code that defines `time` as returned by the command TIME: seconds and microseconds.
    let source: String

    /// The clock of the Redis server, used in production.
    static let server = ScriptClock(source: "local time = redis.call('TIME')")
}

extension Duration {
    /// The duration in whole milliseconds, the unit of the scripts.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}

extension RedisArgument {
    static func milliseconds(_ duration: Duration) -> RedisArgument { .integer(duration.milliseconds) }
}
