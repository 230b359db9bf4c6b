// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import SeededRandom
import StrataModel

@testable import ProtocolClient
@testable import StrataKit

protocol DeviceNetwork: AnyObject {
    /// The time since the start of the simulation, in microseconds.
    var now: Int64 { get }
    func send(_ packet: JSONValue, over socket: Int)
    /// - Parameter answered: receives the answer; nil if there is none.
    func rest(
        _ user: UserID, _ method: String, _ path: String, _ body: JSONValue?, name: String?,
        answered: @escaping (RESTResponse?) -> Void)
    func hangUp(_ device: SimulatedDevice)
    func violation(_ text: String)
}

/// A simulated device: StrataKit's store, synchronization and queue, driven as the engine drives them, but without
/// tasks, clocks and a network.
final class SimulatedDevice {
    static let origin = ContinuousClock.now

    let name: String
    let me: UserID
    let database: DatabaseQueue
    let sabotage: Sabotage?
    private(set) var core: StoreCore
    var machine = SyncMachine()
    var schedule = OutgoingSchedule()
    private(set) var socket: Int?
    /// The number of restarts. Answers to requests from before a restart are dropped.
    private(set) var life = 0
    private var sentTo: [UUID: ConversationID] = [:]
    private var finishAt: Instant?
    private(set) var diary = DeviceDiary()
    var random: SeededGenerator
    let network: any DeviceNetwork
    private let ids: SimulatedIDs

    typealias Instant = ContinuousClock.Instant

    init(
        _ name: String, me: UserID, policy: SyncPolicy, sabotage: Sabotage? = nil, random: SeededGenerator,
        network: any DeviceNetwork
    ) throws {
        (self.name, self.me, self.sabotage, self.random, self.network) = (name, me, sabotage, random, network)
        database = try DatabaseQueue()
        try StoreSchema.migrator.migrate(database)
        ids = SimulatedIDs(random: self.random.fork())
        core = try StoreCore(database, me: me, policy: policy, newID: ids.next)
    }

    var instant: Instant { Self.origin + .microseconds(network.now) }
    /// The time at which ``timerDue()`` must be called, in microseconds.
    var deadline: Int64? {
        [machine.deadline, schedule.nextRetry, finishAt].compactMap { $0 }.min().map { ($0 - Self.origin).microseconds }
    }
    /// True if there is nothing to do until the next event.
    var isAtRest: Bool {
        machine.isLive && machine.loads.isEmpty && core.cursor.listing == nil
            && core.queue.all.allSatisfy { !$0.isUnanswered && !$0.isAnswered }
    }

    // MARK: Restarts

    /// Restarts the process: only the database survives.
    func restart() throws {
        let policy = core.policy
        life += 1
        (machine, schedule, sentTo, finishAt, socket) = (SyncMachine(), OutgoingSchedule(), [:], nil, nil)
        core = try StoreCore(database, me: me, policy: policy, newID: ids.next)
    }

    func opened(_ number: Int) {
        socket = number
        schedule.connected()
        let answered = Set(core.queue.all.filter(\.isAnswered).map(\.id))
        var goals: [ConversationID] = []
        write { goals = try $0.conversationsWithGoals() }
        perform(machine.socketOpened(core.cursor, answered: answered, history: goals))
        proceed()
    }

    func lostSocket(_ number: Int) {
        guard socket == number else { return }
        socket = nil
        machine.lost()
        schedule.socketLost()
        proceed()
    }

    func timerDue() {
        perform(machine.timerDue(at: instant))
        if let due = finishAt, due <= instant {
            finishAt = nil
            let waiting = Set(core.queue.all.filter(\.isAnswered).compactMap(\.conversation))
            if !waiting.isEmpty { write { try $0.finishOperations(in: waiting, open: nil) } }
        }
        proceed()
    }

    // MARK: The store

    func write(_ body: (StoreTransaction) throws -> Void) {
        do { try transact(isOwn: false, body) } catch { network.violation("\(name): the store failed: \(error)") }
    }

