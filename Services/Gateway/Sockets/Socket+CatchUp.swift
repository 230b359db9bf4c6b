// SPDX-License-Identifier: Apache-2.0
import FanOut
import NIOCore
import StrataModel
import StrataWire
import Sync

struct SocketCatchUps {
    var schedule: CatchUpSchedule
    /// The task of the current catch-up.
    var task: Task<Void, Never>?
    /// The timer after which a client without requests is sent live changes.
    var listening: Scheduled<Void>?
    /// The timer for the next retry of conversations that could not be shown.
    var nextRetry: Scheduled<Void>?
    /// The item of a catch-up that is too long to be rendered on the loop, and then its rendering.
    var ahead: RenderingAhead?

    /// Cancels the timer, because the client has made a request or the time has passed.
    mutating func stopListening() {
        listening?.cancel()
        listening = nil
    }

    mutating func closed() {
        schedule.closed()
        stopListening()
        nextRetry?.cancel()
        nextRetry = nil
        stop()
        ahead = nil
    }

    mutating func stop() {
        task?.cancel()
        task = nil
    }
}

/// Performs the actions of the socket's ``CatchUpSchedule``. All members are used on the loop.
extension Socket {
    /// The times that the schedule needs.
    var moment: CatchUpSchedule.Moment {
        CatchUpSchedule.Moment(now: registry.loop.now, clock: registry.clock, lastStamp: outbox.lastStamp)
    }

    /// The time from which a client receives changes that it did not request, as far as it is known.
    var beginning: Timestamp { catchUps.schedule.beginning(at: moment) }

    /// Handles a request of the client. Unless it is a replay, the first catch-up starts now.
    func requestReceived(replaying: Bool) {
        catchUps.stopListening()
        outbox.requestReceived()
        perform(catchUps.schedule.requestReceived(isReplay: replaying, at: moment))
    }

    /// Handles a client without requests: from now on it is sent live changes. A later replay, here or on another
    /// socket, must miss no earlier change.
    func startUnsolicited() {
        guard case .waiting = phase, !isClosing else { return }
        outbox.startUnsolicited(replayableSince: session.replayableSince)
        perform(catchUps.schedule.startUnsolicited(at: moment))
    }

    /// Starts a replay (`Event.replay`) from this time. It replaces a running catch-up.
    func startReplay(_ request: SocketRequest, from time: Timestamp) {
        if let replay = requests.begin(replay: request) {
            // The client has abandoned the previous replay, but every request gets an answer.
            respond(to: replay, .failure(Failure(.invalidOperation, "Another replay was requested.")))
        }
        perform(catchUps.schedule.replay(from: time, at: moment))
    }

    func replayRefused() { perform(catchUps.schedule.replayRefused(at: moment)) }

    /// Joins conversations that are new to this socket, reading their logs after the given positions.
    func join(_ conversations: [ConversationID: Position]) {
        perform(catchUps.schedule.join(conversations, at: moment) { registration.isIn($0) })
    }

    /// Handles a report that the user was added to the conversation at `position`. Several sources can report the same
    /// addition.
    func wasAdded(to id: ConversationID, at position: Position) {
        let known = registration.position(in: id)
        perform(catchUps.schedule.added(to: id, since: position, known: known, at: moment) { registration.isIn($0) })
    }

    /// Joins conversations that became known during another catch-up.
    func startLateJoins() { perform(catchUps.schedule.startLateJoins(at: moment) { registration.isIn($0) }) }

    /// Returns true if no other catch-up has replaced this attempt and the socket is not closing.
    func isCurrent(_ attempt: Int) -> Bool { isOpen && !isClosing && attempt == catchUps.schedule.attempt }

    // MARK: Actions of the schedule

