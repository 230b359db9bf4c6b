// SPDX-License-Identifier: Apache-2.0
import FanOut
package import StrataModel

/// Brings one socket from the past to the present. It reads from the logs what the socket is owed, sends it, and attaches the socket to the fan-out
/// at exactly the positions where the reading ended, so that nothing is lost and nothing doubled in between (docs/architecture.md §6).
///
/// A value without a loop, a socket or a service: events go in, what is to be done comes out. Of what comes out at one time only the last thing is answered by
/// an event, so that one step follows the other. ``CatchUpDriver`` does what it says; the simulation (Tests/SimulationTests) does it in virtual time.
///
/// The reading is pulled as the socket drains: it never runs into the bound of outgoing bytes, and live changes are not queued beside it. What is
/// read is bounded in bytes, a page of the logs as well as the conversations that it makes necessary to show. A conversation that cannot be shown
/// does not hold up the others: the catch-up goes on without it, and the socket looks at it again later.
package struct CatchUp: Sendable {
    /// What the next event answers.
    private enum State {
        /// The user's own channel tells of conversations that they are added to after the baseline has been read.
        case hearingUser
        case asking(isRepeated: Bool)
        /// The conversations that the plan began with, or those that the user was added to since.
        case joining([ConversationID], isFirst: Bool)
        case reading
        /// What was read so far is being sent, so that what it takes to look the next conversation up comes in place of it.
        case makingRoom
        case lookingUp(ConversationID)
        case sending
        case comparing([(id: ConversationID, position: Position)])
        case attaching
        case resting(isInDoubt: Bool)
        case ended
    }

    /// What a step still has to work off.
    private enum Piece {
        case entry(LogPage.Entry)
        /// Nothing in the log shows it, since all that is told of it lies before a deletion from the user's devices; but it is on the user's list again.
        case show(ConversationID)
    }

    /// How many changes one read brings at least, if so many are owed and they are not too long. A read looks into all logs that are read together, so that it
    /// brings as many changes as there are logs: 10,000 messages in 1,000 conversations are 10 reads, and not 80.
    static let pageSize = 128
    /// Reads without reaching the present before the catch-up ends with ``End/tooMuch``; each brings a page.
    package static let maximumReads = 10_000
    /// Looks at conversations that were on the user's list a moment ago and are not to be seen, before one is given up.
    static let maximumVainLooks = 100
    /// Reads, one after the other, that showed nothing where something is owed, before the fan-out is told.
    static let maximumVainReads = 3

    private let reason: Reason
    private let user: UserID
    private let width: Int
    private var state = State.hearingUser
    private var plan: ReplayPlan
    /// Where to go on if a service cannot be asked: all before has been sent, and nothing after.
    private var checkpoint: ReplayPlan
    private var outcome = Outcome()
    /// Conversations that stay subscribed meanwhile, as often as they are named.
    package private(set) var joined: [ConversationID] = []
    private var step = StepInHand()
    private var patience = Patience()

    private struct StepInHand {
        /// Nil: no page, but conversations that are to be shown.
        var page: LogPage?
        var pieces: ArraySlice<Piece> = []
        /// The conversations that these will need.
        var views = ViewLookups(of: [])
        /// Read, and not sent yet.
        var items: [ReplayItem] = []
    }

    /// What was in vain so far.
    private struct Patience {
        var steps = 0
        var vainLooks = 0
        var vainReads = 0
    }

    /// - Parameters:
    ///   - user: whose socket it is.
    ///   - beginning: from when on the socket's client is told what it did not ask for.
    ///   - width: logs that are read together, at least one.
    package init(_ reason: Reason, for user: UserID, beginning: Timestamp, width: Int = ReplayPlan.width) {
        self.reason = reason
        self.user = user
        self.width = width
        plan = if case .joined(let conversations) = reason { ReplayPlan(joined: conversations, since: beginning) } else { ReplayPlan() }
        checkpoint = plan
    }

    // MARK: Events

    package mutating func begin() -> [Effect] {
        if case .joined = reason { return [join(plan.members, isFirst: true)] }
        state = .hearingUser
        return [.listen([])]
    }

    package mutating func handle(_ event: Event) -> [Effect] {
        switch (state, event) {
        case (.ended, _): return []
        case (.lookingUp(let id), .failed(let failure)): return lookUpFailed(failure, of: id)
        case (_, .failed(let failure)): return failed(failure)
        case (.hearingUser, .listening): return [ask(isRepeated: false)]
        case (.asking(let isRepeated), .baseline(let baseline, let took)): return baselineCame(baseline, took: took, isRepeated: isRepeated)
        case (.joining(_, isFirst: true), .listening): return nextStep()
        case (.joining(let new, isFirst: false), .listening):
            plan.owe(new)
            return stepEnded()
        case (.reading, .page(let page)): return pageCame(page)
        case (.makingRoom, .sent):
            keepCheckpoint()
            return workOn()
        case (.lookingUp(let id), .lookedUp(let answer)): return lookedUp(answer, for: id)
        case (.sending, .sent): return piecesEnded()
        case (.comparing(let positions), .compared(let lasts, let userLast)):
            for (entry, last) in zip(positions, lasts) { plan.fanOutIsAt(last, in: entry.id) }
            if let userLast { plan.userFanOutIsAt(userLast) }
            return plan.isEverythingRead ? attach() : stepEnded()
        case (.attaching, .attached(let refusal)): return attached(refusal)
        case (.resting(let isInDoubt), .rested): return isInDoubt ? stepEnded() : nextStep()
        // An answer to what was not asked.
        default: return end(.failed(.unavailable))
        }
    }

    // MARK: The beginning

    private mutating func ask(isRepeated: Bool) -> Effect {
        state = .asking(isRepeated: isRepeated)
        return if case .replay(let since) = reason {
            .askBaseline(since: since, margin: .zero)
        } else {
            .askBaseline(since: nil, margin: isRepeated ? CatchUpTiming.longestBaseline : .zero)
        }
    }

    /// The age that is asked for counts from the moment at which the database reads. If that was much later than it was asked, it is asked again, with a margin.
    private mutating func baselineCame(_ baseline: Baseline, took: Duration, isRepeated: Bool) -> [Effect] {
        if case .opened = reason, !isRepeated, took > CatchUpTiming.promptBaseline { return [ask(isRepeated: true)] }
        plan = ReplayPlan(baseline, width: width)
        outcome = Outcome(isComplete: baseline.isComplete, epoch: baseline.epoch, asOf: baseline.asOf)
        return [.learn(baseline.asOf, epoch: baseline.epoch), join(plan.members, isFirst: true)]
    }

    private mutating func join(_ conversations: [ConversationID], isFirst: Bool) -> Effect {
        state = .joining(conversations, isFirst: isFirst)
        joined += conversations
        return .listen(conversations)
    }

    // MARK: Steps

    /// Should the step fail, what has been sent of it is what lies before the checkpoint.
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
            return workOn()
        // Conversations that the fan-out is ahead in, or that it follows only from now on, are read again.
        case .compare(let positions, let userPosition):
            state = .comparing(positions)
            return [.compare(positions, user: userPosition)]
        }
    }

    /// A replay that fails does not go on. Without a second reference to the plan, a step costs as much as its page and not as all conversations.
    private mutating func keepCheckpoint() { if !reason.isReplay { checkpoint = plan } }

    private mutating func stepEnded() -> [Effect] {
        patience.steps += 1
        return nextStep()
    }

    /// A client that asked for a replay asks again; of any other catch-up the client knows nothing.
    private mutating func failed(_ failure: Failure) -> [Effect] {
        switch state {
        case .hearingUser, .asking, .ended: return end(.failed(failure))
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

    // MARK: What was read

    private mutating func pageCame(_ page: LogPage) -> [Effect] {
        plan.releaseWhatIsNamed(in: page)
        let page = plan.holdBack(from: plan.due(page), for: user)
        step = StepInHand(page: page, pieces: page.entries.map { .entry($0) }[...])
        step.views = ViewLookups(of: step.pieces.compactMap { needed(for: $0) })
        return workOn()
    }

    private func needed(for piece: Piece) -> ConversationID? {
        switch piece {
        case .entry(.change(let change)): plan.needsLookUp(change, by: user) ? change.conversationID : nil
        case .entry(.userChange(let change)): if case .conversationHidden(let id, _, wholly: false) = change.content { id } else { nil }
        case .entry(.skipped): nil
        case .show(let id): id
        }
    }

    private mutating func workOn() -> [Effect] {
        while let piece = step.pieces.first {
            if let id = needed(for: piece), !step.items.isEmpty, !step.views.has(id) {
                state = .makingRoom
                return [send()]
            }
            if let id = begin(piece), let question = lookUp(id, for: piece) { return [question] }
            step.pieces.removeFirst()
        }
        guard !step.items.isEmpty else { return piecesEnded() }
        state = .sending
        return [send()]
    }

    private mutating func send() -> Effect {
        let items = step.items
        step.items = []
        return .send(items, owedSince: owedSince)
    }

    /// The latest time that packets may show while something is held back. A replay from the time that the client named brings the margin before it again, so
    /// packets need not show earlier times.
    private var owedSince: Timestamp? {
        guard case .replay(let since) = reason else { return plan.heldSince }
        return plan.heldSince.map { max($0, since.advanced(by: CatchUpTiming.replayMargin)) }
    }

    private mutating func piecesEnded() -> [Effect] {
        guard let page = step.page else { return stepEnded() }
        step = StepInHand()
        plan.finish(page)
        // The fan-out was handed changes that the log does not hold: it is not the log that it was, unless what is read next shows them after all.
        patience.vainReads = page.reachesHeads && page.entries.isEmpty ? patience.vainReads + 1 : 0
        guard patience.vainReads > Self.maximumVainReads else { return stepEnded() }
        state = .resting(isInDoubt: true)
        return [.doubt, .rest(.inDoubt)]
    }

    // MARK: Looking up

    /// - Returns: what to ask first; nil: all that was known, and has been worked in.
    private mutating func lookUp(_ id: ConversationID, for piece: Piece) -> Effect? {
        switch step.views.next(for: id) {
        case .ask(let request):
            state = .lookingUp(id)
            return .lookUp(request)
        case .known(let look):
            conclude(piece, with: look)
            return nil
        }
    }

    private mutating func lookedUp(_ answer: ViewLookups.Answer, for id: ConversationID) -> [Effect] {
        do throws(Failure) {
            try step.views.answered(answer)
            return goOnLookingUp(id)
        } catch {
            return failed(error)
        }
    }

    private mutating func lookUpFailed(_ failure: Failure, of id: ConversationID) -> [Effect] {
        do throws(Failure) {
            try step.views.failed(failure)
            return goOnLookingUp(id)
        } catch {
            return failed(error)
        }
    }

    private mutating func goOnLookingUp(_ id: ConversationID) -> [Effect] {
        guard let piece = step.pieces.first else { return workOn() }
        if let question = lookUp(id, for: piece) { return [question] }
        step.pieces.removeFirst()
        return workOn()
    }

    // MARK: What is told

    /// - Returns: the conversation that has to be looked up before this is worked off; nil: it has been.
    private mutating func begin(_ piece: Piece) -> ConversationID? {
        switch piece {
        case .show(let id): return id
        case .entry(.skipped(let id, let position)): plan.advance(id, to: position)
        case .entry(.userChange(let change)):
            take(change)
            step.items.append(.userChange(change))
            return needed(for: piece)
        case .entry(.change(let change)):
            switch plan.decide(on: change, for: user) {
            case .nothing: break
            case .change: step.items.append(.change(plan.told(change)))
            case .lookUp: return change.conversationID
            }
            plan.advance(change.conversationID, to: change.position)
        }
        return nil
    }

    private mutating func take(_ change: UserChange) {
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

    private mutating func conclude(_ piece: Piece, with look: ViewLookups.Look) {
        switch piece {
        case .entry(.skipped): break
        case .entry(.userChange(let change)): showAgain(look, after: change)
        case .entry(.change(let change)): show(look, because: change)
        case .show(let id):
            switch look {
            case .view(let view):
                step.items.append(.conversationNow(view, at: plan.position(of: id)))
                plan.shown(view)
                plan.owe([id])
            case .unseen:
                // Something has just happened to it: the log tells what.
                patience.vainLooks += 1
                if patience.vainLooks < Self.maximumVainLooks { plan.owe([id]) } else { plan.hidden(id) }
            case .unshowable: plan.setAside(id)
            }
        }
    }

    /// A conversation that is new to this client is shown as it is now; what lies between and is contained in that is not sent again.
    private mutating func show(_ look: ViewLookups.Look, because change: Change) {
        switch look {
        case .view(let view):
            plan.shown(view)
            step.items.append(.conversation(view, change))
        // Deleted, or taken from the user, since: that is further on in the log.
        case .unseen: break
        case .unshowable: plan.setAside(change.conversationID)
        }
        if plan.tells(afterLookUp: change, by: user) { step.items.append(.change(plan.told(change))) }
        plan.advance(change.conversationID, to: change.position)
    }

    /// What the user had deleted from their devices has come back since. The client keeps the conversation and removes the messages, but what else changed
    /// before the deletion is not told any more: so the conversation is shown as it is now.
    private mutating func showAgain(_ look: ViewLookups.Look, after change: UserChange) {
        guard case .view(let view) = look else { return }
        plan.shown(view)
        let shown = UserChange(
            appID: change.appID, user: change.user, position: change.position, createdAt: change.createdAt, content: .conversationShown(view))
        step.items.append(.userChange(shown))
    }

    // MARK: The end

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
