// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore
import NIOPosix

/// Benchmarks of the whole system: the gateway's fan-out, its idle connections, and the path of a message through all
/// processes.
enum SystemBench {
    private static func figure(_ value: Double, _ digits: Int = 1) -> String { String(format: "%.\(digits)f", value) }

    /// Opens `each` sockets for every user, in the order of the users.
    static func sockets(
        _ system: BenchSystem, users: [Int], each: Int = 1, receiveBuffer: Int? = nil, _ group: any EventLoopGroup
    ) async throws -> [LoadSocket] {
        let all = users.flatMap { user in (0..<each).map { _ in user } }
        var sockets: [LoadSocket] = []
        for start in stride(from: 0, to: all.count, by: 50) {
            let chunk = all[start..<min(start + 50, all.count)]
            sockets += try await withThrowingTaskGroup(of: (Int, LoadSocket).self) { tasks in
                for (index, user) in zip(chunk.indices, chunk) {
                    tasks.addTask {
                        let token = system.token(user)
                        return (
                            index,
                            try await LoadSocket.open(
                                port: system.gatewayPort, token: token, receiveBuffer: receiveBuffer, on: group)
                        )
                    }
                }
                return try await tasks.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
            }
        }
        return sockets
    }

    static func total(_ sockets: [LoadSocket], _ count: @escaping @Sendable (LoadSocket) -> Int) async throws -> Int {
        var sum = 0
        for socket in sockets { sum += try await socket.read(count) }
        return sum
    }

    static func awaitMessages(_ expected: Int, _ sockets: [LoadSocket], within limit: Duration) async throws -> Int {
        let end = ContinuousClock.now + limit
        while ContinuousClock.now < end {
            let count = try await total(sockets) { $0.messages }
            if count >= expected { return count }
            try await Task.sleep(for: .milliseconds(50))
        }
        return try await total(sockets) { $0.messages }
    }

    /// Throws if a request was refused, because the measurement would then be invalid.
    static func report(_ sockets: [LoadSocket]) async throws {
        let refused = try await total(sockets) { $0.refused }
        guard refused > 0 else { return }
        for socket in sockets {
            let first = try await socket.read { $0.firstRefusal }
            guard first.isEmpty else {
                throw BenchProblem("\(refused) requests were refused, the first one so: \(first)")
            }
        }
    }

    private static func body(_ bytes: Int) -> String {
        let text = "T\(DispatchTime.now().uptimeNanoseconds) "
        return text + String(repeating: "x", count: max(0, bytes - text.utf8.count))
    }

    static func send(_ socket: LoadSocket, _ conversation: String, _ number: Int, bytes: Int) {
        let request = """
            {"type":"request","body":{"request_id":"m\(number)","method":"Message.create","object_id":"layer:///conversations/\(conversation)",\
            "data":{"parts":[{"mime_type":"text/plain","body":"\(body(bytes))"}]}}}
            """
        socket.send(request)
    }

    /// Measures the gateway's CPU time per delivery: a message change of 1,000 bytes to 1,000 sockets, ten times per
    /// second.
    static func fanOut(_ system: BenchSystem, seconds: Int, group: any EventLoopGroup) async throws -> [String] {
        let users = Array(0..<200)
        try await system.signIn(users: users.count)
        let conversation = try await system.conversation(of: users, as: 0)
        let sockets = try await sockets(system, users: users, each: 5, group)
        // The first messages prove that every socket is attached.
        send(sockets[0], conversation, 0, bytes: 100)
        _ = try await awaitMessages(sockets.count, sockets, within: .seconds(30))
        var lines: [String] = []
        for burst in [1, 4] {
            for socket in sockets { _ = try await socket.read { $0.reset() } }
            let before = system.processorTime(of: ["gateway"])
            var sent = 0
            for _ in 0..<(seconds * 10) {
                for sender in 0..<burst { send(sockets[sender * 7], conversation, sent + sender, bytes: 500) }
                sent += burst
                try await Task.sleep(for: .milliseconds(100))
            }
            let delivered = try await awaitMessages(sent * sockets.count, sockets, within: .seconds(20))
            let used = system.processorTime(of: ["gateway"]) - before
            lines.append(
                "gateway, \(burst == 1 ? "one message" : "\(burst) messages") at a time, 10 a second, to \(sockets.count) sockets: "
                    + "\(figure(used / Double(max(1, delivered)) * 1e6)) µs of CPU a delivery (\(delivered) of \(sent * sockets.count) delivered)"
            )
        }
        for socket in sockets { socket.close() }
        return lines
    }

