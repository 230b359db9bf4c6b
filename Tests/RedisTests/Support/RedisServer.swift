// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LocalServers
import NIOCore
import NIOPosix
import Redis
import Synchronization
import Testing

/// A separate redis-server on a free port, with its own directory and without persistence.
final class RedisServer: Sendable {
    let port: Int
    private let directory: URL
    private let options: [String]
    private let process = Mutex<Process?>(nil)

    private init(options: [String]) throws {
        port = try LoopbackPort.free()
        self.options = options
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("redis-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    static func with<Result>(
        _ options: [String] = [], _ body: nonisolated(nonsending) (RedisServer) async throws -> Result
    ) async throws -> Result {
        let server = try RedisServer(options: options)
        do {
            try await server.start()
            let result = try await body(server)
            await server.dispose()
            return result
        } catch {
            await server.dispose()
            throw error
        }
    }

    var endpoint: RedisEndpoint { RedisEndpoint(host: "127.0.0.1", port: port) }

    /// Starts the server and waits until it reports that it accepts connections.
    func start() async throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try Programs.findRedis("redis-server"))
        process.arguments =
            ["--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", directory.path]
            + options
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        let (ready, continuation) = AsyncStream<Bool>.makeStream()
        let log = Mutex(Data())
        output.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            let isReady = log.withLock { log in
                log.append(data)
                return String(decoding: log, as: UTF8.self).contains("Ready to accept connections")
            }
            if isReady || data.isEmpty {
                continuation.yield(isReady)
                handle.readabilityHandler = nil
            }
        }
        try process.run()
        self.process.withLock { $0 = process }
        for await isReady in ready {
            try #require(isReady, "redis-server ended: \(log.withLock { String(decoding: $0, as: UTF8.self) })")
            return
        }
    }

    func send(signal: CInt) {
        guard let pid = process.withLock({ $0?.processIdentifier }) else { return }
        kill(pid, signal)
    }

    /// Kills the server with SIGKILL and waits for its exit. `start()` may follow.
    func killNow() async {
        guard let process = process.withLock({ $0 }) else { return }
        self.process.withLock { $0 = nil }
        await withCheckedContinuation { continuation in
            let gone = Mutex(false)
            let resume = { @Sendable in
                let isFirst = gone.withLock { gone in
                    defer { gone = true }
                    return !gone
                }
                if isFirst { continuation.resume() }
            }
            process.terminationHandler = { _ in resume() }
            kill(process.processIdentifier, SIGKILL)
            if !process.isRunning { resume() }
        }
    }

    private func dispose() async {
        await killNow()
        try? FileManager.default.removeItem(at: directory)
    }
}
