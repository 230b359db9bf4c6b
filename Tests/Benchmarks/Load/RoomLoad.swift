// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// The conversations of a load. Each participant has one socket.
struct RoomPlan: Sendable {
    var rooms: Int
    /// Participants of a conversation.
    var members: Int
    /// Participants of a conversation that send: the first ones.
    var senders: Int
    /// The length of a message's text in bytes.
    var bytes = 400
    /// The number of the first user. A user is in one conversation.
    var firstUser = 0
    /// True if the participants of a conversation use the gateways in rotation; false: one gateway for a conversation.
    var isSpread = false

    var users: Int { rooms * members }

    func user(_ member: Int, of room: Int) -> Int { firstUser + room * members + member }
}

/// The way in which operations follow each other.
enum LoadMode: Sendable {
    /// Operations per second of all senders together, at times that do not depend on answers.
    case rate(Double)
    /// Each sender has this number of operations in flight, and sends the next one when one is complete.
    case closed(window: Int)

    var isFixedRate: Bool { if case .rate = self { true } else { false } }
}

/// The result of one measurement of a ``RoomLoad``.
struct RoomRun: Sendable {
    var operations: Int
    /// The time from the first operation to the last delivery in seconds; at a fixed rate at least the time of the
    /// schedule.
    var seconds: Double
    var deliveries: DeliveryCounts
    var latency: LatencySummary?
    var answers: LatencySummary?
    var usage: GeneratorUsage
    /// The cost of the server's processes; nil if the server is remote.
    var cost: ProcessAccount?
    var refused: Int
    var firstRefusal: String
    var isFixedRate: Bool

    /// The failed check; nil if all deliveries arrived once and in order, and no request was refused.
    var problem: String? {
        if refused > 0 { return "\(refused) requests were refused, the first one so: \(firstRefusal.prefix(300))" }
        return deliveries.problem
    }
}

/// Sockets in conversations, and the operations on them. The sockets of a conversation share an event loop.
final class RoomLoad: Sendable {
    let server: any LoadedServer
    let plan: RoomPlan
    let dialect: LoadDialect
    /// The ids of the conversations; for the broadcaster, the names of rooms.
    let conversations: [String]
    private let loops: LoadLoops
    private let groups: [RoomGroup]
    private let run = Atomic<Int>(0)

    /// The maximum time from the last operation to the last delivery.
    private static let patience = Duration.seconds(20)
    /// The number of sockets that are opened at the same time.
    private static let opening = 50

    private init(
        _ server: any LoadedServer, _ plan: RoomPlan, _ dialect: LoadDialect, _ conversations: [String],
        _ loops: LoadLoops, _ groups: [RoomGroup]
    ) {
        self.server = server
        self.plan = plan
        self.dialect = dialect
        self.conversations = conversations
        self.loops = loops
        self.groups = groups
    }

    /// Creates the conversations and opens the sockets.
    /// - Parameter restConnections: The maximum number of requests over REST in flight.
    static func open(
        _ server: any LoadedServer, _ plan: RoomPlan, _ dialect: LoadDialect, restConnections: Int = 64,
        on loops: LoadLoops
    ) async throws -> RoomLoad {
        let conversations = try await server.makeRooms(plan)
        let groups = loops.all.map { RoomGroup(loop: $0, plan: plan, dialect: dialect) }
        let load = RoomLoad(server, plan, dialect, conversations, loops, groups)
        for (number, group) in groups.enumerated() {
            let rooms = stride(from: number, to: plan.rooms, by: groups.count)
            let members = rooms.flatMap { room in (0..<plan.members).map { (room: room, slot: $0) } }
            let sockets = try await load.sockets(members, on: group.loop.eventLoop)
            let each = max(1, restConnections / groups.count)
            try await group.loop.eventLoop
                .submit {
                    let lane = RESTLane(server.addresses[0], connections: each, on: group.loop.eventLoop)
                    group.add(members, sockets, conversations: conversations, server: server, lane: lane)
                }
                .get()
        }
        return load
    }

