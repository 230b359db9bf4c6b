// SPDX-License-Identifier: Apache-2.0

/// Where a script takes the time from.
///
/// Instances' clocks differ, and a deadline set by one is judged by another: only Redis's own clock counts.
struct ScriptClock: Sendable {
    /// Lua that defines `time`, as the command TIME returns it: seconds and microseconds.
    let source: String

    /// The server's clock. What services use.
    static let server = ScriptClock(source: "local time = redis.call('TIME')")
}
