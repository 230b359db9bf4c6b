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
        /// No change is missing. `counts` are the counts read with the log.
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
        /// The pause after a log read that failed or was incomplete, or after a head whose publication may still be in
        /// transit.
        case repairPause
        case none
    }

    private(set) var sequencer = ChangeSequencer()
    /// True while the log is being read.
    private(set) var isRepairing = false
    /// A position known to exist. The changes up to it may not have arrived yet.
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

    /// Handles a log read up to `position` by a socket's catch-up. The sequence starts there if its start is not known
    /// yet.
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
    ///   in time is lost.
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

    /// Starts to read the log if changes or counts are missing, unless a read is in progress.
    mutating func repairIfBehind() -> [Action] {
        guard !isRepairing, let last else { return [] }
        guard isBehind || areCountsMissing else { return [.closeGap(counts: [:])] }
        areCountsMissing = false
        isRepairing = true
        return [.read(after: last)]
    }

    /// Requests another read of counts. A socket that attached during a log read received changes without the counts of
    /// its user.
    mutating func countsMissing() -> Action {
        areCountsMissing = true
        return .checkLater(.repairPause)
    }

    /// Handles a failed log read. The gap and its limit on timestamps remain until a retry succeeds.
    mutating func repairFailed() -> [Action] {
        isRepairing = false
        return [.checkLater(.repairPause)]
    }

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
