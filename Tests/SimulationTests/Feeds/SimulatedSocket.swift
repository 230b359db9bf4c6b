// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel
import StrataWire

@testable import FanOut
@testable import Gateway
@testable import Sync

/// The gateway's side of a connection: a socket of the real ``LoopRegistry``, with the shell around the state machines
/// of ``Socket``.
final class SimulatedSocket: @unchecked Sendable {
    let number: Int
    let user: Int
    let registration: Registration
    unowned let home: SimulatedHome
    var registry: LoopRegistry { home.registry }
    var gateway: SimulatedGateway { home.gateway }
    let pipe: SimulatedPipe
    var schedule: CatchUpSchedule
    var phase: CatchUpSchedule.Phase { schedule.phase }
    var isSettled: Bool { phase == .live && !schedule.isRunning && !schedule.isRetryScheduled && pipe.isEmpty }
    var isOpen: Bool { schedule.isOpen }
    private(set) var isClosing = false
    var sequence = PacketSequence()
    private var outgoing = OutgoingBuffer()
    private var outbox: [SimulatedPipe.Packet] = []
    private(set) var outboxBytes = 0
    /// The creation time of the session, by the database's clock.
    let session: Timestamp
    var driver: SimulatedCatchUpDriver?
    private var drainWaiters: [() -> Void] = []
    var isReplayAsked = false
    let world: FeedWorld
    var sabotage: FeedScenario.Sabotage? { world.scenario.sabotage }

    init(_ number: Int, user: Int, session: Timestamp, home: SimulatedHome, pipe: SimulatedPipe, _ world: FeedWorld) {
        self.number = number
        self.user = user
        self.session = session
        self.home = home
        self.pipe = pipe
        self.world = world
        registration = Registration(key: world.log.keys[user], version: .v3, tokenDigest: [], since: home.loop.now)
        let known = CatchUpSchedule.Session(of: world.log.userIDs[user], createdAt: session, replayableSince: session)
        let width = world.scenario.logsReadTogether
        schedule = CatchUpSchedule(known, since: registration.since, widths: width...width)
        sequence.opened(at: schedule.beginning(at: moment))
        pipe.becameWritable = { [weak self] in self?.becameWritable() }
        registry.add(self)
        home.loop.scheduleTask(in: CatchUpTiming.listenAfter) { self.listens() }
    }

    func ended() {
        guard isOpen else { return }
        schedule.closed()
        driver = nil
        let waiters = drainWaiters
        drainWaiters = []
        for waiter in waiters { waiter() }
        registry.remove(self)
    }

    // MARK: Requests

    private func listens() {
        guard phase == .waiting, !isClosing else { return }
        world.counts["listeners", default: 0] += 1
        if sabotage != .noUnaskedStamp { sequence.startUnsolicited(replayableSince: session) }
        perform(schedule.startUnsolicited(at: moment))
    }

    func asked() {
        guard isOpen, !isClosing else { return }
        sequence.requestReceived()
        perform(schedule.requestReceived(isReplay: false, at: moment))
        send(.other, stamp: registry.stamp().time)
    }

    func askedForReplay(from time: Timestamp) {
        guard isOpen, !isClosing else { return }
        sequence.requestReceived()
        isReplayAsked = true
        perform(schedule.requestReceived(isReplay: true, at: moment))
        perform(schedule.replay(from: time, at: moment))
    }

    // MARK: Outgoing

    func send(_ content: SimulatedPipe.Content, stamp: Timestamp) {
        guard isOpen, !isClosing else { return }
        if sabotage == .durablesDropped, !pipe.isWritable, case .change = content { return }
        var limit = ceiling
        if let owed = registration.firstDeferredChangeTime { limit = min(limit ?? owed, owed) }
        append(
            content, bytes: content.bytes,
            stamp: sequence.allowed(shown(stamp), ceiling: limit, isTimeKnown: isTimeKnown))
    }

    /// Sabotage: returns the current time or the wall clock's time instead of the stamp.
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

    func append(_ content: SimulatedPipe.Content, bytes: Int, stamp: Timestamp? = nil) {
        if outbox.isEmpty { registry.scheduleFlush(of: self) }
        outbox.append(
            SimulatedPipe.Packet(
                content: content, counter: sequence.counter, stamp: stamp ?? sequence.lastStamp, bytes: bytes))
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
        if case .abandon = outgoing.admit(bytes, isWritable: pipe.isWritable, bound: world.scenario.backlogBound),
            sabotage != .noBound
        {
            world.counts["abandoned", default: 0] += 1
            abandon()
            return 0
        }
        pipe.write(packets, bytes)
        return bytes
    }

    /// Closes the socket; packets written before are still sent.
    func close() {
        guard isOpen, !isClosing else { return }
        flush()
        guard !isClosing else { return }
        isClosing = true
        pipe.write([SimulatedPipe.Packet(content: .close, counter: -1, stamp: sequence.lastStamp, bytes: 0)], 0)
        cutOff(after: .seconds(2))
        driver = nil
    }

    private func abandon() {
        guard !isClosing else { return }
        isClosing = true
        pipe.write([SimulatedPipe.Packet(content: .close, counter: -1, stamp: sequence.lastStamp, bytes: 0)], 0)
        cutOff(after: .seconds(1))
        registry.detachAll(self)
        driver = nil
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
            outgoing.drained()
            let waiters = drainWaiters
            drainWaiters = []
            for waiter in waiters { waiter() }
        }
    }

    func drained(_ body: @escaping () -> Void) {
        if pipe.isWritable || !isOpen { body() } else { drainWaiters.append(body) }
    }
}
