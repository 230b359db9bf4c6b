// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// A state machine for one user of one gateway. It decides which entries of the user's own log to deliver to the user's
/// sockets, and when to read the log.
///
/// This feed is simpler than ``ConversationFeed``: entries are rare, so entries that arrive out of order are read
/// again instead of kept.
struct UserFeed {
    /// A step for the owner. Actions are performed in the order in which they are returned.
    enum Action {
        case deliver(UserChange)
        /// An entry is or may be missing. Until the gap is closed, no packet may be stamped later than `since`.
        case openGap(since: Timestamp)
        case closeGap
        /// Read the log after this position, then call ``repaired(_:)`` or ``repairFailed()``.
        case read(after: Position)
        /// Call ``repairIfBehind()`` after the pause that follows a failed repair.
        case checkLater
    }

    /// The last delivered position. nil until the start of the sequence is known.
    private(set) var last: Position?
    /// True while the log is being read.
    private(set) var isRepairing = false
    /// A position known to exist. The entries up to it may not have arrived yet.
    private var target = Position.zero
    /// The earliest time of entries reported before the start of the sequence was known.
    private var heardSince: Timestamp?

    /// Handles a log read up to `position` by a socket's catch-up. The sequence starts there if its start is not known
    /// yet.
    mutating func readElsewhere(to position: Position) -> [Action] {
        guard last == nil else { return [] }
        last = position
        guard let time = heardSince, target > position else { return [] }
        return missing(target, since: time)
    }

    mutating func changePublished(_ change: UserChange) -> [Action] {
        guard let last else { return heard(of: change.position, since: change.createdAt) }
        guard change.position > last else { return [] }
        guard change.position == last.next else { return missing(change.position, since: change.createdAt) }
        self.last = change.position
        return [.deliver(change)]
    }

    /// Handles a report that the log has reached `position`, at `time` or later.
    mutating func headSeen(_ position: Position, since time: Timestamp) -> [Action] {
        guard let last else { return heard(of: position, since: time) }
        guard position > last else { return [] }
        return missing(position, since: time)
    }

    /// Records a position while the start of the sequence is unknown. Only the start shows whether entries are missing.
    private mutating func heard(of position: Position, since time: Timestamp) -> [Action] {
        target = max(target, position)
        heardSince = heardSince.map { min($0, time) } ?? time
        return []
    }

    private mutating func missing(_ position: Position, since time: Timestamp) -> [Action] {
        target = max(target, position)
        return [.openGap(since: time)] + repairIfBehind()
    }

    /// Starts to read missing entries, unless a read is in progress.
    mutating func repairIfBehind() -> [Action] {
        guard !isRepairing, let last else { return [] }
        guard target > last else { return [.closeGap] }
        isRepairing = true
        return [.read(after: last)]
    }

    /// Handles a failed log read. The gap stays open until a retry succeeds.
    mutating func repairFailed() -> [Action] {
        isRepairing = false
        return [.checkLater]
    }

    /// Handles a page of the log after ``last``. Requests another page if entries are still missing.
    mutating func repaired(_ changes: [UserChange]) -> [Action] {
        isRepairing = false
        var actions: [Action] = []
        for change in changes where change.position == last?.next {
            last = change.position
            actions.append(.deliver(change))
        }
        // A log that ends before a known position was restored to an older state. The missing entries no longer
        // exist.
        if actions.isEmpty { target = last ?? .zero }
        return actions + repairIfBehind()
    }
}
