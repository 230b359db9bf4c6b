// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
import Foundation
import NIOCore
import StrataCommand

/// The effect of readers that stop reading on other readers and on the gateway (docs/architecture.md §3.10).
enum SlowReaderBench {
    /// The maximum backlog of one socket in bytes. A thousand stopped readers then use at most 128 MB of the gateway's
    /// memory.
    static let backlog = 128 << 10
    private static let fast = 50
    private static let slowUsers = 100

    /// Applies the same load twice in one run: first with the fast readers alone, then with many more in the same
    /// conversation that stop reading at its beginning.
    /// - Parameters:
    ///   - rate: The messages per second.
    ///   - count: The number of readers that stop.
    static func run(
        _ system: BenchSystem, seconds: Int, rate: Double, slow count: Int, group: any EventLoopGroup
    ) async throws -> [String] {
        try await system.signIn(users: fast + slowUsers)
        let conversation = try await system.conversation(of: 0..<fast + slowUsers, as: 0)
        let readers = try await SocketFleet.open(system, users: Array(0..<fast), group)
        // When each reader has received this message, all of them are attached.
        readers[0].send(LoadOperation.message(conversation, "all are attached"))
        _ = try await SocketFleet.awaitMessages(readers.count, readers, within: .seconds(60))
        let alone = try await measure(system, readers, conversation, seconds: seconds, rate: rate)
        let slow = try await SocketFleet.open(
            system, users: Array(fast..<fast + slowUsers), each: max(1, count / slowUsers), receiveBuffer: 16_384, group
        )
        for socket in slow { _ = try await socket.read { $0.reset() } }
        readers[0].send(LoadOperation.message(conversation, "all are attached"))
        _ = try await SocketFleet.awaitMessages(slow.count, slow, within: .seconds(60))
        for socket in slow { try await socket.pauseReading() }
        let before = system.gatewayMemory
        let beside = try await measure(system, readers, conversation, seconds: seconds, rate: rate)
        let closed = try await system.gatewayMetric("strata_gateway_slow_sockets_closed_total")
        for socket in slow { try await socket.resumeReading() }
        try await Task.sleep(for: .seconds(3))
        let told = try await SocketFleet.total(slow) { $0.closeCode == 1013 ? 1 : 0 }
        let replayed = try await replay(system, group)
        for socket in readers + slow { socket.close() }
        return [
            "\(fast) readers, \(figure(rate, 0)) messages of 8 KB a second: \(alone)",
            "the same beside \(slow.count) readers that have stopped: \(beside)",
            "ratio of the medians \(figure(beside.median / alone.median, 2)), of the 99th percentiles \(figure(beside.high / alone.high, 2))",
            "\(Int(closed)) of \(slow.count) readers that stopped were closed, \(told) of them have read that with 1013; one that came back replayed \(replayed) messages",
            "gateway: at most \(Int(beside.backlog) >> 10) KB waited for all of them, of \(slow.count * backlog >> 10) KB that may; resident memory "
                + "\(before >> 20) MB before, at most \(beside.memory >> 20) MB",
        ]
    }

    private struct Measurement: CustomStringConvertible {
        /// The delays from send to delivery, in seconds.
        let median: Double
        let high: Double
        let delivered: Int
        let expected: Int
        /// The peaks of the backlog and of the gateway's memory, in bytes.
        let backlog: Double
        let memory: Int

        var description: String {
            "p50 \(figure(median * 1000)) ms, p99 \(figure(high * 1000)) ms from send to delivery (\(delivered) of \(expected) delivered)"
        }
    }

    private static func measure(
        _ system: BenchSystem, _ readers: [LoadSocket], _ conversation: String, seconds: Int, rate: Double
    ) async throws -> Measurement {
        for socket in readers {
            _ = try await socket.read {
                $0.reset()
                $0.keepsDelays = true
            }
        }
        var (backlog, memory) = (0.0, 0)
        let count = Int(Double(seconds) * rate)
        let look = max(1, Int(rate / 4))
        for number in 0..<count {
            send(readers[number % readers.count], conversation, number)
            if number.isMultiple(of: look) {
                backlog = max(backlog, try await system.gatewayMetric("strata_gateway_socket_backlog_bytes"))
                memory = max(memory, system.gatewayMemory)
            }
            try await Task.sleep(for: .seconds(1 / rate))
        }
        let expected = count * readers.count
        let delivered = try await SocketFleet.awaitMessages(expected, readers, within: .seconds(30))
        var delays: [Double] = []
        for socket in readers { delays += try await socket.read { $0.delays } }
        try await SocketFleet.checkRefusals(readers)
        delays.sort()
        guard !delays.isEmpty else { throw BenchProblem("nothing was delivered") }
        return Measurement(
            median: delays[delays.count / 2], high: delays[min(delays.count - 1, delays.count * 99 / 100)],
            delivered: delivered, expected: expected,
            backlog: backlog, memory: memory)
    }

    /// Reconnects a reader that had stopped.
    /// - Returns: The number of replayed messages.
    private static func replay(_ system: BenchSystem, _ group: any EventLoopGroup) async throws -> Int {
        let socket = try await LoadSocket.open(
            port: system.gatewayPort, token: system.token(fast),
            saying: """
                {"type":"request","body":{"request_id":"r0","method":"Event.replay","data":{"from_timestamp":"2020-01-01T00:00:00.000Z"}}}
                """, on: group)
        var (count, before) = (0, -1)
        while count > before {
            before = count
            try await Task.sleep(for: .seconds(2))
            count = try await socket.read { $0.messages }
        }
        socket.close()
        return count
    }

    /// Sends a message of five parts. The first one contains the time of sending.
    private static func send(_ socket: LoadSocket, _ conversation: String, _ number: Int) {
        let filling = String(
            repeating: ",{\"mime_type\":\"text/plain\",\"body\":\"\(String(repeating: "x", count: 2000))\"}", count: 4)
        socket.send(
            """
            {"type":"request","body":{"request_id":"m\(number)","method":"Message.create","object_id":"layer:///conversations/\(conversation)",\
            "data":{"parts":[{"mime_type":"text/plain","body":"T\(DispatchTime.now().uptimeNanoseconds) "}\(filling)]}}}
            """)
    }

    private static func figure(_ value: Double, _ digits: Int = 1) -> String { String(format: "%.\(digits)f", value) }
}

extension BenchSystem {
    /// Returns the sum of a metric's series.
    func gatewayMetric(_ name: String) async throws -> Double {
        let port = state.processes.first { $0.service == "gateway" }?.adminPort ?? 0
        let response = try await client.execute(
            HTTPClientRequest(url: "http://127.0.0.1:\(port)/metrics"), timeout: .seconds(10))
        let text = String(buffer: try await response.body.collect(upTo: 4 << 20))
        return text.split(separator: "\n")
            .filter { $0.hasPrefix(name + " ") || $0.hasPrefix(name + "{") }
            .reduce(0) { $0 + ($1.split(separator: " ").last.flatMap { Double($0) } ?? 0) }
    }
}
