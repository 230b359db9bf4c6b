// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel

@testable import FanOut
@testable import Gateway
@testable import Sync

/// Executes the actions of the socket's real ``CatchUpSchedule``.
extension SimulatedSocket {
    /// A gateway that trusts its wall clock does not query the database.
    var moment: CatchUpSchedule.Moment {
        let now = home.loop.now
        let clock = sabotage == .wallClock ? DatabaseClock(asOf: gateway.wallClock, heardAt: now) : registry.clock
        return CatchUpSchedule.Moment(now: now, clock: clock, lastStamp: sequence.lastStamp)
    }

    func isCurrent(_ attempt: Int) -> Bool { isOpen && !isClosing && attempt == schedule.attempt }

    func perform(_ actions: [CatchUpSchedule.Action]) { for action in sabotaged(actions) { perform(action) } }

    /// Sabotage: answers a replay before the pending joins limit the time that packets may carry.
    private func sabotaged(_ actions: [CatchUpSchedule.Action]) -> [CatchUpSchedule.Action] {
        guard sabotage == .answerBeforeJoins else { return actions }
        var (answers, others): ([CatchUpSchedule.Action], [CatchUpSchedule.Action]) = ([], [])
        for action in actions {
            switch action {
            case .answerReplay, .limit(.caughtUp): answers.append(action)
            case .limit(.pending):
                others.append(.limit(.pending(since: max(sequence.lastStamp, schedule.beginning(at: moment)))))
            default: others.append(action)
            }
        }
        return answers + others
    }

    private func perform(_ action: CatchUpSchedule.Action) {
        switch action {
        case .limit(let limit): apply(limit)
        case .cancel: driver = nil
        case .leaveConversations: registry.resetForReplay(self)
        case .run(let catchUp, let attempt): run(catchUp, attempt: attempt)
        case .answerReplay(let result): answerReplay(result)
        case .flushPendingTyping: break
        case .leftOut(let count, _): world.counts["left out", default: 0] += count
        case .retryLater(let pause) where sabotage != .setAsideForgotten:
            home.loop.scheduleTask(in: pause) { [self] in
                guard isOpen, !isClosing else { return }
                perform(schedule.retrySetAside(at: moment) { registration.isIn($0) })
            }
        case .retry(let attempt):
            whileCurrent(attempt, in: .microseconds(1000 * world.simulation.span(CatchUpTiming.servicePause))) {
                [self] in
                perform(schedule.retry(at: moment) { registration.isIn($0) })
            }
        case .closeUnlessReplayed(let attempt):
            if sabotage != .noReplayPatience {
                whileCurrent(attempt, in: CatchUpTiming.replayPatience) { [self] in close() }
            }
        case .closeBehind: close()
        case .retryLater: break
        }
    }

    private func apply(_ limit: CatchUpSchedule.Limit) {
        switch limit {
        case .openingBegins(let time): setFloor { $0.openingBegins(at: time) }
        case .replayBegins(let time):
            setFloor { $0.replayBegins(at: time) }
            append(.replayBegins, bytes: 0)
        case .pending(let time): setFloor { $0.addPending(since: time) }
        case .caughtUp(let time, let isReplay): sequence.caughtUp(asOf: time, isReplay: isReplay)
        }
    }

    /// Sabotage: keeps no floor.
    private func setFloor(_ transition: (inout PacketSequence) -> Void) {
        transition(&sequence)
        if sabotage == .noFloor { sequence.caughtUp(asOf: nil, isReplay: false) }
    }

    private func run(_ catchUp: CatchUp, attempt: Int) {
        guard !isClosing else { return }
        world.counts["catch-ups", default: 0] += 1
        let new = SimulatedCatchUpDriver(catchUp, for: self, attempt: attempt)
        driver = new
        new.begin()
    }

    func catchUpEnded(_ end: CatchUp.End, attempt: Int) {
        guard isCurrent(attempt) else { return }
        driver = nil
        schedule.willEnd(end)
        registry.flushDeferred()
        perform(schedule.ended(end, at: moment) { registration.isIn($0) })
    }

    private func answerReplay(_ result: Result<CatchUp.Outcome, Failure>) {
        guard isReplayAsked else { return }
        isReplayAsked = false
        let succeeded = if case .success = result { true } else { false }
        send(.replayAnswered(succeeded: succeeded), stamp: registry.stamp().time)
    }

