// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// A simulated device. It connects, loses its connection, returns and replays from the time of its last packet, and
/// judges what it receives.
final class SimulatedClient {
    let number: Int
    let user: Int
    private let world: FeedWorld
    /// The time from which the client must receive all changes.
    private(set) var since: Int64 = .max
    /// The time of the session, by the database's clock.
    private var session: Timestamp?
    private var lastStamp: Timestamp?
    /// The start of a replay that has not succeeded yet. It is retried from the same time.
    private var pendingReplayStart: Timestamp?
    private var pipe: SimulatedPipe?
    private var socket: SimulatedSocket?
    private var attempt = 0
    private var isReplayDue = false
    /// The number of consecutive failed replays on this connection. A stock client tries eight times and then stops.
    private var failedReplays = 0
    private static let replayTries = 4
    private(set) var digest = Digest()
    /// True if the client has returned and its replay is pending or not requested yet.
    private var needsReplay = false
    /// The time since which no catch-up is in progress.
    private var settledSince: Int64?

    // State of the current connection
    private var counter: Int64 = 0
    private var connectionStamp = Timestamp(0)
    /// True between the answer to a failed replay and the start of the next one. No live packets may arrive then
    /// (docs/protocol.md, Coming back).
    private var hasReplayFailed = false

    // State since the start of the last replay
    private var lastTold: [Position]
    private var lastOwn = Position.zero
    // State for the whole lifetime
    private var seen: [[Bool]]
    private var shownUpTo: [Position]
    private var seenOwn: [Bool] = []
    /// The last counts received for each conversation.
    private var counts: [LogService.Counts?]
    /// The position up to which each conversation was deleted from the user's devices; nil if it has been shown since.
    private var goneUpTo: [Position?]
    /// The entry of the user's own log by which the client knows of the last deletion of each conversation.
    private var knownDeletions: [Position]
    /// The deletions received since the start of the last replay.
    private var isDeletionRecent: [Bool]
    /// True if the conversation was just shown because of a change, which may follow.
    private var isJustShown: [Bool]
    /// The ledger of the fault tests, which sees only what a real client sees.
    private var ledger: SimulatedLedger?

    init(_ number: Int, user: Int, _ world: FeedWorld) {
        self.number = number
        self.user = user
        self.world = world
        lastTold = Array(repeating: .zero, count: world.scenario.conversations)
        shownUpTo = lastTold
        seen = Array(repeating: [], count: world.scenario.conversations)
        counts = Array(repeating: nil, count: world.scenario.conversations)
        goneUpTo = Array(repeating: nil, count: world.scenario.conversations)
        knownDeletions = lastTold
        isJustShown = Array(repeating: false, count: world.scenario.conversations)
        isDeletionRecent = isJustShown
        ledger = world.scenario.hasLedgers ? SimulatedLedger() : nil
    }

    private var simulation: Simulation { world.simulation }
    /// True if no catch-up is in progress.
    var isSettled: Bool { socket?.isSettled ?? false }

    // MARK: Connections

    func connect() {
        guard pipe == nil, !world.isOver else { return }
        attempt += 1
        if lastStamp == nil {
            since = simulation.now
            // The time from a client's session to its lists is longer than any commit: its lists contain everything
            // stamped before the session.
            session =
                session
                ?? Timestamp(
                    world.scenario.hasCounts
                        ? simulation.now - LogService.longestCommit - simulation.span(0...10_000_000) : 0)
            // The client has just loaded its lists.
            for id in counts.indices {
                counts[id] = currentCounts(of: id)
                goneUpTo[id] = isGone(id) ? world.log.conversations[id].deletions[user].upTo : nil
                knownDeletions[id] = world.log.conversations[id].deletions[user].entry
            }
        }
        let pipe = SimulatedPipe(world, of: number)
        self.pipe = pipe
        if world.scenario.slowStarts > 0, simulation.chance(world.scenario.slowStarts), !world.isQuiet {
            pipe.isStopped = true
            let length = simulation.span(10_000...world.scenario.longestFault)
            simulation.after(length, .init(what: "begins to read: client", a: number)) { pipe.isStopped = false }
        }
        needsReplay = lastStamp != nil
        counter = 0
        hasReplayFailed = false
        failedReplays = 0
        connectionStamp = Timestamp(0)
        forgetOrder()
        ledger?.connectionOpened(handshakeBegan: simulation.now)
        pipe.received = { [weak self] in self?.received($0) }
        let attempt = attempt
        let gateway = world.gateways[simulation.int(0...world.gateways.count - 1)]
        let home = gateway.homes[simulation.int(0...gateway.homes.count - 1)]
        let delay = simulation.span(1000...30_000)
        simulation.after(delay, .init(what: "client connects to gateway", a: number, b: gateway.index)) { [self] in
            guard self.attempt == attempt else { return }
            home.loop.execute(.init(what: "socket of client on registry", a: number, b: home.index)) { [self] in
                guard self.attempt == attempt else { return }
                let session = session ?? Timestamp(0)
                let socket = SimulatedSocket(
                    world.nextSocket(), user: user, session: session, home: home, pipe: pipe, world)
                self.socket = socket
                pipe.lost = { [weak self] in self?.connectionLost(socket) }
                let isListener = world.scenario.listeners > 0 && simulation.chance(world.scenario.listeners)
                // On its first connection a listener may request nothing.
                if isListener, lastStamp == nil, simulation.chance(500) { return }
                let pause = isListener ? simulation.span(100_000...20_000_000) : simulation.span(500...20_000)
                simulation.after(pause, .init(what: "client asks", a: number)) { [self] in ask(socket) }
            }
        }
    }

