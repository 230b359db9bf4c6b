// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// Puts the changes of one conversation in order of position, each once, whatever order pub/sub brings them in.
///
/// Pub/sub is only a hint: messages may be lost, doubled, or come from two publishers in the wrong order. The machine hands on what
/// continues the sequence, keeps what is ahead, and says when something is missing. It knows no clock; its owner decides how long
/// to wait before it reads the missing changes from the log.
struct ChangeSequencer {
    /// The last position handed on. Nil until the start of the sequence is known; until then everything is kept.
    private(set) var last: Position?
    /// What came too early, by position. Empty nearly always.
    private var early: [Change] = []

    /// A bound on what is kept: beyond it, the newest is dropped again, since the log has it.
    static let earlyLimit = 512

    /// What to do after a change arrived.
    enum Outcome {
        /// Hand these on, in this order.
        case deliver([Change])
        /// Something before this change is missing, and was not before: start waiting.
        case gapOpened
        /// Known already, or one more early change of a gap that is known.
        case nothing
    }

    /// Whether changes wait for a predecessor.
    var hasGap: Bool { last != nil && !early.isEmpty }

    var firstEarly: Change? { hasGap ? early.first : nil }

    /// A change came, from pub/sub or from the log.
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

    /// Everything up to `position` has been, or will be, brought to the sockets by other means. Moves only forward.
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
