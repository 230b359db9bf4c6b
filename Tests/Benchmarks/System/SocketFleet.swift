// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore

/// Sockets that are opened, fed and read together.
enum SocketFleet {
    /// Opens `each` sockets for every user, in the order of the users.
    static func open(
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
    static func checkRefusals(_ sockets: [LoadSocket]) async throws {
        let refused = try await total(sockets) { $0.refused }
        guard refused > 0 else { return }
        for socket in sockets {
            let first = try await socket.read { $0.firstRefusal }
            guard first.isEmpty else {
                throw BenchProblem("\(refused) requests were refused, the first one so: \(first)")
            }
        }
    }
}
