// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Logging
import NIOCore
import NIOPosix
import RPC
import ServiceLifecycle
import Synchronization

/// The cost of a call between services: 350 bytes in each direction, 64 concurrent callers, and a handler that does
/// nothing.
///
/// The server is a child process, so that the CPU time of each side can be measured separately.
enum RPCBench {
    private static let secret = "only for measuring, on this machine, for a few seconds"
    private static let callers = 64
    private static let argument = "rpc-bench-server"

    /// Runs the server until standard input ends, which happens when the parent ends.
    /// - Parameter port: The TCP port. 0: any free port. The port is printed as a line.
    static func serve(port: Int) async throws {
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var configuration = RPCServerConfiguration(host: "127.0.0.1", port: port, clusterSecret: secret)
        configuration.maxCallsInFlight = 100_000
        let server = RPCServer(configuration: configuration, eventLoopGroup: loops, logger: quiet) { _, payload in
            payload
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            let bound = try await server.boundPort
            FileHandle.standardOutput.write(Data("\(bound)\n".utf8))
            await answerQuestions()
            group.cancelAll()
        }
        try await loops.shutdownGracefully()
    }

    /// Answers each line of input with the CPU time so far, until the input ends.
    private static func answerQuestions() async {
        let (ended, end) = AsyncStream<Void>.makeStream()
        // Reading blocks, so it runs on a separate thread.
        Thread.detachNewThread {
            while readLine() != nil { FileHandle.standardOutput.write(Data("\(processMicroseconds())\n".utf8)) }
            end.finish()
        }
        for await _ in ended {}
    }

    /// Measures at concurrency 64 and 1, after a warm-up of half a second.
    /// - Returns: The lines to print.
    static func run(seconds: Double) async throws -> [String] {
        let child = try Child(arguments: [argument, "0"])
        defer { child.stop() }
        guard let port = Int(try child.line()) else { throw BenchFailure.noPort }
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let client = RPCClient(
            configuration: RPCClientConfiguration(
                target: .fixed([RPCEndpoint(host: "127.0.0.1", port: port)]), clusterSecret: secret),
            eventLoopGroup: loops, logger: quiet)
        let lines = try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await client.run() }
            _ = try await measure(client, child, callers: callers, seconds: 0.5)
            var lines: [String] = []
            for callers in [callers, 1] {
                lines.append(try await measure(client, child, callers: callers, seconds: seconds))
            }
            group.cancelAll()
            return lines
        }
        try await loops.shutdownGracefully()
        return lines
    }

    private static func measure(
        _ client: RPCClient, _ child: Child, callers: Int, seconds: Double
    ) async throws -> String {
        let payload = ByteBuffer(repeating: 7, count: 350)
        let serverBefore = try child.microseconds()
        let clientBefore = processMicroseconds()
        let start = ContinuousClock.now
        let end = start + .seconds(seconds)
        let latencies = try await withThrowingTaskGroup(of: [Double].self) { group in
            for _ in 0..<callers {
                group.addTask {
                    var latencies: [Double] = []
                    var now = ContinuousClock.now
                    while now < end {
                        _ = try await client.call(
                            RPCMethod(rawValue: 1), with: payload, deadline: now + .seconds(10), trace: .random())
                        let after = ContinuousClock.now
                        latencies.append((after - now) / .microseconds(1))
                        now = after
                    }
                    return latencies
                }
            }
            var all: [Double] = []
            for try await some in group { all += some }
            return all.sorted()
        }
        let elapsed = (ContinuousClock.now - start) / .seconds(1)
        let clientCPU = Double(processMicroseconds() - clientBefore) / Double(latencies.count)
        let serverCPU = Double(try child.microseconds() - serverBefore) / Double(latencies.count)
        let percentile = { (share: Double) in latencies[min(latencies.count - 1, Int(Double(latencies.count) * share))]
        }
        return String(
            format: "rpc callers=%d calls/s=%.0f p50=%.0fus p99=%.0fus cpu/call client=%.1fus server=%.1fus", callers,
            Double(latencies.count) / elapsed, percentile(0.5), percentile(0.99), clientCPU, serverCPU)
    }

    private static let quiet = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }

    /// Returns the user and system CPU time of this process in microseconds.
    private static func processMicroseconds() -> Int {
        // POSIX defines `CLOCKS_PER_SEC` as one million.
        clock()
    }
}

private enum BenchFailure: Error {
    case noPort
    case childEnded
}

/// A child process of this executable with other arguments, with which this process communicates over standard input
/// and output.
private final class Child {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var buffer: [UInt8] = []

    init(arguments: [String]) throws {
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    func line() throws -> String {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffer.removeSubrange(...end) }
                return String(decoding: buffer[..<end], as: UTF8.self)
            }
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw BenchFailure.childEnded }
            buffer += data
        }
    }

    /// Returns the CPU time of the child in microseconds.
    func microseconds() throws -> Int {
        input.fileHandleForWriting.write(Data("cpu\n".utf8))
        guard let time = Int(try line()) else { throw BenchFailure.childEnded }
        return time
    }

    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