    private func ask(_ socket: SimulatedSocket) {
        guard self.socket === socket else { return }
        let from = world.scenario.hasCounts ? pendingReplayStart ?? lastStamp : lastStamp
        pendingReplayStart = from
        isReplayDue = false
        socket.home.loop.execute(.init(what: "request of client", a: number)) {
            if let from { socket.askedForReplay(from: from) } else { socket.asked() }
        }
    }

    /// Requests a replay on an existing connection.
    func replay() {
        guard let socket, lastStamp != nil, !isReplayDue else { return }
        ask(socket)
    }

    func stopReading(_ isStopped: Bool) { pipe?.isStopped = isStopped }

    func disconnect() { if socket != nil { pipe?.close() } }

    func end() {
        attempt += 1
        disconnect()
    }

    private func connectionLost(_ lost: SimulatedSocket) {
        attempt += 1
        pipe = nil
        socket = nil
        checkMissing()
        // The gateway notices the loss later.
        simulation.after(
            simulation.span(0...3_000_000), .init(what: "gateway notices the end of socket", a: lost.number)
        ) {
            lost.home.loop.execute(.init(what: "socket ends", a: lost.number)) { lost.ended() }
        }
        let pause = world.isQuiet ? simulation.span(10_000...500_000) : simulation.span(10_000...8_000_000)
        simulation.after(pause, .init(what: "client comes back", a: number)) { [self] in connect() }
    }

    private func forgetOrder() {
        lastOwn = .zero
        for index in lastTold.indices {
            lastTold[index] = .zero
            isDeletionRecent[index] = false
        }
    }

    // MARK: Received packets

    private func received(_ packet: SimulatedPipe.Packet) {
        if case .replayBegins = packet.content {
            hasReplayFailed = false
            return forgetOrder()
        }
        if case .close = packet.content { return disconnect() }
        if let fault = ledger?.note(packet, at: simulation.now) { complain("its ledger says: \(fault)") }
        if packet.counter != counter { complain("packet \(packet.counter) came where \(counter) was due") }
        if packet.stamp < connectionStamp { complain("a time went back") }
        counter += 1
        connectionStamp = packet.stamp
        lastStamp = packet.stamp
        digest.add(packet.counter)
        digest.add(packet.stamp.microseconds)
        if case .replayAnswered(let succeeded) = packet.content {
            simulation.note(.init(what: succeeded ? "replay done for client" : "replay failed for client", a: number))
        }
        if hasReplayFailed, packet.content.isLive { complain("was told something live after its replay had failed") }
        switch packet.content {
        case .change(let id, let position, let counts):
            told(id, position)
            if let counts { told(counts, of: id, at: position) }
        case .shown(let id, let view, let position, let counts):
            goneUpTo[id] = nil
            told(id, position, isShown: true)
            shownUpTo[id] = max(shownUpTo[id], view)
            if let counts { told(counts, of: id, at: view) }
        case .numbers(let id, let position, let counts): told(counts, of: id, at: position)
        case .own(let position): toldOwn(position)
        case .ownHidden(let position, let id):
            toldOwn(position)
            if case .conversationHidden(_, let upTo, _) = world.log.own[user][Int(position.rawValue) - 1].content {
                goneUpTo[id] = upTo
                isDeletionRecent[id] = true
                // Changes that followed the deletion and overtook it are repeated.
                lastTold[id] = min(lastTold[id], upTo)
            }
            counts[id] = nil
        case .ownShown(let position, let id, let view, let counts):
            // The entry after a deletion's entry contains the remaining state.
            toldOwn(position, isAgain: position == lastOwn)
            goneUpTo[id] = nil
            shownUpTo[id] = max(shownUpTo[id], view)
            if let counts { told(counts, of: id, at: view) }
        case .replayAnswered(let succeeded):
            // From here on the connection may be lost.
            if succeeded {
                checkMissing()
                pendingReplayStart = nil
                needsReplay = false
            }
            hasReplayFailed = !succeeded
            failedReplays = succeeded ? 0 : failedReplays + 1
            guard !succeeded, let socket, failedReplays < Self.replayTries else { return }
            isReplayDue = true
            simulation.after(
                simulation.span(100_000...2_000_000), .init(what: "client asks for its replay again", a: number)
            ) { [self] in ask(socket)
            }
        case .signal, .other, .replayBegins, .close: break
        }
    }

