// SPDX-License-Identifier: Apache-2.0
import FanOut
import NIOCore
import StrataModel
import StrataWire

/// When a socket catches up, and one catch-up after the other. All on the loop.
extension Socket {
    /// How far before a new socket its client may have loaded the lists that it now wants to keep up to date (docs/architecture.md §6).
    static let openingMargin = Duration.seconds(10)
    /// A client that is about to ask for a replay does so at once. One that has not asked for anything by then wants to be told what happens.
    static let listenAfter = TimeAmount.seconds(2)
    /// A replay starts this much earlier than asked: clocks may differ, and a change is stamped before it is committed.
    static let replayMargin = Duration.seconds(30)
    /// A client whose replay has failed has so long to ask again before it is told to come back. The longest pause of stock clients is 20 s; after eight
    /// tries they rest on the socket for ever, and nothing but its end makes them begin anew.
    static let replayPatience = TimeAmount.seconds(30)
    /// A conversation that cannot be shown is looked at again after so long, and then twice as long each time, up to the longest.
    static let firstLook = TimeAmount.seconds(5)
    static let longestLook = TimeAmount.seconds(300)

    /// The client asked for something. If that is not a replay, its first catch-up starts now.
    func clientSpoke(replaying: Bool) {
        listening?.cancel()
        listening = nil
        outbox.clientSpoke()
        guard case .waiting = phase else { return }
        phase = .catchingUp
        if !replaying { beginWithoutReplay() }
    }

    /// The client has not asked for anything: from now on it is told what happens all the same. A replay that it asks for later, here or on another
    /// socket, is to miss nothing that came before.
    func clientListens() {
        guard case .waiting = phase, !isClosing else { return }
        outbox.clientListens(replayableSince: session.replayableSince)
        phase = .catchingUp
        beginWithoutReplay()
    }

    /// From where on a client is told what it did not ask for, as far as is known: until the database has said what its clock showed when the socket opened,
    /// a time that is early enough. The lists of a session cannot have been loaded before it was made.
    var beginning: Timestamp {
        if let knownBeginning { return knownBeginning }
        guard let clock = registry.clock else { return session.replayableSince }
        let now = registry.loop.now
        return DatabaseClock.beginning(opened: since.elapsed(until: now), before: clock.now(at: now), session: session.createdAt)
    }

    /// The database was read when its clock showed this time, a moment ago.
    func learn(databaseTime time: Timestamp) {
        guard knownBeginning == nil, time.microseconds > 0 else { return }
        knownBeginning = DatabaseClock.beginning(opened: since.elapsed(until: registry.loop.now), before: time, session: session.createdAt)
    }

    func beginWithoutReplay() { startCatchUp(.opened) }

    /// `Event.replay`: starts anew from there, whatever was going on.
    func startReplay(_ request: SocketRequest, from time: Timestamp) {
        if let replay = requests.begin(replay: request) {
            // The client has forgotten it by now; every request gets its answer all the same.
            respond(to: replay, .failure(Failure(.invalidOperation, "Another replay was asked for.")))
        }
        catchUpTask?.cancel()
        catchUpTask = nil
        registry.startAnew(self)
        membership.startedAnew()
        phase = .catchingUp
        outbox.replayBegins(at: time)
        startCatchUp(.replay(since: time.advanced(by: .zero - Self.replayMargin)))
    }

    /// The user is in these conversations since after these positions; they are new to this socket.
    func join(_ conversations: [ConversationID: Position]) {
        for (id, position) in conversations { membership.join(id, after: position, shown: lastShown) }
        startLateJoins()
    }

    /// The user takes part in a conversation since `position`. Told once or several times, by whatever way it became known.
    func wasAdded(to id: ConversationID, at position: Position) {
        guard isOpen else { return }
        // The first catch-up, which has not begun, will find it.
        if case .waiting = phase { return }
        let known = registration.position(in: id)
        if membership.added(to: id, at: position, known: known, shown: lastShown) { startLateJoins() }
    }

    /// The latest time that the client may replay from.
    var lastShown: Timestamp { max(outbox.lastStamp, beginning) }

    /// Joins what became known while another catch-up ran.
    func startLateJoins() {
        guard isOpen, catchUpTask == nil, case .live = phase else { return }
        // What they bring is owed since they became known, which may have been long before another catch-up let them begin.
        let owedSince = min(membership.waitingSince ?? lastShown, lastShown)
        let ready = membership.takeReady { registration.isIn($0) }
        guard !ready.isEmpty else { return }
        outbox.owes(since: owedSince)
        startCatchUp(.joined(ready))
    }

