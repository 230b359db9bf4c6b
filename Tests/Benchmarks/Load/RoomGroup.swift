// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore

/// The conversations of a ``RoomLoad`` on one event loop. It is confined to it.
final class RoomGroup: @unchecked Sendable {
    let loop: LoadLoop
    private let plan: RoomPlan
    private let dialect: LoadDialect
    /// All participants. Those of a conversation are adjacent.
    private var members: [RoomMember] = []
    /// The indices of those that send. Neighbours are in different conversations.
    private var senders: [Int] = []
    private var lane: RESTLane?

    private var run = 0
    /// Operations of each sender in flight; nil: the rate is fixed, or the measurement has ended.
    private var window: Int?
    /// Operations of the schedule that are not sent yet.
    private var scheduled = 0
    private var delivered = 0
    private var refused = 0
    private var firstRefusal = ""
    private var lastDelivery: UInt64 = 0
    private var awaitedAnswers = 0

    /// The counts of a measurement.
    struct Counts: Sendable {
        var operations: Int
        var deliveries: DeliveryCounts
        var refused: Int
        var firstRefusal: String
        /// The time of the last delivery in nanoseconds.
        var lastDelivery: UInt64
    }

    init(loop: LoadLoop, plan: RoomPlan, dialect: LoadDialect) {
        self.loop = loop
        self.plan = plan
        self.dialect = dialect
    }

    /// Adds participants with their open sockets, whole conversations in order.
    func add(
        _ places: [(room: Int, slot: Int)], _ sockets: [LoadSocket], conversations: [String],
        server: any LoadedServer, lane: RESTLane
    ) {
        self.lane = lane
        for ((room, slot), socket) in zip(places, sockets) {
            let index = members.count
            let templates = LoadOperation.templates(
                dialect, conversation: conversations[room], token: server.token(plan.user(slot, of: room)),
                server: server.addresses[(plan.isSpread ? slot : room) % server.addresses.count], bytes: plan.bytes)
            members.append(
                RoomMember(
                    room: room, slot: slot, conversation: conversations[room], first: index - slot, socket: socket,
                    templates: templates, ledger: DeliveryLedger(senders: plan.senders, isOrdered: !isREST)))
            // A cycle of references, which `close` breaks.
            socket.onPacket = { [self] in receive($0, at: index) }
        }
        senders = (0..<plan.senders).flatMap { slot in members.indices.filter { members[$0].slot == slot } }
    }

    /// Discards the results of the previous measurement.
    func prepare(run: Int) {
        self.run = run
        (window, scheduled, delivered, refused, firstRefusal) = (nil, 0, 0, 0, "")
        (lastDelivery, awaitedAnswers) = (0, 0)
        for index in members.indices {
            members[index].reset(DeliveryLedger(senders: plan.senders, isOrdered: !isREST))
        }
    }

    /// Begins to send.
    /// - Parameters:
    ///   - start: The time of the first operation.
    ///   - count: The number of senders on all loops, among which the rate is divided.
    func start(_ mode: LoadMode, at start: UInt64, seconds: Double, ofAllSenders count: Int) {
        guard !senders.isEmpty else { return }
        switch mode {
        case .rate(let rate):
            let share = rate * Double(senders.count) / Double(count)
            let schedule = FixedRateSchedule(start: start, rate: share, seconds: seconds)
            scheduled = schedule.count
            loop.run(schedule) { [self] operation, due in
                scheduled -= 1
                send(senders[operation % senders.count], due: due)
            }
        case .closed(let window):
            self.window = window
            for sender in senders { fill(sender) }
        }
    }

    /// Sends no further operations of a closed loop.
    func stop() { window = nil }

    /// True if everything was sent, delivered and answered.
    var isComplete: Bool {
        let sent = members.reduce(0) { $0 + $1.sent }
        return scheduled == 0 && awaitedAnswers == 0 && delivered + refused * receivers >= sent * receivers
    }

    var counts: Counts {
        var deliveries = DeliveryCounts()
        for member in members {
            let sent = (0..<plan.senders)
                .map { slot in
                    slot == member.slot && !dialect.includesSender ? 0 : members[member.first + slot].sent
                }
            deliveries += member.ledger.counts(sent: sent)
        }
        return Counts(
            operations: members.reduce(0) { $0 + $1.sent }, deliveries: deliveries, refused: refused,
            firstRefusal: firstRefusal, lastDelivery: lastDelivery)
    }

