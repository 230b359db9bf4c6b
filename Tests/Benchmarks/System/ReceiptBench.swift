// SPDX-License-Identifier: Apache-2.0
import Foundation
import Logging
import NIOCore
import NIOPosix
import Postgres
import StrataCommand

/// The cost of receipts. 20 users of a conversation reconnect and report 50 messages as delivered and read, with four
/// concurrent requests each, like stock clients. The benchmark runs with the default receipt window and without one.
enum ReceiptBench {
    private static let users = 20
    private static let messages = 50

    static func run(group: any EventLoopGroup) async throws -> [String] {
        let baseline = try await measured(["STRATA_RECEIPT_WINDOW": "0ms"], group)
        let gathered = try await measured([:], group)
        func figure(_ value: Double, _ digits: Int = 0) -> String { String(format: "%.\(digits)f", value) }
        func line(_ name: String, _ result: Result) -> String {
            let shares = result.processorTime.sorted { $0.value > $1.value }
                .map { "\($0.key) \(figure($0.value / Double(result.receipts) * 1e6))" }.joined(separator: ", ")
            return "receipts, \(name): \(result.receipts) in \(result.changes) changes, \(result.packets) packets, "
                + "\(figure(result.total / Double(result.receipts) * 1e6)) µs of CPU a receipt, all processes (\(shares))"
        }
        return [
            line("each at once", baseline), line("gathered for 20 ms", gathered),
            "receipts, gathered: \(figure(Double(gathered.changes) / Double(max(1, baseline.changes)), 2)) × the changes, "
                + "\(figure(gathered.total / baseline.total, 2)) × the CPU",
        ]
    }

    private struct Result {
        let receipts: Int
        let changes: Int64
        let packets: Int
        let processorTime: [String: Double]
        var total: Double { processorTime.values.reduce(0, +) }
    }

    private static func measured(_ settings: [String: String], _ group: any EventLoopGroup) async throws -> Result {
        let system = try await BenchSystem(settings: settings)
        do {
            let result = try await measure(system, group)
            try await system.stop()
            return result
        } catch {
            try await system.stop()
            throw error
        }
    }

    private static func measure(_ system: BenchSystem, _ group: any EventLoopGroup) async throws -> Result {
        try await system.signIn(users: users)
        let conversation = try await system.conversation(of: 0..<users, as: 0)
        var sockets: [LoadSocket] = []
        for user in 0..<users {
            sockets.append(try await LoadSocket.open(port: system.gatewayPort, token: system.token(user), on: group))
        }
        var ids: [String] = []
        for _ in 0..<messages {
            let id = UUID().uuidString.lowercased()
            try await system.post(
                "/conversations/\(conversation)/messages", as: 0,
                "{\"id\":\"\(id)\",\"parts\":[{\"mime_type\":\"text/plain\",\"body\":\"x\"}]}")
            ids.append(id)
        }
        try await Task.sleep(for: .seconds(1))
        for socket in sockets { _ = try await socket.read { $0.reset() } }
        let before = system.processorTimes()
        let sent = try await giveAll(ids, system)
        try await Task.sleep(for: .seconds(1))
        let used = system.processorTimes().merging(before) { $0 - $1 }
        var packets = 0
        for socket in sockets { packets += try await socket.read { $0.packets } }
        for socket in sockets { socket.close() }
        return Result(receipts: sent, changes: try await receiptChanges(system), packets: packets, processorTime: used)
    }

    /// Sends receipts of all users except the sender: delivered, then read, one message per request, in four concurrent
    /// sequences.
    private static func giveAll(_ ids: [String], _ system: BenchSystem) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { tasks in
            for user in 1..<users {
                for lane in 0..<4 {
                    tasks.addTask {
                        var sent = 0
                        for type in ["delivery", "read"] {
                            for index in stride(from: lane, to: ids.count, by: 4) {
                                try await system.post(
                                    "/messages/\(ids[index])/receipts", as: user, "{\"type\":\"\(type)\"}")
                                sent += 1
                            }
                        }
                        return sent
                    }
                }
            }
            return try await tasks.reduce(0, +)
        }
    }

    private static func receiptChanges(_ system: BenchSystem) async throws -> Int64 {
        var configuration = try PostgresConfiguration(url: system.state.databaseURL)
        configuration.connections = 1
        let pool = PostgresPool(configuration: configuration, mode: .exclusive, logger: Logger(label: "bench"))
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await pool.run() }
            defer { group.cancelAll() }
            let count = Statement(
                "bench.receipts", sql: "SELECT count(*) FROM conversations.change WHERE kind = 7", isIdempotent: true)
            return try await pool.query(count, deadline: .now + .seconds(5)).first?.get(0) ?? 0
        }
    }
}
