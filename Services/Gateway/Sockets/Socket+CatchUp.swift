// SPDX-License-Identifier: Apache-2.0
import Model
import NIOCore
import Wire

/// When a socket catches up, and one catch-up after the other. All on the loop.
extension Socket {
    /// How far before a new socket its client may have loaded the lists that it now wants to keep up to date (ARCHITECTURE §6).
    static let openingMargin = Duration.seconds(10)
    /// A replay starts this much earlier than asked: clocks may differ, and a change is stamped before it is committed.
    static let replayMargin = Duration.seconds(30)

    /// The client asked for something. If that is not a replay, its first catch-up starts now.
    func clientSpoke(replaying: Bool) {
        guard case .waiting = phase else { return }
        phase = .catchingUp
        if !replaying { beginWithoutReplay() }
    }

    func beginWithoutReplay() {
        startCatchUp(.opened(since: openedAt.advanced(by: .zero - Self.openingMargin)))
    }

    /// `Event.replay`: starts anew from there, whatever was going on.
    func startReplay(_ request: SocketRequest, from time: Timestamp) {
        if let replay {
            // The client has forgotten it by now; every request gets its answer all the same.
            respond(to: replay, .failure(Failure(.invalidOperation, "Another replay was asked for.")))
        }
        replay = request
        catchUpTask?.cancel()
        catchUpTask = nil
        hub.leaveAll(self)
        userPosition = nil
        heldUserChanges = []
        membership.startedAnew()
        phase = .catchingUp
        sequence.floor = max(time, sequence.lastStamp)
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
        let known = rooms.first { $0.id == id }?.last
        if membership.added(to: id, at: position, known: known, shown: lastShown) { startLateJoins() }
    }

    /// The latest time that the client may replay from.
    private var lastShown: Timestamp { max(sequence.lastStamp, openedAt) }

    /// Joins what became known while another catch-up ran.
    func startLateJoins() {
        guard isOpen, catchUpTask == nil, case .live = phase else { return }
        let ready = membership.takeReady { id in rooms.contains { $0.id == id } }
        guard !ready.isEmpty else { return }
        if sequence.floor == nil { sequence.floor = lastShown }
        startCatchUp(.joined(ready))
    }

    private func startCatchUp(_ reason: CatchUp.Reason) {
        if case .opened(let since) = reason { sequence.floor = since }
        catchUpAttempt += 1
        let attempt = catchUpAttempt
        catchUpTask = Task { [weak self] in
            guard let self else { return }
            let result: Result<Bool, Failure>
            do {
                result = .success(try await CatchUp.run(reason, for: self))
            } catch let failure as Failure {
                result = .failure(failure)
            } catch {
                result = .failure(.unavailable)
            }
            hub.loop.execute { self.catchUpEnded(reason, result, attempt: attempt) }
        }
    }

    private func catchUpEnded(_ reason: CatchUp.Reason, _ result: Result<Bool, Failure>, attempt: Int) {
        // Cancelled by a newer one, or the socket has closed.
        guard isOpen, attempt == catchUpAttempt else { return }
        catchUpTask = nil
        membership.pending = []
        if case .failure = result, case .joined(let conversations) = reason {
            membership.putBack(conversations)
        }
        hub.tellHeld()
        switch (result, reason) {
        case (.success(let isComplete), _):
            sequence.floor = nil
            phase = .live
            if let request = replay, case .replay = reason {
                replay = nil
                respond(
                    to: request,
                    .success { writer in
                        writer.beginObject()
                        writer.key("complete")
                        writer.bool(isComplete)
                        writer.endObject()
                    })
            }
            sayHeldTyping()
            startLateJoins()
        case (.failure(let failure), .replay):
            // The client asks again, with pauses of its own; until then it is owed everything.
            if let request = replay {
                replay = nil
                respond(to: request, .failure(failure))
            }
        case (.failure, .opened), (.failure, .joined):
            let pause = TimeAmount.milliseconds(.random(in: 500...1000))
            hub.loop.scheduleTask(in: pause) { self.retryCatchUp(reason) }
        }
    }

    /// A service was away: what is owed is still owed.
    private func retryCatchUp(_ reason: CatchUp.Reason) {
        guard isOpen, !isClosing, catchUpTask == nil else { return }
        switch (reason, phase) {
        case (.opened, .catchingUp): startCatchUp(reason)
        case (.joined, .live): startLateJoins()
        default: break
        }
    }
}
