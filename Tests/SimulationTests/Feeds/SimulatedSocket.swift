// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel

@testable import FanOut
@testable import Gateway

/// One connection on the side of its gateway: the shell around its machines, doing what ``Socket`` does.
final class SimulatedSocket {
    /// As ``Gateway/Socket/replayPatience``, in microseconds.
    private static let replayPatience = Socket.replayPatience.nanoseconds / 1000

    enum Phase { case waiting, catchingUp, live, closed }

    let number: Int
    let user: Int
    let registry: SimulatedLoopRegistry
    let pipe: SimulatedPipe
    var phase = Phase.waiting
    var isSettled: Bool { phase == .live && catchUp == nil && pipe.isEmpty }
    var isOpen: Bool { phase != .closed }
    private(set) var isClosing = false
    var conversations: Set<Int> = []
    var userPosition: Position?
    var membership = Membership()
    private(set) var sequence = PacketSequence()
    private var queue = OutgoingQueue()
    private var outbox: [SimulatedPipe.Packet] = []
    private var outboxBytes = 0
    let since: NIODeadline
    private var knownBeginning: Timestamp?
    /// For a gateway that believes its wall clock.
    private let openedAt: Timestamp
    /// When the session was made, by the clock of the database.
    let session: Timestamp
    private var catchUp: SimulatedCatchUp?
    private var catchUpAttempt = 0
    private var drainWaiters: [() -> Void] = []
    private var isReplayAsked = false
    private var world: FeedWorld { registry.world }
    private var sabotage: FeedScenario.Sabotage? { world.scenario.sabotage }

    init(_ number: Int, user: Int, session: Timestamp, registry: SimulatedLoopRegistry, pipe: SimulatedPipe) {
        self.number = number
        self.user = user
        self.session = session
        self.registry = registry
        self.pipe = pipe
        openedAt = registry.gateway.wallClock
        since = registry.gateway.deadline
        sequence.opened(at: beginning)
        pipe.becameWritable = { [weak self] in self?.becameWritable() }
        registry.add(self)
        world.simulation.after(2_000_000, .init(what: "socket has been asked for nothing", a: number)) { [self] in
            guard phase == .waiting else { return }
            registry.loop.execute(.init(what: "socket goes live by itself", a: number)) { [self] in listens() }
        }
    }

    /// The connection is gone.
    func ended() {
        guard isOpen else { return }
        phase = .closed
        catchUp = nil
        catchUpAttempt += 1
        let waiters = drainWaiters
        drainWaiters = []
        for waiter in waiters { waiter() }
        registry.remove(self)
    }

    // MARK: Requests

    var beginning: Timestamp {
        if sabotage == .wallClock { return max(openedAt.advanced(by: .zero - Socket.openingMargin), session) }
        if let knownBeginning { return knownBeginning }
        guard let clock = registry.clock else { return session }
        let now = registry.gateway.deadline
        return DatabaseClock.beginning(opened: since.elapsed(until: now), before: clock.now(at: now), session: session)
    }

    func learn(databaseTime time: Timestamp) {
        guard knownBeginning == nil else { return }
        knownBeginning = DatabaseClock.beginning(opened: since.elapsed(until: registry.gateway.deadline), before: time, session: session)
    }

    private func listens() {
        guard phase == .waiting, !isClosing else { return }
        world.counts["listeners", default: 0] += 1
        if sabotage != .noUnaskedStamp { sequence.clientListens(replayableSince: session) }
        phase = .catchingUp
        start(.opened)
    }

    func asked() {
        guard isOpen, !isClosing else { return }
        sequence.clientSpoke()
        if phase == .waiting {
            phase = .catchingUp
            start(.opened)
        }
        send(.other, stamp: registry.stamp())
    }

    func askedForReplay(from time: Timestamp) {
        guard isOpen, !isClosing else { return }
        sequence.clientSpoke()
        isReplayAsked = true
        catchUp = nil
        registry.leaveAll(self)
        userPosition = nil
        membership.startedAnew()
        phase = .catchingUp
        setFloor { $0.replayBegins(at: time) }
        append(.replayBegins, bytes: 0)
        start(.replay(since: time.advanced(by: .seconds(-30))))
    }

    /// A shell that forgets the floor keeps none.
    private func setFloor(_ transition: (inout PacketSequence) -> Void) {
        transition(&sequence)
        if sabotage == .noFloor { sequence.caughtUp(asOf: nil, isReplay: false) }
    }

    // MARK: Catch-ups

    func wasAdded(to id: Int, at position: Position) {
        guard isOpen, phase != .waiting else { return }
        let known = conversations.contains(id) ? registry.known(id) : nil
        if membership.added(to: world.log.ids[id], at: position, known: known, shown: lastShown) { startLateJoins() }
    }

    private var lastShown: Timestamp { max(sequence.lastStamp, beginning) }

    func startLateJoins() {
        guard isOpen, catchUp == nil, phase == .live else { return }
        let owedSince = min(membership.waitingSince ?? lastShown, lastShown)
        let ready = membership.takeReady { conversations.contains(world.log.index(of: $0)) }
        guard !ready.isEmpty else { return }
        let since = sabotage == .answerBeforeJoins ? lastShown : owedSince
        setFloor { $0.owes(since: since) }
        start(.joined(ready))
    }

    private func start(_ reason: SimulatedCatchUp.Reason) {
        guard !isClosing else { return }
        if case .opened = reason { setFloor { [beginning] in $0.openingBegins(at: beginning) } }
        catchUpAttempt += 1
        world.counts["catch-ups", default: 0] += 1
        let new = SimulatedCatchUp(self, reason, attempt: catchUpAttempt)
        catchUp = new
        new.begin()
    }

