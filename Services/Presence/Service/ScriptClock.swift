// SPDX-License-Identifier: Apache-2.0

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
