// SPDX-License-Identifier: Apache-2.0
package import FanOut
package import NIOCore
package import StrataModel

/// When a socket catches up, and one catch-up after the other.
///
/// A value without a loop: the socket says what has happened, and does what it is told (``Action``).
package struct CatchUpSchedule: Sendable {
    /// Where the socket is in its life.
    package enum Phase: Sendable {
        /// Open, but the client has not asked for anything yet: it is sent nothing, for a moment.
        case waiting
        /// Its first catch-up, or a replay, is running.
        case catchingUp
        /// Attached to the fan-out.
        case live
        case closed
    }

    /// What the socket is to do, in this order.
    package enum Action: Sendable {
        case limit(Limit)
        /// The catch-up that runs counts no longer.
        case cancel
        /// The socket leaves all conversations: it is told nothing until its reading has caught up.
        case leaveConversations
        /// Run it. When it has ended, and this attempt still counts, call ``willEnd(_:)`` and ``ended(_:at:isIn:)``.
        case run(CatchUp, attempt: Int)
        /// The replay that the client asked for has come to its end.
        case answerReplay(Result<CatchUp.Outcome, Failure>)
        /// What the client said meanwhile can be said now.
        case sayHeldTyping
        /// So many conversations more, this one among them, cannot be shown.
        case leftOut(Int, example: ConversationID)
        /// Wait for about so long, and call ``retrySetAside(at:isIn:)``.
        case retryLater(after: TimeAmount)
        /// Wait for ``CatchUpTiming/servicePause``, and call ``retry(at:isIn:)`` if this attempt still counts.
        case retry(after: Int)
        /// Wait for ``CatchUpTiming/replayPatience``, and close the socket if this attempt still counts.
        case closeUnlessReplayed(after: Int)
        /// The client is to come back, and to replay.
        case closeBehind
    }

    /// What packets may show from now on (docs/architecture.md §6, The time on packets).
    package enum Limit: Sendable {
        /// A catch-up begins that the client did not ask for.
        case openingBegins(at: Timestamp)
        case replayBegins(at: Timestamp)
        /// Something is owed since then, beside what a catch-up owes that runs already.
        case owes(since: Timestamp)
        /// A catch-up has reached the present.
        case caughtUp(asOf: Timestamp?, isReplay: Bool)
    }

    /// What the socket knows of the time.
    package struct Moment: Sendable {
        let now: NIODeadline
        /// The database's clock, if the fan-out knows it.
        let clock: DatabaseClock?
        let lastStamp: Timestamp

        package init(now: NIODeadline, clock: DatabaseClock?, lastStamp: Timestamp) {
            self.now = now
            self.clock = clock
            self.lastStamp = lastStamp
        }
    }

    /// What is known of the session, by the database's clock.
    package struct Session: Sendable {
        let user: UserID
        let createdAt: Timestamp
        /// A replay from then on brings all that happened since the session was made, or all that the log holds.
        let replayableSince: Timestamp

        package init(of user: UserID, createdAt: Timestamp, replayableSince: Timestamp) {
            self.user = user
            self.createdAt = createdAt
            self.replayableSince = replayableSince
        }
    }

    private let session: Session
    /// When the socket opened, by the clock that never jumps.
    private let since: NIODeadline
    /// Logs that a catch-up reads together.
    private let width: Int
    package private(set) var phase = Phase.waiting
    /// What is known of conversations the user has come to or left.
    package var membership = Membership()
    /// What the database's clock showed somewhat before the socket opened; nil until it was read.
    private var knownBeginning: Timestamp?
    /// Tells a catch-up that was replaced from the one that counts.
    package private(set) var attempt = 0
    /// Why the one runs that counts; nil: none runs.
    private var running: CatchUp.Reason?
    /// Conversations that could not be shown will be looked at again.
    package private(set) var willLookAgain = false

    package init(_ session: Session, since: NIODeadline, width: Int = ReplayPlan.width) {
        self.session = session
        self.since = since
        self.width = width
    }

    package var isOpen: Bool { if case .closed = phase { false } else { true } }
    package var isRunning: Bool { running != nil }

    // MARK: Times

    /// From where on a client is told what it did not ask for, as far as is known: until the database has said what its clock showed when the socket opened,
    /// a time that is early enough. The lists of a session cannot have been loaded before it was made.
    package func beginning(at moment: Moment) -> Timestamp {
        if let knownBeginning { return knownBeginning }
        guard let clock = moment.clock else { return session.replayableSince }
        return DatabaseClock.beginning(opened: since.elapsed(until: moment.now), before: clock.now(at: moment.now), session: session.createdAt)
    }

    /// The database was read when its clock showed this time, a moment ago.
    package mutating func learn(databaseTime time: Timestamp, at now: NIODeadline) {
        guard knownBeginning == nil, time.microseconds > 0 else { return }
        knownBeginning = DatabaseClock.beginning(opened: since.elapsed(until: now), before: time, session: session.createdAt)
    }

    /// From where on a baseline is to be read (``CatchUp/Effect/askBaseline(since:margin:)``).
    package func origin(since time: Timestamp?, margin: Duration, at moment: Moment) -> BaselineOrigin {
        if let time { return .replay(since: time) }
        return .recent(
            since.elapsed(until: moment.now) + CatchUpTiming.openingMargin + margin, notBefore: session.createdAt, orSince: beginning(at: moment))
    }

    /// The latest time that the client may replay from.
    private func lastShown(at moment: Moment) -> Timestamp { max(moment.lastStamp, beginning(at: moment)) }

    // MARK: What the client does

    /// The client asked for something. If that is not a replay, its first catch-up starts now.
    package mutating func clientSpoke(isReplay: Bool, at moment: Moment) -> [Action] {
        guard case .waiting = phase else { return [] }
        phase = .catchingUp
        return isReplay ? [] : begin(.opened, at: moment)
    }

    /// The client has not asked for anything: from now on it is told what happens all the same.
    package mutating func clientListens(at moment: Moment) -> [Action] { clientSpoke(isReplay: false, at: moment) }

    /// `Event.replay`: starts anew from there, whatever was going on.
    package mutating func replay(from time: Timestamp, at moment: Moment) -> [Action] {
        membership.startedAnew()
        phase = .catchingUp
        return [.cancel, .leaveConversations, .limit(.replayBegins(at: time))]
            + begin(.replay(since: time.advanced(by: .zero - CatchUpTiming.replayMargin)), at: moment)
    }

    /// A replay that the client asked for cannot be understood. What was asked for before is still owed: only where that is nothing does the socket begin at its
    /// opening.
    package mutating func replayRefused(at moment: Moment) -> [Action] {
        guard attempt == 0, case .catchingUp = phase else { return [] }
        return begin(.opened, at: moment)
    }

    package mutating func closed() {
        phase = .closed
        running = nil
        willLookAgain = false
    }

    // MARK: Conversations that the user comes to

    /// The user is in these conversations since after these positions; they are new to this socket.
    package mutating func join(_ conversations: [ConversationID: Position], at moment: Moment, isIn: (ConversationID) -> Bool) -> [Action] {
        let shown = lastShown(at: moment)
        for (id, position) in conversations { membership.join(id, after: position, shown: shown) }
        return startLateJoins(at: moment, isIn: isIn)
    }

    /// The user takes part in a conversation since `position`. Told once or several times, by whatever way it became known.
    /// - Parameters:
    ///   - known: how far the loop was handed the conversation, if the socket is in it.
    ///   - isIn: whether the socket is told what happens in a conversation.
    package mutating func added(
        to id: ConversationID, since position: Position, known: Position?, at moment: Moment, isIn: (ConversationID) -> Bool
    ) -> [Action] {
        // The first catch-up, which has not begun, will find it.
        switch phase {
        case .waiting, .closed: return []
        case .catchingUp, .live: break
        }
        guard membership.added(to: id, at: position, known: known, shown: lastShown(at: moment)) else { return [] }
        return startLateJoins(at: moment, isIn: isIn)
    }

    /// Joins what became known while another catch-up ran.
    package mutating func startLateJoins(at moment: Moment, isIn: (ConversationID) -> Bool) -> [Action] {
        guard running == nil, case .live = phase else { return [] }
        // What they bring is owed since they became known, which may have been long before another catch-up let them begin.
        let shown = lastShown(at: moment)
        let owedSince = min(membership.waitingSince ?? shown, shown)
        let ready = membership.takeReady(isIn: isIn)
        guard !ready.isEmpty else { return [] }
        return [.limit(.owes(since: owedSince))] + begin(.joined(ready), at: moment)
    }

    // MARK: One catch-up after the other

    private mutating func begin(_ reason: CatchUp.Reason, at moment: Moment) -> [Action] {
        attempt += 1
        running = reason
        let beginning = beginning(at: moment)
        let run = Action.run(CatchUp(reason, for: session.user, beginning: beginning, width: width), attempt: attempt)
        return if case .opened = reason { [.limit(.openingBegins(at: beginning)), run] } else { [run] }
    }

    /// The catch-up that counts has ended. Entries of the user's own log that waited for it are to be told now, and then ``ended(_:at:isIn:)`` says what else:
    /// conversations that these entries bring back are joined by the next catch-up, and what they owe limits the times that packets may show.
    package mutating func willEnd(_ end: CatchUp.End) {
        membership.pending = []
        if case .failed = end, case .joined(let conversations)? = running { membership.putBack(conversations) }
    }

    /// The catch-up that counts has ended, and everything that waited for it has been told.
    package mutating func ended(_ end: CatchUp.End, at moment: Moment, isIn: (ConversationID) -> Bool) -> [Action] {
        guard let reason = running else { return [] }
        running = nil
        return concluded(end, of: reason, at: moment, isIn: isIn)
    }

    private mutating func concluded(
        _ end: CatchUp.End, of reason: CatchUp.Reason, at moment: Moment, isIn: (ConversationID) -> Bool
    ) -> [Action] {
        switch (end, reason) {
        case (.present(let outcome), _):
            phase = .live
            var actions = [Action.limit(.caughtUp(asOf: outcome.asOf, isReplay: reason.isReplay))] + setAside(outcome.setAside)
            // Before anything else is said: what waited behind this one is still owed, and limits the time that the answer may carry.
            actions += startLateJoins(at: moment, isIn: isIn)
            if reason.isReplay { actions.append(.answerReplay(.success(outcome))) }
            return actions + [.sayHeldTyping]
        // The client asks again, with pauses of its own. Until then nothing live comes (docs/protocol.md, Coming back), not even in conversations that
        // were attached before the failure. A socket that is told nothing must not stay open for long.
        case (.failed(let failure), .replay):
            return [.leaveConversations, .answerReplay(.failure(failure)), .closeUnlessReplayed(after: attempt)]
        case (.failed, .opened), (.failed, .joined): return [.retry(after: attempt)]
        // To begin anew here would bring the same again. What was sent moved the time from which the client will replay.
        case (.tooMuch, _):
            return [.answerReplay(.failure(Failure(.requestTimeout, "There are more changes than can be replayed at once."))), .closeBehind]
        }
    }

    /// These could not be shown. They are looked at again, ever less often: what made it so may be over.
    private mutating func setAside(_ conversations: [ConversationID: Position]) -> [Action] {
        guard !conversations.isEmpty else { return [] }
        let new = membership.setAside(conversations)
        var actions: [Action] = []
        if let example = new.first { actions.append(.leftOut(new.count, example: example)) }
        guard !willLookAgain else { return actions }
        willLookAgain = true
        let pause = min(CatchUpTiming.longestLook, CatchUpTiming.firstLook * (1 << min(membership.vainLooks, 16)))
        return actions + [.retryLater(after: pause)]
    }

    /// The time has come to look at what was set aside.
    package mutating func retrySetAside(at moment: Moment, isIn: (ConversationID) -> Bool) -> [Action] {
        willLookAgain = false
        return join(membership.takeSetAside(), at: moment, isIn: isIn)
    }

    /// A service was away: what is owed is still owed. Not if the client has asked for a replay meanwhile, even one that failed: it is owed more then, and
    /// nothing may carry a later time than it allows.
    package mutating func retry(at moment: Moment, isIn: (ConversationID) -> Bool) -> [Action] {
        guard running == nil else { return [] }
        switch phase {
        case .catchingUp: return begin(.opened, at: moment)
        case .live: return startLateJoins(at: moment, isIn: isIn)
        case .waiting, .closed: return []
        }
    }
}