    private func toldOwn(_ position: Position, isAgain: Bool = false) {
        if position <= lastOwn, !isAgain { complain("entry \(position) of the own log came after \(lastOwn)") }
        lastOwn = position
        simulation.note(.init(what: "told entry to client", a: number, c: position.rawValue))
        let index = Int(position.rawValue)
        while seenOwn.count <= index { seenOwn.append(false) }
        seenOwn[index] = true
        guard case .conversationHidden(let id, _, _) = world.log.own[user][index - 1].content else { return }
        knownDeletions[world.log.index(of: id)] = max(knownDeletions[world.log.index(of: id)], position)
    }

    private func told(_ id: Int, _ position: Position, isShown: Bool = false) {
        digest.add(position.rawValue &* 8 &+ Int64(id))
        simulation.note(
            .init(what: isShown ? "shown to client" : "told to client", a: number, b: id, c: position.rawValue))
        if !isShown || position > lastTold[id] {
            if position <= lastTold[id], !(isJustShown[id] && position == lastTold[id]) {
                complain("change \(position) of conversation \(id) came after \(lastTold[id])")
            }
            lastTold[id] = position
        }
        isJustShown[id] = isShown
        guard position > .zero else { return }
        if !world.log.isVisible(position, of: id, to: user)
            || !isShown && world.log.isHidden(position, of: id, from: user)
        {
            complain("was told change \(position) of conversation \(id), which is none of its business")
        }
        if let gone = goneUpTo[id], position > gone,
            case .messageCreated = world.log.conversations[id].log[Int(position.rawValue) - 1].content
        {
            if isDeletionRecent[id] {
                complain(
                    "was told message \(position) of conversation \(id), which it has deleted, before it was shown the conversation again"
                )
            }
            // The gateway does not know of a deletion before the start of the replay. A client loads what it does not
            // have.
            goneUpTo[id] = nil
            counts[id] = currentCounts(of: id)
            shownUpTo[id] = max(shownUpTo[id], world.log.head(of: id))
        }
        let index = Int(position.rawValue)
        while seen[id].count <= index { seen[id].append(false) }
        seen[id][index] = true
    }

    /// Checks that the counts are those after the change that they arrive with.
    private func told(_ told: LogService.Counts, of id: Int, at position: Position) {
        let right = world.log.counts(of: id, at: position, for: user)
        // Packets that overtake the deletion still count the deleted messages.
        let isAhead = knownDeletions[id] < world.log.conversations[id].deletions[user].entry
        let accepted = [right] + world.log.formerCounts(of: id, at: position, for: user)
        if !isAhead,
            !accepted.contains(where: { told.unread ?? $0.unread == $0.unread && told.total ?? $0.total == $0.total })
        {
            complain("was told \(told) of conversation \(id) at \(position), where \(right) is right")
        }
        digest.add((told.unread ?? -1) &* 1_000_003 &+ (told.total ?? -1))
        counts[id] = LogService.Counts(
            unread: told.unread ?? counts[id]?.unread, total: told.total ?? counts[id]?.total)
    }

