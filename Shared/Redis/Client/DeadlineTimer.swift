// SPDX-License-Identifier: Apache-2.0

/// Decides when the one timer of a client must fire: a timer for each command would cost more than the command.
///
/// It remembers the earliest deadline seen since it last fired. When it fires, whoever is late is found by looking at all that wait, and the
/// earliest of the rest is added again; with deadlines seconds away that is a scan every few seconds.
struct DeadlineTimer {
    private var earliest: ContinuousClock.Instant?

    /// Returns whether the timer must be set to this deadline, instead of what it was set to.
    mutating func added(_ deadline: ContinuousClock.Instant) -> Bool {
        if let earliest, earliest <= deadline { return false }
        earliest = deadline
        return true
    }

    mutating func fired() { earliest = nil }
}