    private func perform(_ actions: [CatchUpSchedule.Action]) {
        for action in actions {
            switch action {
            case .limit(let limit): apply(limit)
            case .cancel: catchUps.stop()
            case .leaveConversations: registry.resetForReplay(self)
            case .run(let catchUp, let attempt): run(catchUp, attempt: attempt)
            case .answerReplay(let result): answerReplay(result)
            case .flushPendingTyping: flushPendingTyping()
            case .leftOut(let count, let example): home.services.leftOut(count, example: example, of: "a catch-up")
            case .retryLater(let pause): planRetry(after: pause)
            case .retry(let attempt):
                whileCurrent(attempt, in: .milliseconds(Int64.random(in: CatchUpTiming.servicePause))) { socket in
                    socket.perform(socket.catchUps.schedule.retry(at: socket.moment) { socket.registration.isIn($0) })
                }
            case .closeUnlessReplayed(let attempt):
                whileCurrent(attempt, in: CatchUpTiming.replayPatience) { $0.close(.behind) }
            case .closeBehind: close(.tooMuch)
            }
        }
    }

    private func apply(_ limit: CatchUpSchedule.Limit) {
        switch limit {
        case .openingBegins(let time): outbox.openingBegins(at: time)
        case .replayBegins(let time): outbox.replayBegins(at: time)
        case .pending(let time): outbox.addPending(since: time)
        case .caughtUp(let time, let isReplay): outbox.caughtUp(asOf: time, isReplay: isReplay)
        }
    }

    private func run(_ catchUp: CatchUp, attempt: Int) {
        catchUps.task = Task { [weak self] in
            guard let self else { return }
            let end = await CatchUpDriver.run(catchUp, for: self, attempt: attempt)
            registry.loop.execute { self.catchUpEnded(end, attempt: attempt) }
        }
    }

    private func catchUpEnded(_ end: CatchUp.End, attempt: Int) {
        guard isCurrent(attempt) else { return }
        catchUps.task = nil
        catchUps.schedule.willEnd(end)
        registry.flushDeferred()
        perform(catchUps.schedule.ended(end, at: moment) { registration.isIn($0) })
    }

    private func answerReplay(_ result: Result<CatchUp.Outcome, Failure>) {
        guard let request = requests.takeReplay() else { return }
        switch result {
        case .failure(let failure): respond(to: request, .failure(failure))
        case .success(let outcome):
            respond(
                to: request,
                .success { writer in
                    writer.beginObject()
                    writer.key("complete")
                    writer.bool(outcome.isComplete)
                    if !outcome.epoch.isEmpty {
                        writer.key("epoch")
                        writer.string(outcome.epoch)
                    }
                    writer.endObject()
                })
        }
    }

    private func planRetry(after pause: TimeAmount) {
        catchUps.nextRetry = registry.loop.scheduleTask(
            in: .nanoseconds(pause.nanoseconds / 1000 * .random(in: 750...1250))
        ) { [weak self] in
            guard let self, isOpen, !isClosing else { return }
            catchUps.nextRetry = nil
            perform(catchUps.schedule.retrySetAside(at: moment) { registration.isIn($0) })
        }
    }

    /// Runs `body` after `time`, if the attempt is still current.
    private func whileCurrent(_ attempt: Int, in time: TimeAmount, _ body: @escaping @Sendable (Socket) -> Void) {
        registry.loop.scheduleTask(in: time) { [weak self] in
            guard let self, isCurrent(attempt) else { return }
            body(self)
        }
    }
}

extension Socket: AttachableSocket {
    /// The conversations that the user has been added to or has left.
    var membership: Membership { catchUps.schedule.membership }

    /// Attaches the socket to a conversation. Call it only while the socket is open.
    func attach(at point: JoinPoint) -> Bool {
        let wasMember = registration.isIn(point.id)
        guard registry.attach(self, at: point) else { return false }
        if !wasMember, registration.isIn(point.id) {
            catchUps.schedule.membership.attached(point.id, at: point.position)
        }
        return true
    }

    func willAttach(_ conversations: Set<ConversationID>) { catchUps.schedule.membership.pending = conversations }

    func attachUser(position: Position, fanOutLast: Position) -> Bool {
        registry.attachUser(self, position: position, fanOutLast: fanOutLast)
    }
}