    /// Measures the resident memory of an idle connection whose user is in 20 conversations.
    static func idle(_ system: BenchSystem, connections: Int, group: any EventLoopGroup) async throws -> [String] {
        try await system.signIn(users: connections)
        let size = 50
        for room in 0..<(connections * 20 / size) {
            let members = (0..<size).map { (room % 20 + 1) * 7 * $0 + room * size }.map { $0 % connections }
            _ = try await system.conversation(of: Set(members), as: members[0])
        }
        let warm = try await sockets(system, users: Array(0..<100), group)
        for socket in warm { socket.close() }
        try await Task.sleep(for: .seconds(3))
        let before = system.gatewayMemory
        let sockets = try await sockets(system, users: Array(0..<connections), group)
        // Twice the interval at which services return free memory to the system.
        try await Task.sleep(for: .seconds(20))
        let after = system.gatewayMemory
        for socket in sockets { socket.close() }
        return [
            "gateway, \(connections) idle connections in 20 conversations each: \(figure(Double(after - before) / Double(connections) / 1024, 2)) KB "
                + "of resident memory each (\(before >> 20) MB before, \(after >> 20) MB after)"
        ]
    }

    private static func table(of switches: [String: ContextSwitches], messages: Int) -> String {
        func each(_ count: Int) -> String { figure(Double(count) / Double(max(1, messages))) }
        let sum = switches.values.reduce(into: ContextSwitches()) {
            $0.voluntary += $1.voluntary
            $0.involuntary += $1.involuntary
        }
        let shares = switches.sorted { $0.value.voluntary > $1.value.voluntary }
            .map { "\($0.key) \(each($0.value.voluntary)) + \(each($0.value.involuntary))" }
        return "\(each(sum.voluntary)) + \(each(sum.involuntary)) (\(shares.joined(separator: ", ")))"
    }

    /// Measures 200 users in rooms of 5 who send at a given rate: the CPU time of all processes, and the delay from
    /// send to delivery.
    static func wholePath(
        _ system: BenchSystem, seconds: Int, rate: Double, group: any EventLoopGroup
    ) async throws -> [String] {
        let users = Array(0..<200)
        try await system.signIn(users: users.count)
        var rooms: [String] = []
        for room in 0..<40 { rooms.append(try await system.conversation(of: room * 5..<room * 5 + 5, as: room * 5)) }
        let sockets = try await sockets(system, users: users, group)
        try await Task.sleep(for: .seconds(2))
        for socket in sockets {
            _ = try await socket.read {
                $0.reset()
                $0.keepsDelays = true
            }
        }
        let (before, switchesBefore) = (system.processorTimes(), system.contextSwitches())
        let start = ContinuousClock.now
        let sent = try await withThrowingTaskGroup(of: Int.self) { tasks in
            for (user, socket) in sockets.enumerated() {
                let room = rooms[user / 5]
                tasks.addTask {
                    var sent = 0
                    try await Task.sleep(for: .seconds(1 / rate * Double.random(in: 0..<1)))
                    while ContinuousClock.now - start < .seconds(seconds) {
                        send(socket, room, sent, bytes: 100)
                        sent += 1
                        try await Task.sleep(for: .seconds(1 / rate))
                    }
                    return sent
                }
            }
            return try await tasks.reduce(0, +)
        }
        let delivered = try await awaitMessages(sent * 5, sockets, within: .seconds(30))
        let used = system.processorTimes().merging(before) { $0 - $1 }
        let switches = system.contextSwitches().merging(switchesBefore) { $0 - $1 }
        let perThousand = used.mapValues { $0 / Double(max(1, delivered)) * 1e6 }
        let shares = perThousand.sorted { $0.value > $1.value }.map { "\($0.key) \(figure($0.value))" }
            .joined(separator: ", ")
        var delays: [Double] = []
        for socket in sockets { delays += try await socket.read { $0.delays } }
        delays.sort()
        func percentile(_ part: Double) -> String {
            delays.isEmpty ? "-" : figure(delays[min(delays.count - 1, Int(Double(delays.count) * part))] * 1000)
        }
        try await report(sockets)
        for socket in sockets { socket.close() }
        return [
            "whole path, 200 users in rooms of 5, \(figure(rate, 0)) messages/s each for \(seconds) s: \(sent) sent, \(delivered) of \(sent * 5) delivered, "
                + "\(figure(perThousand.values.reduce(0, +))) ms of CPU per 1,000 deliveries, all processes (\(shares))",
            "whole path, context switches a message, voluntary + involuntary: \(table(of: switches, messages: sent))",
            "whole path, send to delivery: p50 \(percentile(0.5)) ms, p99 \(percentile(0.99)) ms",
        ]
    }
}
