// SPDX-License-Identifier: Apache-2.0
import FanOut
import NIOCore
import StrataModel
import StrataWire
import Sync

struct SocketCatchUps {
    var schedule: CatchUpSchedule
    /// Runs the catch-up that counts.
    var task: Task<Void, Never>?
    /// When the socket goes live although its client has asked for nothing.
    var listening: Scheduled<Void>?
    /// When conversations that could not be shown are looked at again.
    var nextRetry: Scheduled<Void>?
    /// What a catch-up is about to send and what is too long to be rendered on the loop, and then its rendering.
    var ahead: RenderingAhead?

    /// The client has spoken, or has been silent for long enough.
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

/// Does what the socket's ``CatchUpSchedule`` says. All on the loop.
extension Socket {
    /// What the schedule has to know of the time.
    var moment: CatchUpSchedule.Moment {
        CatchUpSchedule.Moment(now: registry.loop.now, clock: registry.clock, lastStamp: outbox.lastStamp)
    }

    /// From where on a client is told what it did not ask for, as far as is known.
    var beginning: Timestamp { catchUps.schedule.beginning(at: moment) }

    /// The client asked for something. If that is not a replay, its first catch-up starts now.
    func clientSpoke(replaying: Bool) {
        catchUps.stopListening()
        outbox.clientSpoke()
        perform(catchUps.schedule.clientSpoke(isReplay: replaying, at: moment))
    }

    /// The client has not asked for anything: from now on it is told what happens all the same. A replay that it asks for later, here or on another
    /// socket, is to miss nothing that came before.
    func clientListens() {
        guard case .waiting = phase, !isClosing else { return }
        outbox.clientListens(replayableSince: session.replayableSince)
        perform(catchUps.schedule.clientListens(at: moment))
    }

    /// `Event.replay`: starts anew from there, whatever was going on.
    func startReplay(_ request: SocketRequest, from time: Timestamp) {
        if let replay = requests.begin(replay: request) {
            // The client has forgotten it by now; every request gets its answer all the same.
            respond(to: replay, .failure(Failure(.invalidOperation, "Another replay was asked for.")))
        }
        perform(catchUps.schedule.replay(from: time, at: moment))
    }

    /// A replay that was asked for cannot be understood.
    func replayRefused() { perform(catchUps.schedule.replayRefused(at: moment)) }

    /// The user is in these conversations since after these positions; they are new to this socket.
    func join(_ conversations: [ConversationID: Position]) {
        perform(catchUps.schedule.join(conversations, at: moment) { registration.isIn($0) })
    }

    /// The user takes part in a conversation since `position`. Told once or several times, by whatever way it became known.
    func wasAdded(to id: ConversationID, at position: Position) {
        let known = registration.position(in: id)
        perform(catchUps.schedule.added(to: id, since: position, known: known, at: moment) { registration.isIn($0) })
    }

    /// Joins what became known while another catch-up ran.
    func startLateJoins() { perform(catchUps.schedule.startLateJoins(at: moment) { registration.isIn($0) }) }

    /// Whether this is the catch-up that counts: none has taken its place, and the socket is not about to close.
    func isCurrent(_ attempt: Int) -> Bool { isOpen && !isClosing && attempt == catchUps.schedule.attempt }

    // MARK: What the schedule says

    private func perform(_ actions: [CatchUpSchedule.Action]) {
        for action in actions {
            switch action {
            case .limit(let limit): apply(limit)
            case .cancel: catchUps.stop()
            case .leaveConversations: registry.startAnew(self)
            case .run(let catchUp, let attempt): run(catchUp, attempt: attempt)
            case .answerReplay(let result): answerReplay(result)
            case .sayHeldTyping: sayHeldTyping()
            case .leftOut(let count, let example): home.services.leftOut(count, example: example, of: "a catch-up")
            case .retryLater(let pause): planRetry(after: pause)
            case .retry(let attempt):
                whileCurrent(attempt, in: .milliseconds(Int64.random(in: CatchUpTiming.servicePause))) { socket in
                    socket.perform(socket.catchUps.schedule.retry(at: socket.moment) { socket.registration.isIn($0) })
                }
            case .closeUnlessReplayed(let attempt): whileCurrent(attempt, in: CatchUpTiming.replayPatience) { $0.close(.behind) }
            case .closeBehind: close(.tooMuch)
            }
        }
    }

    private func apply(_ limit: CatchUpSchedule.Limit) {
        switch limit {
        case .openingBegins(let time): outbox.openingBegins(at: time)
        case .replayBegins(let time): outbox.replayBegins(at: time)
        case .owes(let time): outbox.owes(since: time)
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
        catchUps.nextRetry = registry.loop.scheduleTask(in: .nanoseconds(pause.nanoseconds / 1000 * .random(in: 750...1250))) { [weak self] in
            guard let self, isOpen, !isClosing else { return }
            catchUps.nextRetry = nil
            perform(catchUps.schedule.retrySetAside(at: moment) { registration.isIn($0) })
        }
    }

    /// Runs `body` after so long, if the attempt still counts then.
    private func whileCurrent(_ attempt: Int, in time: TimeAmount, _ body: @escaping @Sendable (Socket) -> Void) {
        registry.loop.scheduleTask(in: time) { [weak self] in
            guard let self, isCurrent(attempt) else { return }
            body(self)
        }
    }
}

extension Socket: AttachableSocket {
    /// What is known of conversations the user has come to or left.
    var membership: Membership { catchUps.schedule.membership }

    /// Only while the socket is open.
    func attach(at point: JoinPoint) -> Bool {
        let wasMember = registration.isIn(point.id)
        guard registry.attach(self, at: point) else { return false }
        if !wasMember, registration.isIn(point.id) { catchUps.schedule.membership.attached(point.id, at: point.position) }
        return true
    }

    func willAttach(_ conversations: Set<ConversationID>) { catchUps.schedule.membership.pending = conversations }

    func attachUser(position: Position, fanOutLast: Position) -> Bool { registry.attachUser(self, position: position, fanOutLast: fanOutLast) }
}