    private func sockets(
        _ members: [(room: Int, slot: Int)], on eventLoop: any EventLoop
    ) async throws -> [LoadSocket] {
        var sockets: [LoadSocket] = []
        for start in stride(from: 0, to: members.count, by: Self.opening) {
            let chunk = start..<min(start + Self.opening, members.count)
            sockets += try await withThrowingTaskGroup(of: (Int, LoadSocket).self) { tasks in
                for index in chunk {
                    let (room, slot) = members[index]
                    tasks.addTask { (index, try await self.socket(room, slot, on: eventLoop)) }
                }
                return try await tasks.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
            }
        }
        return sockets
    }

    private func socket(_ room: Int, _ slot: Int, on eventLoop: any EventLoop) async throws -> LoadSocket {
        let addresses = server.addresses
        let address = addresses[(plan.isSpread ? slot : room) % addresses.count]
        let (user, conversation) = (plan.user(slot, of: room), conversations[room])
        let path = server.path(ofUser: user, room: conversation, includesSender: dialect.includesSender)
        let socket = try await LoadSocket.open(
            address, path: path, protocolName: server.protocolName, saying: nil, on: eventLoop)
        try await server.enter(socket, ofUser: user, room: conversation)
        return socket
    }

    /// Applies the load without measuring it, so that caches and plans are warm.
    func warmUp(_ mode: LoadMode, seconds: Double = 1) async throws { _ = try await measure(mode, seconds: seconds) }

    /// Applies the load and waits for all deliveries.
    func measure(_ mode: LoadMode, seconds: Double) async throws -> RoomRun {
        let number = run.add(1, ordering: .relaxed).newValue
        try await onEach { $0.prepare(run: number) }
        let before = server.account()
        let account = try await loops.begin()
        let start = LoadLoop.now
        let senders = plan.rooms * plan.senders
        try await onEach { $0.start(mode, at: start, seconds: seconds, ofAllSenders: senders) }
        try await Task.sleep(for: .seconds(seconds))
        try await onEach { $0.stop() }
        try await drain()
        let usage = try await loops.end(account)
        let cost = server.account().flatMap { after in before.map { after - $0 } }
        let latencies = try await loops.latencies()
        var result = RoomRun(
            operations: 0, seconds: seconds, deliveries: DeliveryCounts(), latency: latencies.deliveries.summary,
            answers: latencies.answers.summary, usage: usage, cost: cost, refused: 0, firstRefusal: "",
            isFixedRate: mode.isFixedRate)
        var last = start
        for count in try await counts() {
            result.operations += count.operations
            result.deliveries += count.deliveries
            result.refused += count.refused
            if result.firstRefusal.isEmpty { result.firstRefusal = count.firstRefusal }
            last = max(last, count.lastDelivery)
        }
        if last > start { result.seconds = max(mode.isFixedRate ? seconds : 0.001, Double(last - start) / 1e9) }
        if case .typing = dialect { try await finishTyping() }
        return result
    }

    /// Ends the typing of all users, so that the first signal of the next measurement is a change.
    private func finishTyping() async throws {
        try await onEach { $0.finishTyping() }
        try await Task.sleep(for: .milliseconds(500))
    }

    private func drain() async throws {
        let end = ContinuousClock.now + Self.patience
        while ContinuousClock.now < end {
            var isComplete = true
            for group in groups {
                let isDone = try await group.loop.eventLoop.submit { group.isComplete }.get()
                isComplete = isComplete && isDone
            }
            if isComplete { return }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Closes all connections.
    func close() async throws { try await onEach { $0.close() } }

    private func onEach(_ body: @escaping @Sendable (RoomGroup) -> Void) async throws {
        for group in groups { try await group.loop.eventLoop.submit { body(group) }.get() }
    }

    private func counts() async throws -> [RoomGroup.Counts] {
        var counts: [RoomGroup.Counts] = []
        for group in groups { counts.append(try await group.loop.eventLoop.submit { group.counts }.get()) }
        return counts
    }
}
