// SPDX-License-Identifier: Apache-2.0
package import NIOCore
package import StrataModel

/// The database's clock as last read by the gateway.
///
/// Packets carry times of this clock, and replays begin at them. The gateway's own wall clock may be wrong and is not
/// used.
package struct DatabaseClock: Sendable, Equatable {
    /// The maximum extrapolation after the last reading: longer than the usual interval between two comparisons of
    /// heads, and shorter than ``HeadReconciler/trust``.
    static let reach = Duration.seconds(18)

    /// The clock's time when the answer was made, or earlier.
    package let asOf: Timestamp
    /// The arrival time of the answer, by the monotonic clock.
    package let heardAt: NIODeadline

    package init(asOf: Timestamp, heardAt: NIODeadline) {
        self.asOf = asOf
        self.heardAt = heardAt
    }

    /// Returns the clock's time at `time`, or a somewhat earlier one.
    package func now(at time: NIODeadline) -> Timestamp {
        asOf.advanced(by: min(max(.zero, heardAt.elapsed(until: time)), Self.reach))
    }
}

extension NIODeadline {
    package func elapsed(until other: NIODeadline) -> Duration { .nanoseconds((other - self).nanoseconds) }
}
