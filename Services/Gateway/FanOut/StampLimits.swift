// SPDX-License-Identifier: Apache-2.0
import StrataModel

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
