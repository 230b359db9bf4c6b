// SPDX-License-Identifier: Apache-2.0
package import NIOCore
package import StrataModel
package import StrataWire

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

/// A timestamp with its text, so that one event-loop turn formats it once for all packets.
package struct Stamp {
    package let time: Timestamp
    package let text: TimestampText
    package init(_ time: Timestamp) {
        self.time = time
        text = TimestampText(time)
    }
}

extension Timestamp {
    /// The latest representable time.
    package static let distantFuture = Timestamp(microseconds: .max)
}

/// The latest time with which packets of a loop may be stamped (docs/architecture.md §6, The time on packets).
struct StampLimits {
    /// A log whose sequence may have a gap.
    enum Log: Hashable {
        case conversation(ConversationID)
        case user(UserKey)
    }

    /// Logs with a gap, each with the latest time allowed on packets.
    private var gaps: [Log: Timestamp] = [:] { didSet { update() } }
    private(set) var gapFloor: Timestamp?
    /// The database's clock as of the last comparison of heads, set after the gaps found by it are open. nil: unknown.
    /// The clock limits the times on packets, because later heads are not known (``HeadReconciler/trust``).
    var clock: DatabaseClock? { didSet { update() } }
    /// The latest time allowed on packets of this loop's sockets. nil: no limit.
    private(set) var ceiling: Timestamp?

    /// Opens a gap for changes made at `time`, or keeps an earlier limit.
    mutating func gapOpened(_ log: Log, since time: Timestamp) { gaps[log] = min(gaps[log] ?? time, time) }

    mutating func gapClosed(_ log: Log) {
        if gaps[log] != nil { gaps[log] = nil }
    }

    mutating func closeAll() { gaps = [:] }

    private mutating func update() {
        gapFloor = gaps.values.min()
        ceiling = [gapFloor, clock?.asOf.advanced(by: HeadReconciler.trust)].compactMap(\.self).min()
    }
}
