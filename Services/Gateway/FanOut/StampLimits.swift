// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// Up to which time the packets of a loop may be stamped (docs/architecture.md §6, The time on packets).
struct StampLimits {
    /// A log whose sequence may have a gap.
    enum Log: Hashable {
        case conversation(ConversationID)
        case user(UserKey)
    }

    /// Logs whose sequence has a gap, with the time no packet may be stamped beyond.
    private var gaps: [Log: Timestamp] = [:] { didSet { update() } }
    private(set) var gapFloor: Timestamp?
    /// As of the last comparison of heads, once the gaps that it showed are open; nil: none yet. Packets are not stamped much later,
    /// because of what heads have not shown yet (``HeadReconciler/trust``).
    var clock: DatabaseClock? { didSet { update() } }
    /// No packet of any socket of the loop may be stamped later.
    private(set) var ceiling: Timestamp?

    /// Something in this log that was made at `time` is owed.
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