    /// Joins a conversation where its reading ended. Only while the socket is open.
    /// - Returns: false if the loop has seen changes that the reading has not.
    func attach(at point: JoinPoint) -> Bool {
        let wasMember = registration.isIn(point.id)
        guard registry.attach(self, at: point) else { return false }
        if !wasMember, registration.isIn(point.id) { membership.attached(point.id, at: point.position) }
        return true
    }

    /// Whether this is the catch-up that counts: none has taken its place, and the socket is not about to close.
    func isCurrent(_ attempt: Int) -> Bool { isOpen && !isClosing && attempt == catchUpAttempt }

    private func startCatchUp(_ reason: CatchUp.Reason) {
        if case .opened = reason { outbox.openingBegins(at: beginning) }
        catchUpAttempt += 1
        let attempt = catchUpAttempt
        catchUpTask = Task { [weak self] in
            guard let self else { return }
            let end: CatchUpEnd
            do {
                end = .present(try await CatchUp.run(reason, for: self, attempt: attempt))
            } catch let failure as Failure {
                end = .failed(failure)
            } catch is CatchUp.TooMuch {
                end = .tooMuch
            } catch {
                end = .failed(.unavailable)
            }
            registry.loop.execute { self.catchUpEnded(reason, end: end, attempt: attempt) }
        }
    }

    /// How a catch-up ended.
    private enum CatchUpEnd {
        /// The socket is attached to the fan-out.
        case present(CatchUp.Outcome)
        /// A service could not be asked.
        case failed(Failure)
        case tooMuch
    }

    private func catchUpEnded(_ reason: CatchUp.Reason, end: CatchUpEnd, attempt: Int) {
        guard isCurrent(attempt) else { return }
        catchUpTask = nil
        membership.pending = []
        if case .failed = end, case .joined(let conversations) = reason {
            membership.putBack(conversations)
        }
        registry.flushDeferred()
        switch (end, reason) {
        case (.present(let outcome), _):
            let isReplay = if case .replay = reason { true } else { false }
            outbox.caughtUp(asOf: outcome.asOf, isReplay: isReplay)
            phase = .live
            setAside(outcome.setAside)
            // Before anything else is said: what waited behind this one is still owed, and limits the time that the answer may carry.
            startLateJoins()
            if isReplay, let request = requests.takeReplay() {
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
            sayHeldTyping()
        case (.failed(let failure), .replay):
            answerReplay(failure)
            // The client asks again, with pauses of its own; until then it is owed everything. If it does not, it must not rest on a socket that is told
            // nothing.
            registry.loop.scheduleTask(in: Self.replayPatience) { [weak self] in
                guard let self, isCurrent(attempt) else { return }
                close(.behind)
            }
        case (.failed, .opened), (.failed, .joined):
            let pause = TimeAmount.milliseconds(.random(in: 500...1000))
            registry.loop.scheduleTask(in: pause) { self.retryCatchUp(reason, after: attempt) }
        case (.tooMuch, _):
            // To begin anew here would bring the same again. What was sent moved the time from which the client will replay.
            answerReplay(Failure(.requestTimeout, "There are more changes than can be replayed at once."))
            close(.tooMuch)
        }
    }

    /// These could not be shown. They are looked at again, ever less often: what made it so may be over.
    private func setAside(_ conversations: [ConversationID: Position]) {
        guard !conversations.isEmpty else { return }
        let new = membership.setAside(conversations)
        if let example = new.first { home.services.leftOut(new.count, example: example, of: "a catch-up") }
        guard nextLook == nil else { return }
        let pause = min(Self.longestLook, Self.firstLook * (1 << min(membership.vainLooks, 16)))
        nextLook = registry.loop.scheduleTask(in: .nanoseconds(pause.nanoseconds / 1000 * .random(in: 750...1250))) { [weak self] in
            guard let self, isOpen, !isClosing else { return }
            nextLook = nil
            join(membership.takeSetAside())
        }
    }

    private func answerReplay(_ failure: Failure) {
        guard let request = requests.takeReplay() else { return }
        respond(to: request, .failure(failure))
    }

    /// A service was away: what is owed is still owed. Not if the client has asked for a replay meanwhile, even one that failed: it is owed more then, and
    /// nothing may carry a later time than it allows.
    private func retryCatchUp(_ reason: CatchUp.Reason, after attempt: Int) {
        guard isCurrent(attempt) else { return }
        switch (reason, phase) {
        case (.opened, .catchingUp): startCatchUp(reason)
        case (.joined, .live): startLateJoins()
        default: break
        }
    }
}
