// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import SeededRandom
import StrataModel

@testable import StrataKit

/// Users with their devices, a server, and the network between them, under virtual time. Everything is derived from the
/// seed.
final class SimulatedWorld: DeviceNetwork {
    /// The fault rates of a simulation.
    struct Faults {
        /// The connection is cut after a client's packet, in percent.
        var cut = 0
        /// A REST request or its answer is lost, in percent.
        var loss = 0
        /// The device is killed after a transaction, in percent of the user's actions.
        var kill = 0
        var restores = 0
        /// The maximum network delay, in milliseconds.
        var delay = 20
        /// The maximum additional delay of REST answers.
        var slowness = 0
        var server = ModelServer.Faults()
    }

    /// A connection. Each direction preserves the order of packets.
    private struct Link {
        let device: Int
        var isUp = true
        var isServerUp = true
        var lastUp: Int64 = 0
        var lastDown: Int64 = 0
        var inbox: [(time: Int64, packet: JSONValue)] = []
    }

    let seed: UInt64
    let server: ModelServer
    let users: [UserID]
    private(set) var devices: [SimulatedDevice] = []
    var faults: Faults
    var random: SeededGenerator
    private(set) var now: Int64 = 100_000_000
    private(set) var violations: [String] = []
    private(set) var trace: [String] = []
    let traces: Bool
    private var events = EventQueue()
    private var links: [Int: Link] = [:]
    /// The maximum number of steps, more than any history needs.
    private static let patience = 60_000
    private var steps = 0
    /// The devices that wait for the network before they reconnect.
    private var isReconnecting: Set<Int> = []

    init(
        seed: UInt64, users count: Int, devices number: Int, faults: Faults, sabotage: Sabotage? = nil,
        traces: Bool = false
    ) throws {
        self.seed = seed
        self.traces = traces
        self.faults = faults
        random = SeededGenerator(seed: seed)
        users = ["ana", "ben", "cleo.x", "dora"].prefix(count).map { UserID(trusted: $0) }
        server = ModelServer(users: users, random: random.fork())
        server.now = now
        server.faults = faults.server
        server.send = { [unowned self] in down($0, $1) }
        server.close = { [unowned self] in serverCloses($0) }
        for index in 0..<number {
            let policy: SyncPolicy =
                random.anyOne(of: [.completeHistory, .unreadOnly, .partialHistory(count: 3)]) ?? .completeHistory
            let user = users[index % users.count]
            devices.append(
                try SimulatedDevice(
                    "\(user)-\(index)", me: user, policy: policy, sabotage: sabotage, random: random.fork(),
                    network: self))
            connect(index, within: 1_000_000)
        }
    }

    func addDevice(for user: UserID) throws -> SimulatedDevice {
        let device = try SimulatedDevice(
            "\(user)-fresh", me: user, policy: .completeHistory, random: random.fork(), network: self)
        devices.append(device)
        connect(devices.count - 1, within: 1_000)
        return device
    }

    func violation(_ text: String) {
        violations.append(text)
        note("VIOLATION \(text)")
    }
    func note(_ text: @autoclosure () -> String) { if traces { trace.append("\(now / 1000) \(text())") } }

    // MARK: Time

    func at(_ time: Int64, _ work: @escaping () -> Void) { events.add(at: max(time, now), work) }

    /// Executes the next event.
    /// - Returns: false if there are no events before `end`.
    func step(until end: Int64) -> Bool {
        steps += 1
        if steps > Self.patience { violation("it goes on without end") }
        let deadlines = devices.enumerated()
            .compactMap { index, device in device.deadline.map { (time: max($0, now), index: index) } }
        let due = deadlines.min { $0.time < $1.time }
        if let due, due.time <= end, due.time < events.nextTime ?? .max {
            advance(to: due.time)
            devices[due.index].timerDue()
            return true
        }
        guard let next = events.nextTime, next <= end, let event = events.takeFirst() else { return false }
        advance(to: event.time)
        event.work()
        return true
    }

    private func advance(to time: Int64) {
        now = max(now, time)
        server.now = now
    }

