// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Logging
import NIOCore
import NIOPosix
import RPC
import ServiceLifecycle
import Synchronization

/// What a call between services costs: 350 bytes each way, answered by a handler that does nothing, 64 callers.
///
/// The server is a child process, so that each side's CPU time is its own.
enum RPCBench {
    private static let secret = "only for measuring, on this machine, for a few seconds"
    private static let callers = 64
    private static let argument = "rpc-bench-server"

    /// Runs the server. Returns when standard input ends, which is when the parent does.
    /// - Parameter port: 0 takes a free one; the port is printed as a line.
    static func serve(port: Int) async throws {
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var configuration = RPCServerConfiguration(host: "127.0.0.1", port: port, clusterSecret: secret)
        configuration.maxCallsInFlight = 100_000
        let server = RPCServer(configuration: configuration, eventLoopGroup: loops, logger: quiet) { _, payload in payload }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            let bound = try await server.boundPort
            FileHandle.standardOutput.write(Data("\(bound)\n".utf8))
            await answerQuestions()
            group.cancelAll()
        }
        try await loops.shutdownGracefully()
    }

    /// Each line of input asks for the CPU time so far. Returns when there is no more input.
    private static func answerQuestions() async {
        let (ended, end) = AsyncStream<Void>.makeStream()
        // Reading blocks, so it has a thread of its own.
        Thread.detachNewThread {
            while readLine() != nil { FileHandle.standardOutput.write(Data("\(processMicroseconds())\n".utf8)) }
            end.finish()
        }
        for await _ in ended {}
    }

    /// Measures for some seconds after half a second of warming up, at concurrency 64 and at 1.
    /// - Returns: lines to print.
    static func run(seconds: Double) async throws -> [String] {
        let child = try Child(arguments: [argument, "0"])
        defer { child.stop() }
        guard let port = Int(try child.line()) else { throw BenchFailure.noPort }
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let client = RPCClient(
            configuration: RPCClientConfiguration(target: .fixed([RPCEndpoint(host: "127.0.0.1", port: port)]), clusterSecret: secret),
            eventLoopGroup: loops, logger: quiet)
        let lines = try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await client.run() }
            _ = try await measure(client, child, callers: callers, seconds: 0.5)
            var lines: [String] = []
            for callers in [callers, 1] { lines.append(try await measure(client, child, callers: callers, seconds: seconds)) }
            group.cancelAll()
            return lines
        }
        try await loops.shutdownGracefully()
        return lines
    }

    private static func measure(_ client: RPCClient, _ child: Child, callers: Int, seconds: Double) async throws -> String {
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
                        _ = try await client.call(RPCMethod(rawValue: 1), with: payload, deadline: now + .seconds(10), trace: .random())
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
        let percentile = { (share: Double) in latencies[min(latencies.count - 1, Int(Double(latencies.count) * share))] }
        return String(
            format: "rpc callers=%d calls/s=%.0f p50=%.0fus p99=%.0fus cpu/call client=%.1fus server=%.1fus", callers,
            Double(latencies.count) / elapsed, percentile(0.5), percentile(0.99), clientCPU, serverCPU)
    }

    private static let quiet = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }

    /// CPU time of this process, user and system.
    private static func processMicroseconds() -> Int {
        // POSIX fixes the unit at a millionth of a second.
        clock()
    }
}

private enum BenchFailure: Error {
    case noPort
    case childEnded
}

/// This executable once more, with other arguments, spoken to over its standard input and output.
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

    /// CPU time of the child so far.
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