    func isCurrent(_ attempt: Int) -> Bool { isOpen && !isClosing && attempt == catchUpAttempt }

    /// On the loop.
    /// - Parameter time: up to then the logs were read.
    func catchUpEnded(_ reason: SimulatedCatchUp.Reason, succeeded: Bool, asOf time: Timestamp?, attempt: Int) {
        guard isOpen, attempt == catchUpAttempt else { return }
        catchUp = nil
        membership.pending = []
        if !succeeded, case .joined(let conversations) = reason { membership.putBack(conversations) }
        switch (succeeded, reason) {
        case (true, _):
            let isReplay = if case .replay = reason { true } else { false }
            sequence.caughtUp(asOf: time, isReplay: isReplay)
            phase = .live
            if sabotage != .answerBeforeJoins { startLateJoins() }
            if isReplayAsked, case .replay = reason {
                isReplayAsked = false
                send(.replayAnswered(succeeded: true), stamp: registry.stamp())
            }
            startLateJoins()
        case (false, .replay):
            isReplayAsked = false
            send(.replayAnswered(succeeded: false), stamp: registry.stamp())
            guard sabotage != .noReplayPatience else { return }
            world.simulation.after(Self.replayPatience, .init(what: "replay was given up: socket", a: number)) { [weak self] in
                guard let self, attempt == catchUpAttempt else { return }
                close()
            }
        case (false, .opened), (false, .joined):
            world.simulation.after(world.simulation.span(500_000...1_000_000), .init(what: "catch-up again", a: number)) { [self] in
                guard isCurrent(attempt) else { return }
                switch (reason, phase) {
                case (.opened, .catchingUp): start(reason)
                case (.joined, .live): startLateJoins()
                default: break
                }
            }
        }
    }

    /// - Returns: the index of the first item that was not sent.
    func sendReplay(_ items: [SimulatedCatchUp.Item], from start: Int) -> Int {
        var index = start
        while index < items.count, isOpen, pipe.isWritable {
            let item = items[index]
            let time = item.createdAt ?? sequence.lastStamp
            setFloor { [limit = membership.waitingSince] in $0.replayReached(time, limit: limit) }
            // A shell that forgets the floor shows the present.
            send(item.content, stamp: sabotage == .noFloor ? Timestamp(world.simulation.now) : time)
            index += 1
            if outboxBytes > 2000 { flush() }
        }
        return isOpen ? index : items.count
    }

    // MARK: Outgoing

    func send(_ content: SimulatedPipe.Content, stamp: Timestamp) {
        guard isOpen, !isClosing else { return }
        if sabotage == .durablesDropped, !pipe.isWritable, case .change = content { return }
        append(content, bytes: content.bytes, stamp: sequence.allowed(stamp, ceiling: registry.ceiling, isTimeKnown: registry.isTimeKnown))
    }

    private func append(_ content: SimulatedPipe.Content, bytes: Int, stamp: Timestamp? = nil) {
        if outbox.isEmpty { registry.touched(self) }
        outbox.append(SimulatedPipe.Packet(content: content, counter: sequence.counter, stamp: stamp ?? sequence.lastStamp, bytes: bytes))
        outboxBytes += bytes
        if let stamp { sequence.sent(1, stamp: stamp) }
    }

    func sendEphemeral(stamp: Timestamp) {
        if phase == .waiting { return }
        guard OutgoingQueue.admitsEphemeral(isWritable: pipe.isWritable) else {
            world.counts["ephemerals dropped", default: 0] += 1
            return
        }
        send(.signal, stamp: stamp)
    }

    func flush() {
        guard !outbox.isEmpty else { return }
        let (packets, bytes) = (outbox, outboxBytes)
        outbox = []
        outboxBytes = 0
        guard !isClosing else { return }
        if case .abandon = queue.admit(bytes, isWritable: pipe.isWritable, bound: world.scenario.backlogBound), sabotage != .noBound {
            world.counts["abandoned", default: 0] += 1
            return abandon()
        }
        pipe.write(packets, bytes)
    }

    /// Says that it is the end; what was written before still goes out.
    func close() {
        guard isOpen, !isClosing else { return }
        flush()
        guard !isClosing else { return }
        isClosing = true
        pipe.write([SimulatedPipe.Packet(content: .close, counter: -1, stamp: sequence.lastStamp, bytes: 0)], 0)
        world.simulation.after(2_000_000, .init(what: "socket is cut off", a: number)) { [self] in
            pipe.close()
            ended()
        }
        catchUp = nil
    }

    private func abandon() {
        guard !isClosing else { return }
        isClosing = true
        pipe.write([SimulatedPipe.Packet(content: .close, counter: -1, stamp: sequence.lastStamp, bytes: 0)], 0)
        world.simulation.after(1_000_000, .init(what: "abandoned socket closes", a: number)) { [self] in
            pipe.close()
            ended()
        }
        registry.leaveAll(self)
        catchUp = nil
    }

    private func becameWritable() {
        registry.loop.execute(.init(what: "writable", a: number)) { [self] in
            guard isOpen, pipe.isWritable else { return }
            queue.drained()
            let waiters = drainWaiters
            drainWaiters = []
            for waiter in waiters { waiter() }
        }
    }

    func drained(_ body: @escaping () -> Void) {
        if pipe.isWritable || !isOpen { body() } else { drainWaiters.append(body) }
    }
}
