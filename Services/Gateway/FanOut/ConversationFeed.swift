// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// A state machine for one conversation of one gateway. It decides which changes to deliver to the sockets, and when to
/// read the log.
///
/// A feed is a pure value: events go in, actions come out. ``FanOut`` owns the Redis subscription, the timers, and the
/// service calls. The simulation (Tests/SimulationTests) runs both under a virtual clock and over a lossy network.
struct ConversationFeed {
    /// A step for the owner. Actions are performed in the order in which they are returned.
    enum Action {
        /// Deliver these changes, in this order.
        case deliver([Change])
        /// Deliver these changes from the log. They carry no counts; `counts` are the counts read with them, valid at
        /// the log's head at that time.
        case deliverFromLog([Change], counts: [UserID: UserCounts])
        /// A change is or may be missing. Until the gap is closed, no packet may be stamped later than `since`.
        case openGap(since: Timestamp)
        /// No change is missing. `counts` are the counts read with the log; empty if the log was not read.
        case closeGap(counts: [UserID: UserCounts])
        /// Read the log after this position, then call ``repaired(_:)`` or ``repairFailed()``.
        case read(after: Position)
        /// Call ``repairIfBehind()`` after the wait.
        case checkLater(Wait)
        /// Call ``repairUnlessArrived(_:since:)`` after the wait.
        case checkArrival(of: Position, since: Timestamp, Wait)
    }

    /// The result of a published change. A separate enumeration, because the hot path must not allocate an array of
    /// actions.
    enum Reception {
        case deliver([Change])
        /// Open the gap, and call ``repairIfBehind()`` after ``Wait/gapPatience``.
        case awaitPredecessor(since: Timestamp)
        case nothing
    }

    /// A delay before the next check.
    enum Wait: Equatable {
        /// The patience for changes that may still be in transit.
        case gapPatience
        /// The pause before another log read if the last one failed, lacked counts, or returned no changes although
        /// some are missing. Also the pause after a head whose publication may still be in transit.
        case repairPause
        case none
    }

    private(set) var sequencer = ChangeSequencer()
    /// True while the log is being read.
    private(set) var isRepairing = false
    /// The highest position known from heads, other logs, or pages of this log. The changes up to it may not have
    /// arrived yet. An empty page can lower it.
    private(set) var target = Position.zero
    /// The earliest time of a possibly missing change, from heads or another log. Set only until the start of the
    /// sequence is known.
    private var missingSince: Timestamp?
    /// True if counts must be read even if no change is missing.
    private var areCountsMissing = false

    var last: Position? { sequencer.last }

    /// True if a change is known to be missing.
    private var isBehind: Bool {
        guard let last else { return false }
        return sequencer.hasGap || target > last
    }

    mutating func changePublished(_ change: Change) -> Reception {
        switch sequencer.changeArrived(change) {
        case .deliver(let changes): .deliver(changes)
        case .gapOpened: .awaitPredecessor(since: change.createdAt)
        case .nothing: .nothing
        }
    }

    /// Starts the sequence at `position`, up to which a socket's catch-up has read the log. Does nothing if the start
    /// is already known.
    mutating func readElsewhere(to position: Position) -> [Action] {
        guard last == nil else { return [] }
        let changes = sequencer.advanced(to: position)
        var actions: [Action] = changes.isEmpty ? [] : [.deliver(changes)]
        // The changes before the early ones were published before this gateway subscribed, or were lost.
        if let early = sequencer.firstEarly {
            actions += [.openGap(since: early.createdAt), .checkLater(.gapPatience)]
        }
        // The catch-up may have finished long ago: a client that does not read its packets delays the following
        // steps.
        if let missingSince, let last, target > last {
            actions += [.openGap(since: missingSince), .checkLater(.gapPatience)]
        }
        return actions
    }

    /// Records a position known from another log. The conversation reached it at `time` or earlier, by the database's
    /// clock.
    mutating func expected(_ position: Position, since time: Timestamp) -> Action {
        heard(of: position, since: time)
        return .checkArrival(of: position, since: time, .gapPatience)
    }

    /// Compares a head with the sequence. Missing changes were made at `time` or later, by the database's clock.
    ///
    /// - Returns: a delayed check, because the publication may still be in transit; only a change that does not arrive
    ///   in time is lost. nil if the head has arrived, or while the start of the sequence is unknown.
    mutating func headSeen(_ position: Position, since time: Timestamp) -> Action? {
        if let last, position <= last { return nil }
        heard(of: position, since: time)
        return last == nil ? nil : .checkArrival(of: position, since: time, .repairPause)
    }

    /// Records a known position. Later heads do not repeat it.
    private mutating func heard(of position: Position, since time: Timestamp) {
        target = max(target, position)
        if last == nil { missingSince = min(missingSince ?? time, time) }
    }

    /// Starts a repair if the expected position has not arrived. Returns no actions if it has.
    mutating func repairUnlessArrived(_ position: Position, since time: Timestamp) -> [Action] {
        guard let last, position > last else { return [] }
        return [.openGap(since: time)] + repairIfBehind()
    }

    /// Starts to read the log if changes or counts are missing; otherwise closes the gap. Does nothing during a read,
    /// or while the start of the sequence is unknown.
    mutating func repairIfBehind() -> [Action] {
        guard !isRepairing, let last else { return [] }
        guard isBehind || areCountsMissing else { return [.closeGap(counts: [:])] }
        areCountsMissing = false
        isRepairing = true
        return [.read(after: last)]
    }

    /// Requests another read of counts after ``Wait/repairPause``. A socket that attached during a log read received
    /// changes without the counts of its user.
    mutating func countsMissing() -> Action {
        areCountsMissing = true
        return .checkLater(.repairPause)
    }

    /// Handles a failed log read. The gap and its limit on timestamps remain until a retry succeeds.
    mutating func repairFailed() -> [Action] {
        isRepairing = false
        return [.checkLater(.repairPause)]
    }

    /// Handles a page of the log. If changes are still missing, another read follows; otherwise the gap is closed.
    mutating func repaired(_ page: ChangePage) -> [Action] {
        isRepairing = false
        var delivered: [Change] = []
        for change in page.changes {
            if case .deliver(let changes) = sequencer.changeArrived(change) { delivered += changes }
        }
        var actions: [Action] = delivered.isEmpty ? [] : [.deliverFromLog(delivered, counts: page.counts)]
        if page.changes.isEmpty, let last, page.head <= last { target = last }
        target = max(target, page.head)
        if isBehind {
            actions.append(.checkLater(page.changes.isEmpty ? .repairPause : .none))
        } else {
            actions.append(.closeGap(counts: page.counts))
        }
        return actions
    }
}

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

    /// Keeps a change ahead of the sequence, unless it is a duplicate or beyond ``earlyLimit``.
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
