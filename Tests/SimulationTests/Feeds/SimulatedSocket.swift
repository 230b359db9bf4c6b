// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel
import StrataWire

@testable import FanOut
@testable import Gateway

/// One connection on the side of its gateway: a socket of the real ``LoopRegistry``, and the shell around the machines of ``Socket``, doing what that does.
final class SimulatedSocket: @unchecked Sendable {
    enum Phase { case waiting, catchingUp, live, closed }

    let number: Int
    let user: Int
    let registration: Registration
    unowned let home: SimulatedHome
    var registry: LoopRegistry { home.registry }
    var gateway: SimulatedGateway { home.gateway }
    let pipe: SimulatedPipe
    var phase = Phase.waiting
    var isSettled: Bool { phase == .live && catchUp == nil && pipe.isEmpty }
    var isOpen: Bool { phase != .closed }
    private(set) var isClosing = false
    var membership = Membership()
    private(set) var sequence = PacketSequence()
    private var queue = OutgoingQueue()
    private var outbox: [SimulatedPipe.Packet] = []
    private var outboxBytes = 0
    var since: NIODeadline { registration.since }
    private var knownBeginning: Timestamp?
    /// For a gateway that believes its wall clock.
    private let openedAt: Timestamp
    /// When the session was made, by the clock of the database.
    let session: Timestamp
    private var catchUp: SimulatedCatchUp?
    private var catchUpAttempt = 0
    private var drainWaiters: [() -> Void] = []
    private var isReplayAsked = false
    let world: FeedWorld
    private var sabotage: FeedScenario.Sabotage? { world.scenario.sabotage }

    init(_ number: Int, user: Int, session: Timestamp, home: SimulatedHome, pipe: SimulatedPipe, _ world: FeedWorld) {
        self.number = number
        self.user = user
        self.session = session
        self.home = home
        self.pipe = pipe
        self.world = world
        openedAt = home.gateway.wallClock
        registration = Registration(key: world.log.keys[user], version: .v3, tokenDigest: [], since: home.loop.now)
        sequence.opened(at: beginning)
        pipe.becameWritable = { [weak self] in self?.becameWritable() }
        registry.add(self)
        home.loop.scheduleTask(in: Socket.listenAfter) { self.listens() }
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
        let now = home.loop.now
        return DatabaseClock.beginning(opened: since.elapsed(until: now), before: clock.now(at: now), session: session)
    }

    func met(databaseAt time: Timestamp) {
        guard knownBeginning == nil else { return }
        knownBeginning = DatabaseClock.beginning(opened: since.elapsed(until: home.loop.now), before: time, session: session)
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
        send(.other, stamp: registry.stamp().time)
    }

