// SPDX-License-Identifier: Apache-2.0
package import NIOCore
package import StrataModel

/// The clock of the database, as far as a gateway knows it. Packets carry its times, and replays begin at them, so the gateway's own wall clock, which may show
/// any time, plays no part.
package struct DatabaseClock: Sendable, Equatable {
    /// How far the clock is taken to have run on since it was read last. Longer than the usual pause between two comparisons of heads, and shorter than what
    /// ``HeadReconciler/trust`` allows.
    static let reach = Duration.seconds(18)

    /// What it showed, at the answer or earlier.
    package let asOf: Timestamp
    /// When the answer came, by the clock that never jumps.
    package let heardAt: NIODeadline

    package init(asOf: Timestamp, heardAt: NIODeadline) {
        self.asOf = asOf
        self.heardAt = heardAt
    }

    /// What it shows, or somewhat less.
    package func now(at time: NIODeadline) -> Timestamp { asOf.advanced(by: min(max(.zero, heardAt.elapsed(until: time)), Self.reach)) }
}

extension NIODeadline {
    /// The time from this moment to another one.
    package func elapsed(until other: NIODeadline) -> Duration { .nanoseconds((other - self).nanoseconds) }
}
