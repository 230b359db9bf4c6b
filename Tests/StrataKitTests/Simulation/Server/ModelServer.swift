// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import SeededRandom
import StrataModel

@testable import StrataKit

/// A model of a Strata server with the guarantees of docs/protocol.md, in memory and without a clock.
///
/// Used by one simulation only. Packets for sockets are passed to ``send`` in order.
final class ModelServer {
    /// The failure rates of the server, in percent of requests.
    struct Faults {
        /// The request fails temporarily and is not executed.
        var transient = 0
        /// The request fails temporarily although it was executed.
        var unknownFate = 0
        /// The request is refused permanently.
        var refusal = 0
        var failedReplay = 0
        var incompleteReplay = 0
        var failedLoad = 0
        /// True: some pages of messages are empty although others follow, on each request.
        var emptyPages = false
        /// The packet is sent twice in a row.
        var repeated = 0
        /// A meaningless or malformed packet is sent.
        var garbage = 0
    }

    /// The server's state of a client's socket.
    struct Socket {
        let user: UserID
        let openedAt: Int64
        var counter: Int64 = 0
        var isFirst = true
        var isLive = false
        var lastTime: Int64 = 0
        /// The conversations whose previous create failed.
        var failed: Set<ConversationID> = []
    }

    /// The time before the requested start at which replays begin, in microseconds.
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
    /// Closes a socket from the server's side.
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

    /// Completes a packet with counter and time, and sends it.
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

    /// Sends the packets of committed changes to all live sockets.
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
                "body": [
                    "request_id": request["request_id"], "method": request["method"], "success": .bool(success),
                    "data": data,
                ],
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
            isMessage
                ? createMessage(body["data"], in: target, by: socket.user)
                : createConversation(body["data"], target, by: socket.user)
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

    /// Executes a change, unless a fault is injected.
    func attempt<Value>(_ work: () -> Result<Value, Refusal>) -> Result<Value, Refusal> {
        if random.chance(faults.transient) {
            return .failure(Refusal(id: random.chance(50) ? "rate_limit_exceeded" : "service_unavailable"))
        }
        if random.chance(faults.refusal) {
            return .failure(Refusal(id: "invalid_property", data: ["property": "metadata"]))
        }
        let result = work()
        if case .success = result, random.chance(faults.unknownFate) {
            return .failure(Refusal(id: "service_unavailable"))
        }
        return result
    }

    // MARK: Restore of the database

    /// Restores an earlier state with a new epoch, and closes all sockets.
    func restore(_ old: ModelDatabase) {
        database = old
        record.epoch += 1
        epoch = "epoch-\(record.epoch)"
        for number in sockets.keys.sorted() { close(number) }
    }
}

/// The executed changes, to be compared with the clients' beliefs. The record survives a restore of the database.
final class ModelRecord {
    var epoch = 1
    /// The number of executions by change and epoch.
    private(set) var executions: [String: [Int: Int]] = [:]
    /// The changes that were answered with success without an effect, because they were repeated or had nothing to do.
    private(set) var answered: Set<String> = []
    /// The metadata values that were set: the number of times by epoch.
    private(set) var values: [String: [Int: Int]] = [:]

    func executed(_ name: String) {
        executions[name, default: [:]][epoch, default: 0] += 1
        answered.insert(name)
    }
    func answered(_ name: String) { answered.insert(name) }
    /// The order in which values were set.
    private(set) var order: [String: Int] = [:]

    func set(_ value: String) {
        values[value, default: [:]][epoch, default: 0] += 1
        order[value] = order[value] ?? order.count
    }
}
