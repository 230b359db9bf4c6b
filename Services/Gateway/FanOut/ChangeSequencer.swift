// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// Puts the changes of one conversation in order of position and removes duplicates, regardless of the order of
/// arrival.
///
/// Pub/sub messages are only hints: they can be lost, duplicated, or reordered between two publishers. The sequencer
/// delivers each change that continues the sequence, keeps changes that are ahead, and reports gaps. It has no clock:
/// its owner decides how long to wait before it reads missing changes from the log.
struct ChangeSequencer {
    /// The last delivered position. nil until the start of the sequence is known; until then all changes are kept.
    private(set) var last: Position?
    /// Changes ahead of the sequence, sorted by position. Almost always empty.
    private var early: [Change] = []

    /// The maximum number of early changes. Beyond it the newest is dropped, because the log still has it.
    static let earlyLimit = 512

    enum Outcome {
        case deliver([Change])
        /// A new gap precedes this change. The caller starts to wait for the missing changes.
        case gapOpened
        /// No action: a duplicate, or another early change of a known gap.
        case nothing
    }

    /// True if changes wait for a predecessor.
    var hasGap: Bool { last != nil && !early.isEmpty }

    /// The first change behind the gap; nil without a gap.
    var firstEarly: Change? { hasGap ? early.first : nil }

    /// Handles a change from pub/sub or from the log.
    mutating func changeArrived(_ change: Change) -> Outcome {
        guard let last else {
            keep(change)
            return .nothing
        }
        if change.position <= last { return .nothing }
        if change.position == last.next {
            self.last = change.position
            return .deliver(early.isEmpty ? [change] : [change] + takeContinuation())
        }
        let wasOpen = hasGap
        keep(change)
        return wasOpen ? .nothing : .gapOpened
    }

    /// Moves the sequence forward to `position`, because all earlier changes reach the sockets by other means. Never
    /// moves backward.
    /// - Returns: early changes that now continue the sequence.
    mutating func advanced(to position: Position) -> [Change] {
        if let last, position <= last { return [] }
        last = position
        early.removeAll { $0.position <= position }
        return takeContinuation()
    }

    private mutating func keep(_ change: Change) {
        let index = early.firstIndex { $0.position >= change.position } ?? early.endIndex
        if index < early.endIndex, early[index].position == change.position { return }
        early.insert(change, at: index)
        if early.count > Self.earlyLimit { early.removeLast() }
    }

    /// Removes and returns the early changes that continue the sequence, and advances ``last`` past them.
    private mutating func takeContinuation() -> [Change] {
        var taken = 0
        while taken < early.count, let last, early[taken].position == last.next {
            self.last = early[taken].position
            taken += 1
        }
        defer { early.removeFirst(taken) }
        return Array(early.prefix(taken))
    }
}
