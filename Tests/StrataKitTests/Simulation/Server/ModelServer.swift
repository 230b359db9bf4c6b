// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import SeededRandom
import StrataModel

@testable import StrataKit

/// A model of a Strata server: what docs/protocol.md promises, in memory and without time of its own.
///
/// Used by one simulation alone. What goes to sockets is handed to ``send`` in order.
final class ModelServer {
    /// How the server fails, in percent of the requests.
    struct Faults {
        /// Answered as failed for the moment, and not carried out.
        var transient = 0
        /// Answered as failed for the moment, and carried out all the same.
        var unknownFate = 0
        /// Refused for good.
        var refusal = 0
        var failedReplay = 0
        var incompleteReplay = 0
        var failedLoad = 0
        /// Some pages of messages have none, and others follow, each time they are asked for.
        var emptyPages = false
        /// Packets told twice, one after the other.
        var repeated = 0
        /// Packets that say nothing, or what cannot be.
        var garbage = 0
    }

    /// What a socket of a client is to the server.
    struct Socket {
        let user: UserID
        let openedAt: Int64
        var counter: Int64 = 0
        var isFirst = true
        var isLive = false
        var lastTime: Int64 = 0
        /// The conversations in which the create before failed.
        var failed: Set<ConversationID> = []
    }

    /// How far back replays begin before the time that is asked for.
    static let replayMargin: Int64 = 30_000_000
    static let openingMargin: Int64 = 10_000_000

    var database = ModelDatabase()
    var epoch = "epoch-1"
    /// The database's clock, in microseconds.
    var now: Int64 = 0
    var faults = Faults()
    var random: SeededGenerator
    var sockets: [Int: Socket] = [:]
    let record = ModelRecord()
    private var lastSocket = 0
    private var outbox: [(user: UserID, packet: JSONValue)] = []
    var send: (Int, JSONValue) -> Void = { _, _ in }
    /// The server ends a socket.
    var close: (Int) -> Void = { _ in }

    init(users: [UserID], random: SeededGenerator) {
        self.random = random
        for user in users { database.users[user] = ModelUser() }
    }

    // MARK: Sockets

    func open(_ user: UserID) -> Int {
        lastSocket += 1
        sockets[lastSocket] = Socket(user: user, openedAt: now)
        return lastSocket
    }

    func closed(_ socket: Int) { sockets[socket] = nil }

    /// Adds what every packet of a socket has.
    func deliver(_ packet: JSONValue, to number: Int, at time: Int64? = nil) {
        guard var socket = sockets[number] else { return }
        socket.lastTime = max(socket.lastTime, time ?? now)
        var packet = packet
        packet["counter"] = .integer(socket.counter)
        packet["timestamp"] = .string(Self.time(socket.lastTime))
        socket.counter += 1
        sockets[number] = socket
        send(number, packet)
    }

    func queue(_ packets: [JSONValue], for user: UserID) { outbox += packets.map { (user, $0) } }

    /// Tells what was committed, on all sockets that are live.
    func flush() {
        let packets = outbox
        outbox = []
        for (user, packet) in packets {
            for (number, socket) in sockets.sorted(by: { $0.key < $1.key }) where socket.user == user && socket.isLive {
                deliver(packet, to: number)
                if random.chance(faults.repeated) { deliver(packet, to: number) }
                if random.chance(faults.garbage) { deliver(garbage(for: user), to: number) }
            }
        }
    }

    // MARK: Requests over a socket

    func request(_ packet: JSONValue, from number: Int) {
        guard let socket = sockets[number] else { return }
        let body = packet["body"]
        let isFirst = socket.isFirst
        sockets[number]?.isFirst = false
        switch body["method"].string {
        case "Event.replay": replay(from: body["data"]["from_timestamp"].string ?? "", on: number, body)
        case "Counter.read":
            if isFirst, !socket.isLive { goLive(number) }
            respond(body, success: true, ["counter": .integer(sockets[number]?.counter ?? 0)], to: number)
        case "Conversation.create", "Message.create": create(body, on: number)
        default: respond(body, success: true, .object([:]), to: number)
        }
        flush()
    }

    func respond(_ request: JSONValue, success: Bool, _ data: JSONValue, to number: Int) {
        deliver(
            [
                "type": "response",
                "body": ["request_id": request["request_id"], "method": request["method"], "success": .bool(success), "data": data],
            ],
            to: number)
    }

    private func create(_ body: JSONValue, on number: Int) {
        guard let socket = sockets[number] else { return }
        let isMessage = body["method"].string == "Message.create"
        let target = ConversationID(parsing: (isMessage ? body["object_id"] : body["data"]["id"]).string ?? "")
        guard let target else { return respond(body, success: false, Self.error("invalid_property"), to: number) }
        if body["data"]["ordered"].bool == true, socket.failed.contains(target) {
            return respond(body, success: false, Self.error("predecessor_failed", ["request_id": "first"]), to: number)
        }
        let result = attempt {
            isMessage ? createMessage(body["data"], in: target, by: socket.user) : createConversation(body["data"], target, by: socket.user)
        }
        switch result {
        case .success(let object):
            sockets[number]?.failed.remove(target)
            respond(body, success: true, object, to: number)
        case .failure(let failure):
            let isArrived = failure.id == "id_in_use" && !failure.data["id"].isNull
            if isArrived { sockets[number]?.failed.remove(target) } else { sockets[number]?.failed.insert(target) }
            respond(body, success: false, Self.error(failure.id, failure.data), to: number)
        }
    }

    /// Why a request fails.
    struct Refusal: Error {
        var id: String
        var data: JSONValue = .object([:])

        var status: Int {
            switch id {
            case "not_found": 404
            case "access_denied": 403
            case "service_unavailable": 503
            case "rate_limit_exceeded": 429
            case "invalid_header": 406
            default: 409
            }
        }
    }

    /// Carries a change out, unless a fault comes between.
    func attempt<Value>(_ work: () -> Result<Value, Refusal>) -> Result<Value, Refusal> {
        if random.chance(faults.transient) { return .failure(Refusal(id: random.chance(50) ? "rate_limit_exceeded" : "service_unavailable")) }
        if random.chance(faults.refusal) { return .failure(Refusal(id: "invalid_property", data: ["property": "metadata"])) }
        let result = work()
        if case .success = result, random.chance(faults.unknownFate) { return .failure(Refusal(id: "service_unavailable")) }
        return result
    }

    // MARK: The database is put back

    /// The state of an earlier moment is there again, as another epoch. All sockets are closed.
    func restore(_ old: ModelDatabase) {
        database = old
        record.epoch += 1
        epoch = "epoch-\(record.epoch)"
        for number in sockets.keys.sorted() { close(number) }
    }
}

/// What the server has carried out, to be compared with what clients believe; it outlasts a database that is put back.
final class ModelRecord {
    var epoch = 1
    /// How often, by the name of the change, in each epoch.
    private(set) var executions: [String: [Int: Int]] = [:]
    /// Names of changes that were answered with success without a change, as they had arrived or had nothing to do.
    private(set) var answered: Set<String> = []
    /// The values of metadata that were set, by epoch.
    private(set) var values: [String: [Int: Int]] = [:]

    func executed(_ name: String) {
        executions[name, default: [:]][epoch, default: 0] += 1
        answered.insert(name)
    }
    func answered(_ name: String) { answered.insert(name) }
    /// Which value was set after which.
    private(set) var order: [String: Int] = [:]

    func set(_ value: String) {
        values[value, default: [:]][epoch, default: 0] += 1
        order[value] = order[value] ?? order.count
    }
}
