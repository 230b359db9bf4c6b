// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// Decides, for one conversation of one gateway, what is handed on to the sockets and when the log is read.
///
/// A pure value: events go in, what is to be done comes out. ``FanOut`` has the Redis subscription, the timers and the calls. The
/// simulation (Tests/SimulationTests) runs both under a virtual clock, against a network that loses things.
struct ConversationFeed {
    /// What is to be done, in this order.
    enum Action {
        /// Hand these on, in this order.
        case deliver([Change])
        /// The same for what was read from the log, whose changes carry no numbers. `numbers`: what was read along, true at the end of the log as it was then.
        case deliverFromLog([Change], numbers: [UserID: UserNumbers])
        /// Something older than `since` is, or may be, owed: no packet may be stamped later until the gap is closed.
        case openGap(since: Timestamp)
        /// Nothing is owed any more. `numbers`: what was read along with the log.
        case closeGap(numbers: [UserID: UserNumbers])
        /// Read the log after this; then call ``repaired(_:)`` or ``repairFailed()``.
        case read(after: Position)
        /// Call ``repairIfBehind()`` then.
        case checkLater(Wait)
        /// Call ``repairUnlessArrived(_:since:)`` then.
        case checkArrival(of: Position, since: Timestamp, Wait)
    }

    /// What to do after a change arrived. An enumeration of its own, since this is the way of every delivery: it costs no array of actions.
    enum Reception {
        case deliver([Change])
        /// Open the gap, and call ``repairIfBehind()`` after ``Wait/gapPatience``.
        case awaitPredecessor(since: Timestamp)
        case nothing
    }

    /// How long to wait.
    enum Wait: Equatable {
        /// What is missing may be on its way.
        case gapPatience
        /// The log could not be read, or did not have what it must have; or a head tells of a change whose publication may be on its way.
        case repairPause
        case none
    }

    private(set) var sequencer = ChangeSequencer()
    /// The log is being read.
    private(set) var isRepairing = false
    /// A position known to exist that may not have come yet.
    private(set) var target = Position.zero
    /// While the start of the sequence is not known: changes since this time may be missing, as heads or another log told.
    private var missingSince: Timestamp?
    /// Numbers are to be read although no change may be missing.
    private var areNumbersMissing = false

    /// The last position handed on; nil until the start of the sequence is known.
    var last: Position? { sequencer.last }

    /// Something is known to be missing.
    private var isBehind: Bool {
        guard let last else { return false }
        return sequencer.hasGap || target > last
    }

    /// A change came from pub/sub.
    mutating func changePublished(_ change: Change) -> Reception {
        switch sequencer.changeArrived(change) {
        case .deliver(let changes): .deliver(changes)
        case .gapOpened: .awaitPredecessor(since: change.createdAt)
        case .nothing: .nothing
        }
    }

    /// A socket has read the log up to `position` by itself. If the start of the sequence is not known yet, the sequence starts there.
    mutating func readElsewhere(to position: Position) -> [Action] {
        guard last == nil else { return [] }
        let changes = sequencer.advanced(to: position)
        var actions: [Action] = changes.isEmpty ? [] : [.deliver(changes)]
        // What lies before these was published before this gateway listened, or got lost.
        if let early = sequencer.firstEarly { actions += [.openGap(since: early.createdAt), .checkLater(.gapPatience)] }
        // The reading may have ended long ago: a client that does not read its packets holds up what follows.
        if let missingSince, let last, target > last { actions += [.openGap(since: missingSince), .checkLater(.gapPatience)] }
        return actions
    }

    /// The conversation has come as far as `position`, as another log tells. By the database's clock it did so at `time` or before.
    mutating func expected(_ position: Position, since time: Timestamp) -> Action {
        heard(of: position, since: time)
        return .checkArrival(of: position, since: time, .gapPatience)
    }

    /// A comparison of heads shows the conversation at `position`. What is missing happened at `time` or later, by the database's clock. Its publication may be on
    /// its way: only what does not come by itself is a loss.
    mutating func headSeen(_ position: Position, since time: Timestamp) -> Action? {
        if let last, position <= last { return nil }
        heard(of: position, since: time)
        return last == nil ? nil : .checkArrival(of: position, since: time, .repairPause)
    }

    /// Later heads do not tell it again.
    private mutating func heard(of position: Position, since time: Timestamp) {
        target = max(target, position)
        if last == nil { missingSince = min(missingSince ?? time, time) }
    }

    /// What was expected should have arrived by now. No action: it has.
    mutating func repairUnlessArrived(_ position: Position, since time: Timestamp) -> [Action] {
        guard let last, position > last else { return [] }
        return [.openGap(since: time)] + repairIfBehind()
    }

    /// Time to see whether something is still missing.
    mutating func repairIfBehind() -> [Action] {
        guard !isRepairing, let last else { return [] }
        guard isBehind || areNumbersMissing else { return [.closeGap(numbers: [:])] }
        areNumbersMissing = false
        isRepairing = true
        return [.read(after: last)]
    }

    /// A socket was handed changes of the log, and the numbers of its user were not read along, since it came while the log was being read.
    mutating func numbersMissing() -> Action {
        areNumbersMissing = true
        return .checkLater(.repairPause)
    }

    /// The log could not be read: the gap stays, and so do the sockets' older timestamps.
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
        var actions: [Action] = delivered.isEmpty ? [] : [.deliverFromLog(delivered, numbers: page.numbers)]
        if page.changes.isEmpty, let last, page.head <= last { target = last }
        target = max(target, page.head)
        if isBehind {
            actions.append(.checkLater(page.changes.isEmpty ? .repairPause : .none))
        } else {
            actions.append(.closeGap(numbers: page.numbers))
        }
        return actions
    }
}
