// SPDX-License-Identifier: Apache-2.0
import Model

/// Decides, for one user of one gateway, what of his own log is handed on to his sockets and when it is read.
///
/// Simpler than ``ConversationFeed``: entries are few, so what comes out of order is read instead of kept.
struct UserFeed {
    /// What is to be done, in this order.
    enum Action {
        case deliver(UserChange)
        /// Read the log after this; then call ``repaired(_:)`` or ``repairFailed()``.
        case read(after: Position)
        /// Call ``lookAgain()`` after the pause that follows a failed repair.
        case lookAgain
    }

    /// Last position handed on; nil until told.
    private(set) var last: Position?
    /// The log is being read.
    private(set) var isRepairing = false

    /// Somebody has read the log up to `position` by himself: if nobody did before, that is where the sequence starts.
    /// - Returns: the last position handed on.
    mutating func readElsewhere(to position: Position) -> Position {
        let last = last ?? position
        self.last = last
        return last
    }

    /// An entry came from pub/sub.
    mutating func received(_ change: UserChange) -> Action? {
        guard let last, change.position > last else { return nil }
        guard change.position == last.next else { return lookAgain() }
        self.last = change.position
        return .deliver(change)
    }

    /// The log has come as far as `position`.
    mutating func headSeen(_ position: Position) -> Action? {
        guard let last, position > last else { return nil }
        return lookAgain()
    }

    /// Time to read what is missing, unless that is being done.
    mutating func lookAgain() -> Action? {
        guard !isRepairing, let last else { return nil }
        isRepairing = true
        return .read(after: last)
    }

    mutating func repairFailed() -> Action {
        isRepairing = false
        return .lookAgain
    }

    /// The log after ``last`` was read.
    mutating func repaired(_ changes: [UserChange]) -> [Action] {
        isRepairing = false
        return changes.compactMap { received($0) }
    }
}