    /// Makes a change of the user. A change that the library refuses has no effect.
    func change(_ body: (StoreTransaction) throws -> Void) {
        do {
            try transact(isOwn: true, body)
            proceed()
        } catch is StrataError {
            // The app receives the error immediately.
        } catch { network.violation("\(name): the store failed: \(error)") }
    }

    private func transact(isOwn: Bool, _ body: (StoreTransaction) throws -> Void) throws {
        let before = core.queue
        // Device clocks are irrelevant to the simulation.
        let outcome = try core.write(at: network.now + 1_000_000_000_000, body)
        diary.wrote(before, core.queue, outcome.changes, outcome.findings, isOwn: isOwn)
        var findings = outcome.findings
        if sabotage == .ignoresEpoch { findings.epochHasChanged = false }
        perform(machine.stored(findings, cursor: core.cursor, at: instant))
    }

    // MARK: Packets

    /// Handles packets. One transaction stores all of them and the time to replay from.
    func received(_ packets: [JSONValue], on number: Int) {
        guard socket == number, let last = packets.last else { return }
        var later: [SyncMachine.Action] = []
        write { store in
            for packet in packets { later += try self.apply(packet, in: store) }
            try self.finishOperations(after: last, in: store)
        }
        perform(later)
        proceed()
    }

    private func apply(_ json: JSONValue, in store: StoreTransaction) throws -> [SyncMachine.Action] {
        let packet = ReceivedPacket(index: 0, receivedAt: instant, json: json)
        var actions: [SyncMachine.Action] = []
        switch packet.type {
        case "response": actions = try apply(response: packet, in: store)
        case "signal": break
        default:
            machine.remember([json])
            try store.applyPacket(json)
        }
        if machine.keepsTime || sabotage == .keepsTimeDuringReplays, let time = packet.timestamp {
            store.cursor.timestamp = time
        }
        return actions
    }

    private func apply(response packet: ReceivedPacket, in store: StoreTransaction) throws -> [SyncMachine.Action] {
        let answer = SocketResponse(packet: packet)
        let id = packet.requestID ?? ""
        switch id {
        case "baseline":
            return try performInStore(
                machine.baselineAnswered(
                    isSuccess: answer.isSuccess, timestamp: packet.timestamp, cursor: store.cursor, at: instant), store)
        case "replay":
            let actions = machine.replayAnswered(
                isSuccess: answer.isSuccess, isComplete: answer.data["complete"].bool ?? true,
                epoch: sabotage == .ignoresEpoch ? nil : answer.data["epoch"].string, timestamp: packet.timestamp,
                cursor: store.cursor,
                at: instant, random: random.unit())
            return try performInStore(actions, store)
        default:
            if let operation = SyncEngine.operation(id) { try apply(ServerAnswer(answer), to: operation, in: store) }
            return []
        }
    }

    private func performInStore(
        _ actions: [SyncMachine.Action], _ store: StoreTransaction
    ) throws -> [SyncMachine.Action] {
        var rest: [SyncMachine.Action] = []
        for action in actions {
            switch action {
            case .beginListing(let epoch, let timestamp): try store.beginListing(epoch: epoch, timestamp: timestamp)
            case .keepTime(let time): store.cursor.timestamp = time
            case .finish(let ids): try store.finishOperations(ids)
            default: rest.append(action)
            }
        }
        return rest
    }

    private func finishOperations(after last: JSONValue, in store: StoreTransaction) throws {
        guard !store.queue.isEmpty else { return }
        let body = last["body"]
        let id =
            body["conversation"]["id"].string ?? body["data"]["conversation"]["id"].string ?? body["object"]["id"]
            .string ?? ""
        var open: (ConversationID, Int64)?
        if let conversation = ConversationID(parsing: id), let position = WireObjects.position(body["position"]) {
            open = (conversation, position)
        }
        try store.finishOperations(in: Set(store.queue.all.filter(\.isAnswered).compactMap(\.conversation)), open: open)
        if open != nil, store.queue.all.contains(where: \.isAnswered) { finishAt = instant + .milliseconds(100) }
    }