    func close() {
        for member in members {
            member.socket.onPacket = nil
            member.socket.close()
        }
        lane?.close()
    }

    // MARK: Sending

    /// The number of deliveries of one operation.
    private var receivers: Int { plan.members - (dialect.includesSender ? 0 : 1) }

    private func send(_ index: Int, due: UInt64) {
        let number = members[index].sent
        let mark = OperationMark(
            run: run, room: members[index].room, sender: members[index].slot, number: number, due: due)
        let template = members[index].templates[number % members[index].templates.count]
        members[index].sent += 1
        members[index].dues[number % RoomMember.keptDues] = due
        if case .metadata = dialect {
            awaitedAnswers += 1
            lane?.send(template.request(mark)) { [self] in answered($0, index, run: mark.run, due: due) }
        } else {
            members[index].socket.send(frame: template.request(mark))
        }
    }

    /// Sends until the sender's window is full.
    private func fill(_ index: Int) {
        while let window, members[index].inFlight(receivers: receivers, isREST: isREST) < window {
            send(index, due: LoadLoop.now)
        }
    }

    private var isREST: Bool { if case .metadata = dialect { true } else { false } }

    private func answered(_ response: LoadResponse, _ index: Int, run: Int, due: UInt64) {
        guard run == self.run else { return }
        awaitedAnswers -= 1
        members[index].answered += 1
        loop.recordAnswer(since: due)
        if !response.isSuccess {
            refused += 1
            if refused == 1 { firstRefusal = response.refusal }
        }
        fill(index)
    }

    func finishTyping() {
        for index in senders {
            members[index].socket.send(frame: LoadOperation.finishedTyping(in: members[index].conversation))
        }
    }

    // MARK: Receiving

    private func receive(_ packet: UnsafeRawBufferPointer, at index: Int) {
        switch dialect.read(packet) {
        case .delivery(let mark, let position):
            guard mark.run == run else { return }
            let sender = mark.room == members[index].room ? mark.sender : -1
            members[index].ledger.receive(sender: sender, number: mark.number, position: position)
            delivered(from: sender, at: index, due: mark.due)
        case .typing(let user, let isStarted):
            let sender = user - plan.user(0, of: members[index].room)
            guard (0..<plan.senders).contains(sender), sender != members[index].slot else { return }
            let expected = members[index].ledger.next(from: sender)
            // Signals alternate. One of the other kind means that the expected one is missing.
            let number = expected.isMultiple(of: 2) == isStarted ? expected : expected + 1
            members[index].ledger.receive(sender: sender, number: number)
            let due = members[members[index].first + sender].dues[number % RoomMember.keptDues]
            delivered(from: sender, at: index, due: due)
        case .refusal:
            refused += 1
            if refused == 1 { firstRefusal = String(decoding: packet, as: UTF8.self) }
        case .other: break
        }
    }

    private func delivered(from sender: Int, at index: Int, due: UInt64) {
        guard (0..<plan.senders).contains(sender) else { return }
        loop.recordLatency(since: due)
        lastDelivery = LoadLoop.now
        delivered += 1
        let place = members[index].first + sender
        members[place].delivered += 1
        if window != nil, !isREST { fill(place) }
    }
}

/// A participant of a load.
struct RoomMember {
    /// The number of due times that are kept for typing signals, which contain none.
    static let keptDues = 256

    let room: Int
    /// The number of the participant in the conversation.
    let slot: Int
    let conversation: String
    /// The index of the conversation's first participant.
    let first: Int
    let socket: LoadSocket
    /// The operations, which take turns.
    let templates: [RequestTemplate]
    var ledger: DeliveryLedger
    var sent = 0
    /// Deliveries of this participant's operations to all receivers.
    var delivered = 0
    var answered = 0
    var dues: [UInt64] = Array(repeating: 0, count: Self.keptDues)

    /// Begins a measurement.
    mutating func reset(_ ledger: DeliveryLedger) {
        self.ledger = ledger
        (sent, delivered, answered) = (0, 0, 0)
    }

    /// The number of incomplete operations. One over REST is complete with its answer, another one when all receivers
    /// have it.
    func inFlight(receivers: Int, isREST: Bool) -> Int {
        sent - (isREST ? answered : delivered / max(1, receivers))
    }
}