    private func isGone(_ id: Int) -> Bool { world.log.conversations[id].deletions[user].isWhole }

    /// Returns the current counts; nil if the user never was a participant or has deleted the conversation from their
    /// devices.
    private func currentCounts(of id: Int) -> LogService.Counts? {
        guard world.log.conversations[id].firstJoined[user] != nil, !isGone(id) else { return nil }
        return world.log.counts(of: id, at: world.log.head(of: id), for: user)
    }

    private func complain(_ text: String) { simulation.violated("client \(number) of user \(user): \(text)") }

    // MARK: Judgement

    /// The time after which everything must have arrived if nothing is lost, in microseconds.
    private static let delay: Int64 = 10_000_000

    func judgeDelay() {
        guard isSettled, !needsReplay else { return settledSince = nil }
        let settled = settledSince ?? simulation.now
        settledSince = settled
        guard simulation.now - settled >= Self.delay else { return }
        let end = Timestamp(simulation.now - Self.delay)
        forEachMissing { id, change in
            if world.log.requiredSince(change, of: id, by: user) < end {
                complain("waits for change \(change.position) of conversation \(id), though nothing is lost")
            }
        }
        for change in world.log.own[user] where isMissing(change) && change.createdAt < end {
            complain("waits for entry \(change.position) of its own log, though nothing is lost")
        }
    }

    /// Checks, after a loss of the connection, that all missing changes will be in the next replay.
    private func checkMissing() {
        // A replay does not contain what could not be shown.
        guard let lastStamp, world.scenario.unshowable == 0 else { return }
        let begin = lastStamp.advanced(by: .seconds(-30))
        forEachMissing { id, change in
            if world.log.requiredSince(change, of: id, by: user) < begin {
                complain("a replay would not bring change \(change.position) of conversation \(id)")
            }
        }
        for change in world.log.own[user] where isMissing(change) && change.createdAt < begin {
            complain("a replay would not bring entry \(change.position) of the own log")
        }
    }

    func judgeAll() {
        if pipe == nil { complain("has no connection in the end") }
        forEachMissing { id, change in complain("was never told change \(change.position) of conversation \(id)") }
        for change in world.log.own[user] where isMissing(change) {
            complain("was never told entry \(change.position) of its own log")
        }
        for id in goneUpTo.indices where goneUpTo[id] != nil && !isGone(id) {
            complain("does not see conversation \(id), which has come back")
        }
        guard world.scenario.hasCounts else { return }
        for id in counts.indices where counts[id] != currentCounts(of: id) && !mayBeUnshown(id) {
            // A deleted conversation has nothing left to count.
            if isGone(id), counts[id] == LogService.Counts(unread: 0, total: 0) { continue }
            complain(
                "holds \(counts[id].map { "\($0)" } ?? "no counts") of conversation \(id), where "
                    + "\(currentCounts(of: id).map { "\($0)" } ?? "none") is right")
        }
    }

    /// Returns true if the user left the conversation, possibly before it could be shown.
    private func mayBeUnshown(_ id: Int) -> Bool {
        world.scenario.unshowable > 0 && world.log.conversations[id].leftAt[user] != nil
    }

    private func isMissing(_ change: UserChange) -> Bool {
        let index = Int(change.position.rawValue)
        // A restored conversation is shown by its entry or by a catch-up.
        if case .conversationShown = change.content { return false }
        return change.createdAt.microseconds >= since && !(index < seenOwn.count && seenOwn[index])
    }

    private func forEachMissing(_ body: (Int, Change) -> Void) {
        for id in seen.indices where !mayBeUnshown(id) {
            // Search backwards while a change can be relevant.
            let upTo = world.log.conversations[id].deletions[user].upTo
            for change in world.log.conversations[id].log.reversed() where !isGone(id) && change.position > upTo {
                guard change.createdAt.microseconds >= since else { break }
                let index = Int(change.position.rawValue)
                guard !(index < seen[id].count && seen[id][index]), world.log.isTold(change, of: id, to: user) else {
                    continue
                }
                // The messages of a conversation that could not be shown for some time are loaded when it is shown.
                let isMessage =
                    if case .messageCreated = change.content { world.scenario.unshowable == 0 } else { false }
                let isContained = !isMessage && change.position <= shownUpTo[id]
                if !isContained { body(id, change) }
            }
        }
    }
}
