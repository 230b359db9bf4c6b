// SPDX-License-Identifier: Apache-2.0
import Model

/// Decides, for one conversation of one gateway, what is handed on to the sockets and when the log is read.
///
/// A pure value: events go in, what is to be done comes out. ``FanOut`` has the Redis subscription, the timers and the calls; the simulation
/// (Tests/SimulationTests) has a virtual clock and a network that loses things.
struct ConversationFeed {
    /// What is to be done, in this order.
    enum Action {
        /// Hand these on, in this order.
        case deliver([Change])
        /// Something older than `since` is, or may be, owed: no packet may be stamped later until the gap is closed.
        case openGap(since: Timestamp)
        /// Nothing is owed any more. `numbers`: what was read along with the log.
        case closeGap(numbers: [UserID: UserNumbers])
        /// Read the log after this; then call ``repaired(_:)`` or ``repairFailed()``.
        case read(after: Position)
        /// Call ``lookAgain()`` then.
        case lookAgain(Wait)
        /// Call ``looked(for:since:)`` then.
        case look(for: Position, since: Timestamp, Wait)
    }

    /// What to do after a change arrived. An enumeration of its own, since this is the way of every delivery: it costs no array of actions.
    enum Reception {
        case deliver([Change])
        /// Open the gap, and call ``lookAgain()`` after ``Wait/gapPatience``.
        case awaitPredecessor(since: Timestamp)
        case nothing
    }

    /// How long to wait.
    enum Wait: Equatable {
        /// What is missing may be on its way.
        case gapPatience
        /// The log could not be read, or did not have what it must have.
        case repairPause
        case none
    }

    private(set) var sequencer = ChangeSequencer()
    /// The log is being read.
    private(set) var isRepairing = false
    /// A position known to exist that may not have come yet.
    private(set) var target = Position.zero

    /// The last position handed on; nil until somebody told where the sequence starts.
    var last: Position? { sequencer.last }

    /// Something is known to be missing.
    private var isBehind: Bool {
        guard let last else { return false }
        return sequencer.hasGap || target > last
    }

    /// A change came from pub/sub.
    mutating func received(_ change: Change) -> Reception {
        switch sequencer.received(change) {
        case .deliver(let changes): .deliver(changes)
        case .gapOpened: .awaitPredecessor(since: change.createdAt)
        case .nothing: .nothing
        }
    }

    /// Somebody has read the log up to `position` by himself: if nobody did before, that is where the sequence starts.
    mutating func readElsewhere(to position: Position) -> [Action] {
        guard last == nil else { return [] }
        let changes = sequencer.advanced(to: position)
        var actions: [Action] = changes.isEmpty ? [] : [.deliver(changes)]
        // What lies before these was published before anybody listened, or got lost.
        if let early = sequencer.firstEarly { actions += [.openGap(since: early.createdAt), .lookAgain(.gapPatience)] }
        return actions
    }

    /// The conversation has come as far as `position`, as another log tells, at `time` or before.
    mutating func expected(_ position: Position, since time: Timestamp) -> Action {
        target = max(target, position)
        return .look(for: position, since: time, .gapPatience)
    }

    /// The conversation has come to `position`, at `time` or later. Its publication may be on its way: only what does not come by itself is a loss.
    mutating func headSeen(_ position: Position, since time: Timestamp) -> Action? {
        guard let last, position > last else { return nil }
        target = max(target, position)
        return .look(for: position, since: time, .repairPause)
    }

    /// What was to be looked for should have come by now. No action: it has.
    mutating func looked(for position: Position, since time: Timestamp) -> [Action] {
        guard let last, position > last else { return [] }
        return [.openGap(since: time)] + lookAgain()
    }

    /// Time to see whether something is still missing.
    mutating func lookAgain() -> [Action] {
        guard !isRepairing, let last else { return [] }
        guard isBehind else { return [.closeGap(numbers: [:])] }
        isRepairing = true
        return [.read(after: last)]
    }

    /// The log could not be read: the gap stays, and so do the sockets' older timestamps.
    mutating func repairFailed() -> [Action] {
        isRepairing = false
        return [.lookAgain(.repairPause)]
    }

    /// A page of the log came.
    mutating func repaired(_ page: ChangePage) -> [Action] {
        isRepairing = false
        var actions: [Action] = []
        for change in page.changes {
            if case .deliver(let changes) = sequencer.received(change) { actions.append(.deliver(changes)) }
        }
        if page.changes.isEmpty, let last, page.head <= last { target = last }
        target = max(target, page.head)
        if isBehind {
            actions.append(.lookAgain(page.changes.isEmpty ? .repairPause : .none))
        } else {
            actions.append(.closeGap(numbers: page.numbers))
        }
        return actions
    }
}