    func askedForReplay(from time: Timestamp) {
        guard isOpen, !isClosing else { return }
        sequence.clientSpoke()
        isReplayAsked = true
        catchUp = nil
        registry.startAnew(self)
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

    func join(_ id: ConversationID, after position: Position) {
        membership.join(id, after: position, shown: lastShown)
        startLateJoins()
    }

    func wasAdded(to id: ConversationID, at position: Position) {
        guard isOpen, phase != .waiting else { return }
        if membership.added(to: id, at: position, known: registration.position(in: id), shown: lastShown) { startLateJoins() }
    }

    private var lastShown: Timestamp { max(sequence.lastStamp, beginning) }

    func startLateJoins() {
        guard isOpen, catchUp == nil, phase == .live else { return }
        let owedSince = min(membership.waitingSince ?? lastShown, lastShown)
        let ready = membership.takeReady { registration.isIn($0) }
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

    /// - Returns: false if the loop has seen changes that the reading has not.
    func attach(at point: JoinPoint) -> Bool {
        guard isOpen else { return true }
        let wasMember = registration.isIn(point.id)
        var point = point
        // A socket that says it has read what it has not joins wherever it stands.
        if sabotage == .noAttachRule { point.position = max(point.position, point.fanOutLast, registry.conversations[point.id]?.last ?? .zero) }
        guard registry.attach(self, at: point) else {
            world.counts["refused", default: 0] += 1
            return false
        }
        guard !wasMember, registration.isIn(point.id) else { return true }
        membership.attached(point.id, at: point.position)
        let id = world.log.index(of: point.id)
        world.simulation.note(.init(what: "attached: socket, conversation, position", a: number, b: id, c: point.position.rawValue))
        guard sabotage == .noSkip, let members = registry.conversations[point.id]?.members else { return true }
        for index in members.indices where members[index].socket === self { registry.conversations[point.id]?.members[index].skip = .zero }
        return true
    }

    /// The same for the user's own log.
    func attachUser(position: Position, fanOutLast: Position) -> Bool {
        guard isOpen else { return true }
        var position = position
        if sabotage == .noAttachRule { position = max(position, fanOutLast, registry.userSockets[registration.key]?.cursor.last ?? .zero) }
        return registry.attachUser(self, position: position, fanOutLast: fanOutLast)
    }

    func isCurrent(_ attempt: Int) -> Bool { isOpen && !isClosing && attempt == catchUpAttempt }

    /// On the loop.
    /// - Parameter time: up to then the logs were read.
    func catchUpEnded(_ reason: SimulatedCatchUp.Reason, succeeded: Bool, asOf time: Timestamp?, attempt: Int) {
        guard isOpen, attempt == catchUpAttempt else { return }
        catchUp = nil
        membership.pending = []
        if !succeeded, case .joined(let conversations) = reason { membership.putBack(conversations) }
        registry.flushDeferred()
        switch (succeeded, reason) {
        case (true, _):
            let isReplay = if case .replay = reason { true } else { false }
            sequence.caughtUp(asOf: time, isReplay: isReplay)
            phase = .live
            if sabotage != .answerBeforeJoins { startLateJoins() }
            if isReplayAsked, case .replay = reason {
                isReplayAsked = false
                send(.replayAnswered(succeeded: true), stamp: registry.stamp().time)
            }
            startLateJoins()
        case (false, .replay):
            isReplayAsked = false
            send(.replayAnswered(succeeded: false), stamp: registry.stamp().time)
            guard sabotage != .noReplayPatience else { return }
            home.loop.scheduleTask(in: Socket.replayPatience) { [weak self] in
                guard let self, isCurrent(attempt) else { return }
                close()
            }
        case (false, .opened), (false, .joined):
            home.loop.scheduleTask(in: .microseconds(world.simulation.span(500_000...1_000_000))) { self.retry(reason, after: attempt) }
        }
    }

    private func retry(_ reason: SimulatedCatchUp.Reason, after attempt: Int) {
        guard isCurrent(attempt) else { return }
        switch (reason, phase) {
        case (.opened, .catchingUp): start(reason)
        case (.joined, .live): startLateJoins()
        default: break
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
        var limit = ceiling
        if let owed = registration.owedUserChangeSince { limit = min(limit ?? owed, owed) }
        append(content, bytes: content.bytes, stamp: sequence.allowed(shown(stamp), ceiling: limit, isTimeKnown: isTimeKnown))
    }

    /// A gateway that shows the present, or the time of the wall, asks no database.
    private func shown(_ stamp: Timestamp) -> Timestamp {
        switch sabotage {
        case .noStampLimit: Timestamp(world.simulation.now)
        case .wallClock: gateway.wallClock
        default: stamp
        }
    }

    private var isTimeKnown: Bool { registry.clock != nil || sabotage == .noStampLimit || sabotage == .wallClock }

    private var ceiling: Timestamp? {
        switch sabotage {
        case .noGapFloor: registry.clock?.asOf.advanced(by: HeadReconciler.trust)
        case .noStampLimit: registry.gapFloor
        default: registry.ceiling
        }
    }

    private func append(_ content: SimulatedPipe.Content, bytes: Int, stamp: Timestamp? = nil) {
        if outbox.isEmpty { registry.touched(self) }
        outbox.append(SimulatedPipe.Packet(content: content, counter: sequence.counter, stamp: stamp ?? sequence.lastStamp, bytes: bytes))
        outboxBytes += bytes
        if let stamp { sequence.sent(1, stamp: stamp) }
    }

    @discardableResult
    func flush() -> Int {
        guard !outbox.isEmpty else { return 0 }
        let (packets, bytes) = (outbox, outboxBytes)
        outbox = []
        outboxBytes = 0
        guard !isClosing else { return 0 }
        if case .abandon = queue.admit(bytes, isWritable: pipe.isWritable, bound: world.scenario.backlogBound), sabotage != .noBound {
            world.counts["abandoned", default: 0] += 1
            abandon()
            return 0
        }
        pipe.write(packets, bytes)
        return bytes
    }

    /// Says that it is the end; what was written before still goes out.
    func close() {
        guard isOpen, !isClosing else { return }
        flush()
        guard !isClosing else { return }
        isClosing = true
        pipe.write([SimulatedPipe.Packet(content: .close, counter: -1, stamp: sequence.lastStamp, bytes: 0)], 0)
        cutOff(after: .seconds(2))
        catchUp = nil
    }

    private func abandon() {
        guard !isClosing else { return }
        isClosing = true
        pipe.write([SimulatedPipe.Packet(content: .close, counter: -1, stamp: sequence.lastStamp, bytes: 0)], 0)
        cutOff(after: .seconds(1))
        registry.leaveAll(self)
        catchUp = nil
    }

    private func cutOff(after time: TimeAmount) {
        home.loop.scheduleTask(in: time) {
            self.pipe.close()
            self.ended()
        }
    }

    private func becameWritable() {
        home.loop.execute(.init(what: "writable", a: number)) { [self] in
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