    // MARK: Next actions

    func proceed() {
        perform(machine.nextActions(for: core.cursor, at: instant))
        sendPending()
    }

    private func sendPending() {
        let steps = schedule.nextSteps(for: core.queue, hasSocket: machine.isLive && socket != nil, now: instant)
        guard !steps.isEmpty else { return }
        write { $0.markAttempted(steps.compactMap { step in if case .send(let id, _) = step { id } else { nil } }) }
        for step in steps { if case .send(let id, let transport) = step { send(id, over: transport) } }
    }

    private func send(_ id: UUID, over transport: OutgoingSchedule.Transport) {
        guard let operation = core.queue[id], let socket else { return schedule.operationEnded(id) }
        var isOrdered = false
        if case .socket(let ordered) = transport { isOrdered = ordered && sabotage != .neverOrdersCreates }
        sentTo[id] = operation.conversation
        switch OutgoingRequest(operation, isOrdered: isOrdered) {
        case .socket(let method, let objectID, let data):
            ask(method, id: SyncEngine.requestID(id), objectID: objectID, data: data, over: socket)
        case .rest(let method, let path, let body, let isIdempotent):
            let name = sabotage == .renamesRepeatedChanges ? random.newUUID().lowercaseText : id.lowercaseText
            let life = life
            network.rest(me, method, path, body, name: isIdempotent ? name : nil) { [self] answer in
                guard life == self.life else { return }
                answered(
                    id, answer.map { ServerAnswer($0) } ?? .retry(.network("no answer"), counts: false, after: nil))
            }
        case nil: answered(id, .refused(StrataError(.unknown, "There is nothing to send.")))
        }
    }

    func ask(_ method: String, id: String, objectID: String? = nil, data: JSONValue? = nil, over socket: Int) {
        var body: JSONValue = ["request_id": .string(id), "method": .string(method)]
        if let data { body["data"] = data }
        if let objectID { body["object_id"] = .string(objectID) }
        network.send(["type": "request", "body": body], over: socket)
    }

    private func answered(_ id: UUID, _ answer: ServerAnswer) {
        write { try self.apply(answer, to: id, in: $0) }
        proceed()
    }

    private func apply(_ answer: ServerAnswer, to id: UUID, in store: StoreTransaction) throws {
        let target = sentTo.removeValue(forKey: id)
        schedule.operationEnded(id)
        guard let operation = store.queue[id] else { return }
        let retries = RetryPolicy()
        switch answer {
        case .success(let object, let positions):
            try store.operationSucceeded(id, positions: positions, object: object)
            if sabotage == .endsOperationsAtOnce { try store.finishOperations([id]) }
            if let conversation = store.queue[id]?.conversation {
                try store.finishOperations(in: [conversation], open: nil)
            }
            if operation.conversation == nil { try store.finishOperations(in: [], open: nil) }
        case .refused(let error), .contentGone(let error):
            if operation.conversation == target { try store.operationRefused(id, error: error) }
        case .retry(let error, let counts, let after):
            guard counts else { return }
            store.countTry(id)
            if operation.tries + 1 >= retries.tries {
                try store.operationRefused(id, error: error)
            } else {
                let delay = retries.delay(after: operation.tries + 1, requested: after, random: random.unit())
                schedule.suspend(OutgoingSchedule.lane(of: operation), until: instant + delay)
            }
        case .signInNeeded: network.violation("\(name): asked to sign in")
        }
    }
}

extension Duration {
    /// The duration in microseconds, rounded up.
    var microseconds: Int64 {
        components.seconds * 1_000_000 + (components.attoseconds + 999_999_999_999) / 1_000_000_000_000
    }
}

/// Reproducible ids.
final class SimulatedIDs: @unchecked Sendable {
    private var random: SeededGenerator
    init(random: SeededGenerator) { self.random = random }
    /// Only used by one simulation, on one thread.
    @Sendable func next() -> UUID { random.newUUID() }
}
