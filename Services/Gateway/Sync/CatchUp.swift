// SPDX-License-Identifier: Apache-2.0
import FanOut
package import StrataModel

/// Brings one socket from the past to the present. A catch-up reads the changes that the socket has not been sent,
/// sends them, and attaches the socket to the fan-out. It attaches at exactly the positions where the reading ended, so
/// that no change is lost or sent twice (docs/architecture.md §6).
///
/// A catch-up is a value without an event loop, a socket or a service. It consumes events and returns effects. Of the
/// effects returned together, only the last one is answered by an event, so the steps are sequential. ``CatchUpDriver``
/// performs the effects; the simulation (Tests/SimulationTests) performs them in virtual time.
///
/// The socket's draining drives the reading. So a catch-up never reaches the limit of outgoing bytes, and live changes
/// are not queued beside it. The bytes read are bounded, for pages of the logs as well as for the conversations that
/// have to be sent in full. A conversation that cannot be sent does not delay the others: the catch-up continues
/// without it, and the socket retries it later.
package struct CatchUp: Sendable {
    /// The effect whose answer is expected.
    private enum State {
        /// Subscribing to the conversations on the user's list, and to the user's own channel, which announces
        /// conversations that the user is added to later.
        case subscribing
        case asking(isRepeated: Bool)
        /// Subscribing to the conversations of a catch-up that joins them, or to those that were not on the list.
        case joining([ConversationID], isFirst: Bool)
        case reading
        /// Sending the items read so far, so that the memory for the next look-up replaces theirs.
        case makingRoom
        case lookingUp(ConversationID)
        case sending
        case reportingPositions([(id: ConversationID, position: Position)])
        case attaching
        case resting(isInDoubt: Bool)
        case ended
    }

    /// A unit of work within a step.
    private enum Piece {
        case entry(LogPage.Entry)
        /// A conversation that is on the user's list although no entry of the log shows it: all entries precede a
        /// deletion from the user's devices.
        case show(ConversationID)
    }

    /// The minimum number of changes that one read requests. A read accesses all logs that are read together, so it
    /// requests at least as many changes as there are logs.
    static let pageSize = 128
    /// The number of reads, one page each, after which a catch-up that has not reached the present ends with
    /// ``End/tooMuch``.
    package static let maximumReads = 10_000
    /// The number of look-ups of conversations that were just on the user's list and are not visible, after which such
    /// a conversation is given up.
    static let maximumFailedLookUps = 100
    /// The maximum number of consecutive reads without entries while the fan-out reports changes. Beyond it, the
    /// fan-out is notified.
    static let maximumEmptyReads = 3

    private let reason: Reason
    private let user: UserID
    private let widths: ClosedRange<Int>
    private var state = State.subscribing
    private var plan: ReplayPlan
    /// The plan to resume from if a service call fails: everything before it has been sent, and nothing after it.
    private var checkpoint: ReplayPlan
    private var outcome = Outcome()
    /// Conversations that stay subscribed during the catch-up.
    private var joined: Set<ConversationID> = []
    private var step = StepInHand()
    private var patience = Patience()

    private struct StepInHand {
        /// The page that was read, and the part of it that is worked on; nil if the step sends conversations that no
        /// entry shows.
        var page: (read: LogPage, due: LogPage)?
        var pieces: ArraySlice<Piece> = []
        /// The conversations that the pieces need.
        var views = ViewLookups(of: [])
        /// Items that were read and have not been sent.
        var items: [ReplayItem] = []
    }

    /// Counters of steps and unsuccessful attempts.
    private struct Patience {
        var steps = 0
        var failedLookUps = 0
        var emptyReads = 0
    }

    /// - Parameters:
    ///   - user: the socket's user.
    ///   - beginning: the time from which changes are sent that the client did not request.
    ///   - widths: the bounds of the number of logs that are read together, at least one.
    package init(
        _ reason: Reason, for user: UserID, beginning: Timestamp, widths: ClosedRange<Int> = ReplayPlan.widths
    ) {
        self.reason = reason
        self.user = user
        self.widths = widths
        plan =
            if case .joined(let conversations) = reason { ReplayPlan(joined: conversations, since: beginning) } else {
                ReplayPlan()
            }
        checkpoint = plan
    }

    // MARK: Events

    package mutating func begin() -> [Effect] {
        if case .joined = reason { return [join(plan.members(except: []), isFirst: true)] }
        state = .subscribing
        return [.listenToList]
    }

    package mutating func handle(_ event: Event) -> [Effect] {
        switch (state, event) {
        case (.ended, _): return []
        case (.lookingUp(let id), .failed(let failure)): return lookUpFailed(failure, of: id)
        case (_, .failed(let failure)): return failed(failure)
        case (.subscribing, .listeningToList(let conversations)):
            joined.formUnion(conversations)
            return [ask(isRepeated: false)]
        case (.asking(let isRepeated), .baseline(let baseline, let took)):
            return handleBaseline(baseline, took: took, isRepeated: isRepeated)
        case (.joining(_, isFirst: true), .listening): return nextStep()
        case (.joining(let new, isFirst: false), .listening):
            plan.scheduleRead(of: new)
            return stepEnded()
        case (.reading, .page(let page)): return handlePage(page)
        case (.makingRoom, .sent):
            keepCheckpoint()
            return continueStep()
        case (.lookingUp(let id), .lookedUp(let answer)): return lookedUp(answer, for: id)
        case (.sending, .sent): return piecesEnded()
        case (.reportingPositions(let positions), .fanOutPositions(let lasts, let userLast)):
            for (entry, last) in zip(positions, lasts) { plan.fanOutIsAt(last, in: entry.id) }
            if let userLast { plan.userFanOutIsAt(userLast) }
            return plan.isEverythingRead ? attach() : stepEnded()
        case (.attaching, .attached(let refusal)): return attached(refusal)
        case (.resting(let isInDoubt), .rested): return isInDoubt ? stepEnded() : nextStep()
        // A response that matches no pending request.
        default: return end(.failed(.unavailable))
        }
    }

    // MARK: Baseline

    private mutating func ask(isRepeated: Bool) -> Effect {
        state = .asking(isRepeated: isRepeated)
        return if case .replay(let since) = reason {
            .askBaseline(since: since, margin: .zero)
        } else {
            .askBaseline(since: nil, margin: isRepeated ? CatchUpTiming.longestBaseline : .zero)
        }
    }

    /// Handles the baseline. The requested age counts from the moment of the database's read. If the answer took long,
    /// that moment may be late, so the baseline is requested again with a margin.
    private mutating func handleBaseline(_ baseline: Baseline, took: Duration, isRepeated: Bool) -> [Effect] {
        if case .opened = reason, !isRepeated, took > CatchUpTiming.promptBaseline { return [ask(isRepeated: true)] }
        plan = ReplayPlan(baseline, widths: widths)
        outcome = Outcome(isComplete: baseline.isComplete, epoch: baseline.epoch, asOf: baseline.asOf)
        return [.learn(baseline.asOf, epoch: baseline.databaseEpoch)] + nextStep()
    }

    private mutating func join(_ conversations: [ConversationID], isFirst: Bool) -> Effect {
        state = .joining(conversations, isFirst: isFirst)
        joined.formUnion(conversations)
        return .listen(conversations)
    }

    // MARK: Steps

    /// Starts the next step. If the step fails, the catch-up resumes from the checkpoint, before which everything has
    /// been sent.
    private mutating func nextStep() -> [Effect] {
        guard patience.steps < Self.maximumReads else { return end(.tooMuch) }
        keepCheckpoint()
        switch plan.nextStep(joined: joined) {
        case .read(let cursors, let userAfter):
            state = .reading
            return [.read(cursors, userAfter: userAfter, limit: max(Self.pageSize, cursors.count))]
        case .join(let new): return [join(new, isFirst: false)]
        case .show(let unshown):
            step = StepInHand(pieces: unshown.map { .show($0) }[...], views: ViewLookups(of: unshown))
            return continueStep()
        // Conversations in which the fan-out is ahead, or that it follows only from now on, are read again.
        case .reportPositions(let positions, let userPosition):
            state = .reportingPositions(positions)
            return [.reportPositions(positions, user: userPosition)]
        }
    }

    /// Copies the plan to the checkpoint, except for a replay, which does not resume after a failure. Without a second
    /// reference to the plan, a step costs as much as its page instead of as all conversations.
    private mutating func keepCheckpoint() { if !reason.isReplay { checkpoint = plan } }

    private mutating func stepEnded() -> [Effect] {
        patience.steps += 1
        return nextStep()
    }

    /// Ends a replay, because its client asks again. Any other catch-up, which the client does not know of, rests and
    /// resumes from the checkpoint.
    private mutating func failed(_ failure: Failure) -> [Effect] {
        switch state {
        case .subscribing, .asking, .ended: return end(.failed(failure))
        default: break
        }
        if reason.isReplay { return end(.failed(failure)) }
        plan = checkpoint
        step = StepInHand()
        state = .resting(isInDoubt: false)
        return [.rest(.untilServiceReturns(failure))]
    }

    private mutating func end(_ end: End) -> [Effect] {
        state = .ended
        return [.end(end)]
    }

    // MARK: Pages

    private mutating func handlePage(_ page: LogPage) -> [Effect] {
        plan.releaseWhatIsNamed(in: page)
        let due = plan.deferConversations(from: plan.due(page), for: user)
        step = StepInHand(page: (page, due), pieces: due.entries.map { .entry($0) }[...])
        step.views = ViewLookups(of: step.pieces.compactMap { neededLookUp(for: $0) })
        return continueStep()
    }

    /// Returns the conversation that must be looked up for a piece; nil if there is none.
    private func neededLookUp(for piece: Piece) -> ConversationID? {
        switch piece {
        case .entry(.change(let change)): plan.needsLookUp(change, by: user) ? change.conversationID : nil
        case .entry(.userChange(let change)):
            if case .conversationHidden(let id, _, wholly: false) = change.content { id } else { nil }
        case .entry(.skipped): nil
        case .show(let id): id
        }
    }

    /// Works on the pieces of the step until an effect must be performed, or ends the step.
    private mutating func continueStep() -> [Effect] {
        while let piece = step.pieces.first {
            if let id = neededLookUp(for: piece), !step.items.isEmpty, !step.views.has(id) {
                state = .makingRoom
                return [send()]
            }
            if let id = beginPiece(piece), let question = lookUp(id, for: piece) { return [question] }
            step.pieces.removeFirst()
        }
        guard !step.items.isEmpty else { return piecesEnded() }
        state = .sending
        return [send()]
    }

    private mutating func send() -> Effect {
        let items = step.items
        step.items = []
        return .send(items, stampLimit: stampLimit)
    }

    /// The latest time that packets may carry while conversations are deferred; nil: no limit. A replay from the
    /// client's time repeats the margin before it, so packets need not carry earlier times.
    private var stampLimit: Timestamp? {
        guard case .replay(let since) = reason else { return plan.deferredSince }
        return plan.deferredSince.map { max($0, since.advanced(by: CatchUpTiming.replayMargin)) }
    }

    private mutating func piecesEnded() -> [Effect] {
        guard let (read, page) = step.page else { return stepEnded() }
        step = StepInHand()
        // Not before: from a checkpoint within the step, the entries before those of waiting logs are read again.
        plan.wait(for: read)
        plan.finish(page)
        // The fan-out received changes that the log does not contain. The history may have changed, unless the next
        // reads find them.
        patience.emptyReads = page.reachesHeads && page.entries.isEmpty ? patience.emptyReads + 1 : 0
        guard patience.emptyReads > Self.maximumEmptyReads else { return stepEnded() }
        state = .resting(isInDoubt: true)
        return [.scheduleEpochCheck, .rest(.inDoubt)]
    }

    // MARK: Looking up

    /// - Returns: the effect that requests the look-up; nil if the result was known and has been applied.
    private mutating func lookUp(_ id: ConversationID, for piece: Piece) -> Effect? {
        switch step.views.next(for: id) {
        case .ask(let request):
            state = .lookingUp(id)
            return .lookUp(request)
        case .known(let result):
            conclude(piece, with: result)
            return nil
        }
    }

    private mutating func lookedUp(_ answer: ViewLookups.Answer, for id: ConversationID) -> [Effect] {
        do throws(Failure) {
            try step.views.answered(answer)
            return continueLookUp(id)
        } catch {
            return failed(error)
        }
    }

    private mutating func lookUpFailed(_ failure: Failure, of id: ConversationID) -> [Effect] {
        do throws(Failure) {
            try step.views.failed(failure)
            return continueLookUp(id)
        } catch {
            return failed(error)
        }
    }

    private mutating func continueLookUp(_ id: ConversationID) -> [Effect] {
        guard let piece = step.pieces.first else { return continueStep() }
        if let question = lookUp(id, for: piece) { return [question] }
        step.pieces.removeFirst()
        return continueStep()
    }

    // MARK: Items to send

    /// Begins a piece.
    /// - Returns: the conversation that must be looked up first; nil if the piece is done.
    private mutating func beginPiece(_ piece: Piece) -> ConversationID? {
        switch piece {
        case .show(let id): return id
        case .entry(.skipped(let id, let position)): plan.advance(id, to: position)
        case .entry(.userChange(let change)):
            applyUserChange(change)
            step.items.append(.userChange(change))
            return neededLookUp(for: piece)
        case .entry(.change(let change)):
            switch plan.decide(on: change, for: user) {
            case .nothing: break
            case .change: step.items.append(.change(plan.visiblePart(of: change)))
            case .lookUp: return change.conversationID
            }
            plan.advance(change.conversationID, to: change.position)
        }
        return nil
    }

    /// Updates the plan by an entry of the user's own log.
    private mutating func applyUserChange(_ change: UserChange) {
        plan.advanceUser(to: change.position)
        switch change.content {
        case .conversationHidden(let id, _, let wholly):
            plan.concerns(id)
            if wholly { plan.hidden(id) }
        case .messageHidden(_, let view?), .messagesHidden(_, let view):
            plan.concerns(view.conversation.id)
            plan.counted(view)
        case .messageDeleted(_, _, let view?): plan.counted(view)
        case .conversationDeleted(let id): plan.deleted(id)
        case .conversationShown(let view?):
            plan.returns(view.conversation.id)
            plan.shown(view)
        default: break
        }
    }

    private mutating func conclude(_ piece: Piece, with result: ViewLookups.LookUpResult) {
        switch piece {
        case .entry(.skipped): break
        case .entry(.userChange(let change)): showAgain(result, after: change)
        case .entry(.change(let change)): show(result, because: change)
        case .show(let id):
            switch result {
            case .view(let view):
                step.items.append(.conversationNow(view, at: plan.position(of: id)))
                plan.shown(view)
                plan.scheduleRead(of: [id])
            case .unseen:
                // The conversation has just changed. Its log contains the change.
                patience.failedLookUps += 1
                if patience.failedLookUps < Self.maximumFailedLookUps {
                    plan.scheduleRead(of: [id])
                } else {
                    plan.hidden(id)
                }
            case .unshowable: plan.setAside(id)
            }
        }
    }

    /// Sends a conversation that is new to the client in its current state. Changes contained in that state are not
    /// sent again.
    private mutating func show(_ result: ViewLookups.LookUpResult, because change: Change) {
        switch result {
        case .view(let view):
            plan.shown(view)
            step.items.append(.conversation(view, change))
        // The conversation was deleted or the user was removed since. The log contains that change further on.
        case .unseen: break
        case .unshowable: plan.setAside(change.conversationID)
        }
        if plan.shouldSend(afterLookUp: change, by: user) { step.items.append(.change(plan.visiblePart(of: change))) }
        plan.advance(change.conversationID, to: change.position)
    }

    /// Sends a conversation in its current state if it has come back after the user deleted it from their devices. The
    /// client keeps the conversation and removes its messages, but other changes before the deletion are not sent.
    private mutating func showAgain(_ result: ViewLookups.LookUpResult, after change: UserChange) {
        guard case .view(let view) = result else { return }
        plan.shown(view)
        let shown = UserChange(
            appID: change.appID, user: change.user, position: change.position, createdAt: change.createdAt,
            content: .conversationShown(view))
        step.items.append(.userChange(shown))
    }

    // MARK: Attaching

    private mutating func attach() -> [Effect] {
        state = .attaching
        return [.attach(Attachment(plan))]
    }

    private mutating func attached(_ refusal: Attachment.Refusal) -> [Effect] {
        if refusal.isUserRefused {
            plan.userRefused()
        } else {
            plan.attached(except: refusal.conversations)
            plan.userAttached()
        }
        guard refusal.isEmpty else { return stepEnded() }
        outcome.setAside = plan.setAside
        return end(.present(outcome))
    }
}
