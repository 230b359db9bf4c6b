// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// Decides, for one user of one gateway, which entries of the user's own log are handed on to the user's sockets, and when the log is read.
///
/// Simpler than ``ConversationFeed``: entries are few, so what comes out of order is read instead of kept.
struct UserFeed {
    /// What is to be done, in this order.
    enum Action {
        case deliver(UserChange)
        /// Something since then is, or may be, owed: no packet may be stamped later until the gap is closed.
        case openGap(since: Timestamp)
        case closeGap
        /// Read the log after this; then call ``repaired(_:)`` or ``repairFailed()``.
        case read(after: Position)
        /// Call ``repairIfBehind()`` after the pause that follows a failed repair.
        case checkLater
    }

    /// Last position handed on; nil until told.
    private(set) var last: Position?
    /// The log is being read.
    private(set) var isRepairing = false
    /// A position known to exist that may not have come yet.
    private var target = Position.zero
    /// Something was heard of before it was told where the sequence starts; this is the time of the first of it.
    private var heardSince: Timestamp?

    /// A socket has read the log up to `position`: if none did before, that is where the sequence starts.
    mutating func readElsewhere(to position: Position) -> [Action] {
        guard last == nil else { return [] }
        last = position
        guard let time = heardSince, target > position else { return [] }
        return missing(target, since: time)
    }

    /// An entry came from pub/sub.
    mutating func changePublished(_ change: UserChange) -> [Action] {
        guard let last else { return heard(of: change.position, since: change.createdAt) }
        guard change.position > last else { return [] }
        guard change.position == last.next else { return missing(change.position, since: change.createdAt) }
        self.last = change.position
        return [.deliver(change)]
    }

    /// The log has come to `position`, at `time` or later.
    mutating func headSeen(_ position: Position, since time: Timestamp) -> [Action] {
        guard let last else { return heard(of: position, since: time) }
        guard position > last else { return [] }
        return missing(position, since: time)
    }

    /// Whether anything is missing shows when the sequence starts.
    private mutating func heard(of position: Position, since time: Timestamp) -> [Action] {
        target = max(target, position)
        heardSince = heardSince.map { min($0, time) } ?? time
        return []
    }

    private mutating func missing(_ position: Position, since time: Timestamp) -> [Action] {
        target = max(target, position)
        return [.openGap(since: time)] + repairIfBehind()
    }

    /// Time to read what is missing, unless that is being done.
    mutating func repairIfBehind() -> [Action] {
        guard !isRepairing, let last else { return [] }
        guard target > last else { return [.closeGap] }
        isRepairing = true
        return [.read(after: last)]
    }

    /// The log could not be read: what is missing stays so.
    mutating func repairFailed() -> [Action] {
        isRepairing = false
        return [.checkLater]
    }

    /// A page of the log after ``last`` came. Should it not reach as far as it must, there is another one.
    mutating func repaired(_ changes: [UserChange]) -> [Action] {
        isRepairing = false
        var actions: [Action] = []
        for change in changes where change.position == last?.next {
            last = change.position
            actions.append(.deliver(change))
        }
        // A log that holds less than it must has been put back: it will not come.
        if actions.isEmpty { target = last ?? .zero }
        return actions + repairIfBehind()
    }
}