    private func delay() -> Int64 { Int64(random.int(1...max(1, faults.delay))) * 1000 }

    // MARK: Connections

    func connect(_ index: Int, within time: Int64) {
        guard isReconnecting.insert(index).inserted else { return }
        at(now + Int64(random.int(1...Int(time)))) { [self] in
            isReconnecting.remove(index)
            guard devices[index].socket == nil else { return }
            let number = server.open(devices[index].me)
            links[number] = Link(device: index)
            note("\(devices[index].name) opens \(number)")
            devices[index].opened(number)
        }
    }

    /// Cuts a connection: immediately for the device, and later for the server. Packets in transit to the server may
    /// still arrive.
    func cut(_ number: Int) {
        guard let link = links[number], link.isUp else { return }
        note("cut \(number)")
        links[number]?.isUp = false
        links[number]?.inbox = []
        at(now + Int64(random.int(0...2_000)) * 1000) { [self] in
            links[number]?.isServerUp = false
            server.closed(number)
        }
        devices[link.device].lostSocket(number)
        connect(link.device, within: random.chance(20) ? 90_000_000 : 3_000_000)
    }

    private func serverCloses(_ number: Int) {
        links[number]?.isServerUp = false
        server.closed(number)
        at(now + delay()) { [self] in cut(number) }
    }

    func hangUp(_ device: SimulatedDevice) { if let socket = device.socket { cut(socket) } }

    func kill(_ index: Int) {
        let socket = devices[index].socket
        note("\(devices[index].name) is killed")
        do { try devices[index].restart() } catch { violation("restart failed: \(error)") }
        if let socket { cut(socket) } else { connect(index, within: 3_000_000) }
        connect(index, within: 3_000_000)
    }

    // MARK: Packets

    func send(_ packet: JSONValue, over number: Int) {
        guard let link = links[number], link.isUp else { return }
        let time = max(link.lastUp, now + delay())
        links[number]?.lastUp = time
        at(time) { [self] in
            guard links[number]?.isServerUp == true else { return }
            note("\(devices[link.device].name) asks \(packet["body"].text.prefix(300))")
            server.request(packet, from: number)
        }
        if random.chance(faults.cut) { at(now + delay()) { [self] in cut(number) } }
    }

    private func down(_ number: Int, _ packet: JSONValue) {
        guard let link = links[number], link.isUp else { return }
        let time = max(link.lastDown, now + delay())
        links[number]?.lastDown = time
        links[number]?.inbox.append((time, packet))
        at(time) { [self] in pump(number) }
    }

    /// Delivers all packets that have arrived in one batch.
    private func pump(_ number: Int) {
        guard let link = links[number], link.isUp else { return }
        let packets = link.inbox.prefix { $0.time <= now }.map(\.packet)
        guard !packets.isEmpty else { return }
        links[number]?.inbox.removeFirst(packets.count)
        for packet in packets { note("\(devices[link.device].name) gets \(packet.text.prefix(700))") }
        devices[link.device].received(packets, on: number)
    }

    // MARK: REST

    func rest(
        _ user: UserID, _ method: String, _ path: String, _ body: JSONValue?, name: String?,
        answered: @escaping (RESTResponse?) -> Void
    ) {
        let isLost = random.chance(faults.loss)
        let reaches = !isLost || random.chance(50)
        let timeout = now + Int64(random.int(1...5)) * 1_000_000
        at(now + delay()) { [self] in
            guard reaches else { return at(timeout) { answered(nil) } }
            let answer = server.rest(user, method, path, body, name: name)
            note(
                "\(user) \(method) \(path) \(body?.text ?? ""): \(answer.status) \(answer.headers.map(\.value)) \(answer.json.text.prefix(900))"
            )
            let slowness = faults.slowness > 0 && random.chance(30) ? Int64(random.int(0...faults.slowness)) * 1000 : 0
            at(isLost ? timeout : now + delay() + slowness) { [self] in
                note("\(user) answered \(method) \(path)")
                answered(isLost ? nil : answer)
            }
        }
    }
}
