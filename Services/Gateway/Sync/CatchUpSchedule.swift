// SPDX-License-Identifier: Apache-2.0
package import FanOut
package import NIOCore
package import StrataModel

/// A schedule that decides when a socket catches up, so that its catch-ups run sequentially.
///
/// A value without an event loop. The socket reports events and performs the returned ``Action``s.
package struct CatchUpSchedule: Sendable {
    /// A phase in the life of a socket.
    package enum Phase: Sendable {
        /// The socket is open, and its client has not requested anything. It is sent nothing, for
        /// ``CatchUpTiming/listenAfter`` at most.
        case waiting
        case catchingUp
        /// The socket is attached to the fan-out.
        case live
        case closed
    }

    /// An action of the socket. Actions are performed in the order given.
    package enum Action: Sendable {
        case limit(Limit)
        case cancel
        /// Removes the socket from all conversations. It is sent no live changes until it has caught up.
        case leaveConversations
        /// Runs the catch-up. If this attempt is still current at its end, the socket calls ``willEnd(_:)`` and
        /// ``ended(_:at:isIn:)``.
        case run(CatchUp, attempt: Int)
        case answerReplay(Result<CatchUp.Outcome, Failure>)
        /// Sends the typing signals that were deferred during the catch-up.
        case flushPendingTyping
        /// Reports the number of additional conversations that cannot be sent, with one example.
        case leftOut(Int, example: ConversationID)
        /// Waits for about this time, then calls ``retrySetAside(at:isIn:)``.
        case retryLater(after: TimeAmount)
        /// Waits for ``CatchUpTiming/servicePause``, then calls ``retry(at:isIn:)`` if this attempt is still current.
        case retry(after: Int)
        /// Waits for ``CatchUpTiming/replayPatience``, then closes the socket if this attempt is still current.
        case closeUnlessReplayed(after: Int)
        /// Closes the socket with a code that tells the client to reconnect and replay.
        case closeBehind
    }

    /// A limit on the times that packets may show (docs/architecture.md §6, The time on packets).
    package enum Limit: Sendable {
        /// A catch-up begins that the client did not request.
        case openingBegins(at: Timestamp)
        case replayBegins(at: Timestamp)
        /// Changes since this time are pending, in addition to those of the running catch-up.
        case pending(since: Timestamp)
        case caughtUp(asOf: Timestamp?, isReplay: Bool)
    }

    /// The current time as known to the socket.
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

    /// Facts about the session, by the database's clock.
    package struct Session: Sendable {
        let user: UserID
        let createdAt: Timestamp
        /// The time from which a replay brings all changes since the session was made, or all that the log holds.
        let replayableSince: Timestamp

        package init(of user: UserID, createdAt: Timestamp, replayableSince: Timestamp) {
            self.user = user
            self.createdAt = createdAt
            self.replayableSince = replayableSince
        }
    }

    private let session: Session
    /// The time of the socket's opening, by the monotonic clock.
    private let since: NIODeadline
    private let widths: ClosedRange<Int>
    package private(set) var phase = Phase.waiting
    /// The conversations that the user has come to or left.
    package var membership = Membership()
    /// The database's time shortly before the socket opened; nil until it has been read.
    private var knownBeginning: Timestamp?
    /// The number of the current catch-up. It distinguishes this catch-up from one that it replaced.
    package private(set) var attempt = 0
    /// The reason for the current catch-up; nil if none is running.
    private var running: CatchUp.Reason?
    /// True if a retry of conversations that could not be sent is scheduled.
    package private(set) var isRetryScheduled = false

    package init(_ session: Session, since: NIODeadline, widths: ClosedRange<Int> = ReplayPlan.widths) {
        self.session = session
        self.since = since
        self.widths = widths
    }

    package var isOpen: Bool { if case .closed = phase { false } else { true } }
    package var isRunning: Bool { running != nil }

    // MARK: Times

    /// Returns the time from which a client is sent changes that it did not request, as far as it is known. Until the
    /// database has reported its time at the socket's opening, the result is a time that is early enough. It is no
    /// earlier than the session's creation, because the session's lists cannot have been loaded before.
    package func beginning(at moment: Moment) -> Timestamp {
        if let knownBeginning { return knownBeginning }
        guard let clock = moment.clock else { return session.replayableSince }
        return DatabaseClock.beginning(
            opened: since.elapsed(until: moment.now), before: clock.now(at: moment.now), session: session.createdAt)
    }

    /// Records that the database's clock showed this time a moment ago.
    package mutating func learn(databaseTime time: Timestamp, at now: NIODeadline) {
        guard knownBeginning == nil, time.microseconds > 0 else { return }
        knownBeginning = DatabaseClock.beginning(
            opened: since.elapsed(until: now), before: time, session: session.createdAt)
    }

    /// Returns the origin of a baseline (``CatchUp/Effect/askBaseline(since:margin:)``).
    package func origin(since time: Timestamp?, margin: Duration, at moment: Moment) -> BaselineOrigin {
        if let time { return .replay(since: time) }
        return .recent(
            since.elapsed(until: moment.now) + CatchUpTiming.openingMargin + margin, notBefore: session.createdAt,
            orSince: beginning(at: moment))
    }

    /// Returns the latest time that the client may replay from.
    private func lastShown(at moment: Moment) -> Timestamp { max(moment.lastStamp, beginning(at: moment)) }

    // MARK: Requests of the client

    /// Handles the client's first request. Unless it is a replay, the first catch-up starts now.
    package mutating func requestReceived(isReplay: Bool, at moment: Moment) -> [Action] {
        guard case .waiting = phase else { return [] }
        phase = .catchingUp
        return isReplay ? [] : begin(.opened, at: moment)
    }

    /// Starts sending changes to a client that has not requested anything.
    package mutating func startUnsolicited(at moment: Moment) -> [Action] {
        requestReceived(isReplay: false, at: moment)
    }

    /// Handles `Event.replay`: starts anew from the given time, regardless of the current phase.
    package mutating func replay(from time: Timestamp, at moment: Moment) -> [Action] {
        membership.reset()
        phase = .catchingUp
        return [.cancel, .leaveConversations, .limit(.replayBegins(at: time))]
            + begin(.replay(since: time.advanced(by: .zero - CatchUpTiming.replayMargin)), at: moment)
    }

    /// Handles a replay request that cannot be understood. An earlier catch-up or replay remains pending. If there was
    /// none, the socket catches up from its opening.
    package mutating func replayRefused(at moment: Moment) -> [Action] {
        guard attempt == 0, case .catchingUp = phase else { return [] }
        return begin(.opened, at: moment)
    }

    package mutating func closed() {
        phase = .closed
        running = nil
        isRetryScheduled = false
    }

    // MARK: Conversations that the user is added to

    /// Joins conversations that are new to this socket. The user participates since a change after the given position.
    package mutating func join(
        _ conversations: [ConversationID: Position], at moment: Moment, isIn: (ConversationID) -> Bool
    ) -> [Action] {
        let shown = lastShown(at: moment)
        for (id, position) in conversations { membership.join(id, after: position, shown: shown) }
        return startLateJoins(at: moment, isIn: isIn)
    }

    /// Records that the user participates in a conversation since `position`. The same addition can be reported several
    /// times, by different sources.
    /// - Parameters:
    ///   - known: the position up to which the loop received the conversation, if the socket is in it.
    ///   - isIn: returns true if the socket is sent the changes of a conversation.
    package mutating func added(
        to id: ConversationID, since position: Position, known: Position?, at moment: Moment,
        isIn: (ConversationID) -> Bool
    ) -> [Action] {
        // The first catch-up has not begun and will find the conversation.
        switch phase {
        case .waiting, .closed: return []
        case .catchingUp, .live: break
        }
        guard membership.added(to: id, at: position, known: known, shown: lastShown(at: moment)) else { return [] }
        return startLateJoins(at: moment, isIn: isIn)
    }

    /// Joins the conversations that became known during another catch-up.
    package mutating func startLateJoins(at moment: Moment, isIn: (ConversationID) -> Bool) -> [Action] {
        guard running == nil, case .live = phase else { return [] }
        // Changes of these conversations are pending since they became known, possibly long before the other catch-up
        // ended.
        let shown = lastShown(at: moment)
        let pendingSince = min(membership.waitingSince ?? shown, shown)
        let ready = membership.takeReady(isIn: isIn)
        guard !ready.isEmpty else { return [] }
        return [.limit(.pending(since: pendingSince))] + begin(.joined(ready), at: moment)
    }

    // MARK: Sequence of catch-ups

    private mutating func begin(_ reason: CatchUp.Reason, at moment: Moment) -> [Action] {
        attempt += 1
        running = reason
        let beginning = beginning(at: moment)
        let run = Action.run(CatchUp(reason, for: session.user, beginning: beginning, widths: widths), attempt: attempt)
        return if case .opened = reason { [.limit(.openingBegins(at: beginning)), run] } else { [run] }
    }

    /// Handles the end of the current catch-up. The socket then sends the entries of the user's own log that waited for
    /// it, and calls ``ended(_:at:isIn:)``. Conversations that these entries bring back are joined by the next
    /// catch-up, and their pending changes limit the times on packets.
    package mutating func willEnd(_ end: CatchUp.End) {
        membership.pending = []
        if case .failed = end, case .joined(let conversations)? = running { membership.putBack(conversations) }
    }

    /// Handles the end of the current catch-up, after all entries that waited for it have been sent.
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
            var actions =
                [Action.limit(.caughtUp(asOf: outcome.asOf, isReplay: reason.isReplay))] + setAside(outcome.setAside)
            // Start these before the answer is sent: their pending changes limit the time that the answer may carry.
            actions += startLateJoins(at: moment, isIn: isIn)
            if reason.isReplay { actions.append(.answerReplay(.success(outcome))) }
            return actions + [.flushPendingTyping]
        // The client repeats its request, with pauses of its own. Until then nothing live is sent (docs/protocol.md,
        // Coming back), not even in conversations that were attached before the failure.
        // A socket that is sent nothing must not stay open for long.
        case (.failed(let failure), .replay):
            return [.leaveConversations, .answerReplay(.failure(failure)), .closeUnlessReplayed(after: attempt)]
        case (.failed, .opened), (.failed, .joined): return [.retry(after: attempt)]
        // Starting anew would send the same again. The packets that were sent moved the time from which the client will
        // replay.
        case (.tooMuch, _):
            return [
                .answerReplay(
                    .failure(Failure(.requestTimeout, "There are more changes than can be replayed at once."))),
                .closeBehind,
            ]
        }
    }

    /// Records conversations that could not be sent. They are retried at increasing intervals, because the cause may be
    /// temporary.
    private mutating func setAside(_ conversations: [ConversationID: Position]) -> [Action] {
        guard !conversations.isEmpty else { return [] }
        let new = membership.setAside(conversations)
        var actions: [Action] = []
        if let example = new.first { actions.append(.leftOut(new.count, example: example)) }
        guard !isRetryScheduled else { return actions }
        isRetryScheduled = true
        let pause = min(
            CatchUpTiming.longestRetryPause, CatchUpTiming.firstRetryPause * (1 << min(membership.retryCount, 16)))
        return actions + [.retryLater(after: pause)]
    }

    /// Retries the conversations that could not be sent.
    package mutating func retrySetAside(at moment: Moment, isIn: (ConversationID) -> Bool) -> [Action] {
        isRetryScheduled = false
        return join(membership.takeSetAside(), at: moment, isIn: isIn)
    }

    /// Retries after a failed service call, because the changes are still pending. Does nothing if the client has
    /// requested a replay meanwhile, even one that failed: more changes are pending then, and packets may carry no
    /// later time than it allows.
    package mutating func retry(at moment: Moment, isIn: (ConversationID) -> Bool) -> [Action] {
        guard running == nil else { return [] }
        switch phase {
        case .catchingUp: return begin(.opened, at: moment)
        case .live: return startLateJoins(at: moment, isIn: isIn)
        case .waiting, .closed: return []
        }
    }
}