    private func whileCurrent(_ attempt: Int, in time: TimeAmount, _ body: @escaping @Sendable () -> Void) {
        home.loop.scheduleTask(in: time) { [weak self] in
            guard let self, isCurrent(attempt) else { return }
            body()
        }
    }

    // MARK: Sending

    /// Sends items while the channel is writable.
    /// - Returns: the index of the first unsent item.
    func sendReplay(_ items: [ReplayItem], from start: Int, stampLimit: Timestamp?) -> Int {
        var index = start
        while index < items.count, isOpen, pipe.isWritable {
            let item = items[index]
            let time = item.createdAt ?? sequence.lastStamp
            let limit = [membership.waitingSince, stampLimit].compactMap(\.self).min()
            setFloor { $0.replayReached(time, limit: limit) }
            // Sabotage: without a floor, packets carry the current time.
            send(content(of: item), stamp: sabotage == .noFloor ? Timestamp(world.simulation.now) : time)
            index += 1
            if outboxBytes > 2000 { flush() }
        }
        return isOpen ? index : items.count
    }

    private func content(of item: ReplayItem) -> SimulatedPipe.Content {
        switch item {
        case .change(let change): .change(world.log.index(of: change.conversationID), change.position, nil)
        case .conversation(let view, let change): shown(view, at: change.position)
        case .conversationNow(let view, let position): shown(view, at: position)
        case .userChange(let change): content(of: change)
        }
    }

    private func content(of change: UserChange) -> SimulatedPipe.Content {
        switch change.content {
        case .conversationHidden(let id, _, wholly: true): .ownHidden(change.position, world.log.index(of: id))
        case .conversationShown(let view?):
            .ownShown(
                change.position, world.log.index(of: view.conversation.id), view: view.conversation.position,
                counts(of: view))
        default: .own(change.position)
        }
    }

    private func counts(of view: ConversationView) -> LogService.Counts? {
        world.scenario.hasCounts ? LogService.Counts(unread: view.unreadCount, total: view.totalCount) : nil
    }

    private func shown(_ view: ConversationView, at position: Position) -> SimulatedPipe.Content {
        .shown(
            world.log.index(of: view.conversation.id), view: view.conversation.position, at: position, counts(of: view))
    }
}

extension SimulatedSocket: AttachableSocket {
    var membership: Membership { schedule.membership }

    /// Attaches the socket to a conversation.
    /// - Returns: false if the loop has processed changes that the catch-up has not read.
    func attach(at point: JoinPoint) -> Bool {
        guard isOpen else { return true }
        let wasMember = registration.isIn(point.id)
        var point = point
        if sabotage == .hiddenForgotten { point.isHidden = false }
        // Sabotage: a socket that claims to have read changes that it has not read can join at any position.
        if sabotage == .noAttachRule {
            point.position = max(point.position, point.fanOutLast, registry.conversations[point.id]?.last ?? .zero)
        }
        guard registry.attach(self, at: point) else {
            world.counts["refused", default: 0] += 1
            return false
        }
        guard !wasMember, registration.isIn(point.id) else { return true }
        schedule.membership.attached(point.id, at: point.position)
        let id = world.log.index(of: point.id)
        world.simulation.note(
            .init(what: "attached: socket, conversation, position", a: number, b: id, c: point.position.rawValue))
        guard sabotage == .noSkip, let members = registry.conversations[point.id]?.members else { return true }
        for index in members.indices where members[index].socket === self {
            registry.conversations[point.id]?.members[index].skip = .zero
        }
        return true
    }

    func attachUser(position: Position, fanOutLast: Position) -> Bool {
        guard isOpen else { return true }
        var position = position
        if sabotage == .noAttachRule {
            position = max(position, fanOutLast, registry.userSockets[registration.key]?.cursor.last ?? .zero)
        }
        return registry.attachUser(self, position: position, fanOutLast: fanOutLast)
    }

    func willAttach(_ conversations: Set<ConversationID>) { schedule.membership.pending = conversations }

    func sendSummary(_ summary: ReplayPlan.Summary) {
        guard world.scenario.hasCounts, sabotage != .noSummaries else { return }
        let counts = LogService.Counts(unread: summary.unread, total: summary.total)
        send(.numbers(world.log.index(of: summary.id), at: summary.position, counts), stamp: registry.stamp().time)
    }
}