/// Start times, pauses and timeouts of catch-ups.
package enum CatchUpTiming {
    /// The maximum time between a client's loading of its lists and the opening of its socket (docs/architecture.md
    /// §6).
    package static let openingMargin = Duration.seconds(10)
    /// The time after which a silent client is sent changes. A client that wants a replay requests it at once.
    package static let listenAfter = TimeAmount.seconds(2)
    /// The time by which a replay starts earlier than requested, because clocks differ and a change is stamped before
    /// it is committed.
    package static let replayMargin = Duration.seconds(30)
    /// The time in which a client must repeat a failed replay before its socket is closed. The longest pause of stock
    /// clients is 20 s. After eight attempts they keep the socket idle, and only its closing makes them start again.
    package static let replayPatience = TimeAmount.seconds(30)
    /// The first pause before a conversation that could not be sent is retried. Each further pause is twice as long, up
    /// to ``longestRetryPause``.
    package static let firstRetryPause = TimeAmount.seconds(5)
    package static let longestRetryPause = TimeAmount.seconds(300)
    /// The pause before a failed service call is repeated, in milliseconds.
    package static let servicePause: ClosedRange<Int64> = 500...1000
    /// The pause after reads without entries while the fan-out reports changes.
    package static let emptyReadPause = TimeAmount.milliseconds(250)
    /// The usual upper bound of the time until a baseline is answered.
    static let promptBaseline = Duration.seconds(1)
    static let longestBaseline = Duration.seconds(10)
}

extension DatabaseClock {
    /// Returns the time from which a socket is sent changes that its client did not request:
    /// ``CatchUpTiming/openingMargin`` before it opened, but not before its session was made. A session with a time in
    /// the future was made before the clock was set back, so its time is ignored.
    package static func beginning(opened: Duration, before now: Timestamp, session: Timestamp) -> Timestamp {
        let begin = now.advanced(by: .zero - opened - CatchUpTiming.openingMargin)
        return session <= now.advanced(by: CatchUpTiming.replayMargin) ? min(max(begin, session), now) : begin
    }
}
