// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Logging
import NIOCore
import NIOPosix
import Redis
import Synchronization

/// Publishing and receiving, compared with `redis-benchmark` in the same run.
enum RedisBench {
    private static let message = ByteBuffer(repeating: UInt8(ascii: "x"), count: 400)
    private static let channel = "strata:bench"

    /// Runs the benchmark and returns the lines to print. Publishing, `redis-benchmark` and receiving take a third of
    /// `seconds` each.
    static func run(redisHost: String, redisPort: Int, seconds: Double) async throws -> [String] {
        let configuration = RedisConfiguration(endpoints: [RedisEndpoint(host: redisHost, port: redisPort)])
        let logger = Logger(label: "bench")
        let group = MultiThreadedEventLoopGroup.singleton
        let client = RedisClient(configuration: configuration, eventLoopGroup: group, logger: logger)
        let counter = CountingDelegate()
        let subscriber = RedisSubscriber(
            configuration: configuration, eventLoopGroup: group, delegate: counter, logger: logger)
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await client.run() }
            tasks.addTask { try await subscriber.run() }
            let share = max(seconds, 0.3) / 3
            let published = try await publish(with: client, concurrency: 64, seconds: share)
            let reference = try redisBenchmark(host: redisHost, port: redisPort, requests: Int(share * 400_000))
            let received = try await receive(
                by: subscriber, counter, host: redisHost, port: redisPort, requests: Int(share * 400_000))
            tasks.cancelAll()
            return report(published, reference, received)
        }
    }

    private struct Measurement {
        var count: Int
        var seconds: Double
        var processor: Double
        var rate: Double { Double(count) / seconds }
        var microseconds: Double { processor * 1e6 / Double(max(count, 1)) }
    }

    private static func report(_ published: Measurement, _ reference: Double, _ received: Measurement) -> [String] {
        let ratio = published.rate / max(reference, 1)
        return [
            "redis publish concurrency=64 bytes=400 rate=\(Int(published.rate))/s cpu=\(rounded(published.microseconds)) us/command",
            "redis-benchmark -c 64 -P 16 rate=\(Int(reference))/s ratio=\(rounded(ratio)) (wanted: 0.50 or more)",
            "redis subscribe rate=\(Int(received.rate))/s cpu=\(rounded(received.microseconds)) us/message "
                + "(wanted: 300000/s or more, or 1.50 us or less)",
        ]
    }

    private static func rounded(_ value: Double) -> String { String(format: "%.2f", value) }

    /// Publishes messages from `concurrency` tasks, each of which waits for one message before the next.
    private static func publish(with client: RedisClient, concurrency: Int, seconds: Double) async throws -> Measurement
    {
        _ = try await client.publish(message, to: channel, deadline: .now + .seconds(5))
        let end = ContinuousClock.now + .seconds(seconds)
        let (start, processor) = (ContinuousClock.now, processorSeconds())
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<concurrency {
                group.addTask {
                    var count = 0
                    while count % 64 != 0 || ContinuousClock.now < end {
                        _ = try await client.publish(message, to: channel, deadline: .now + .seconds(10))
                        count += 1
                    }
                    return count
                }
            }
            var total = 0
            for try await count in group { total += count }
            return total
        }
        return Measurement(
            count: count, seconds: (.now - start) / .seconds(1), processor: processorSeconds() - processor)
    }

    /// Measures a subscriber while `redis-benchmark` publishes.
    private static func receive(
        by subscriber: RedisSubscriber, _ counter: CountingDelegate, host: String, port: Int, requests: Int
    ) async throws -> Measurement {
        subscriber.subscribe([channel])
        try await subscriber.confirmation(of: [channel], deadline: .now + .seconds(5))
        let (start, processor) = (ContinuousClock.now, processorSeconds())
        let publisher = try startBenchmark(host: host, port: port, requests: requests)
        while counter.count < requests, publisher.process.isRunning || counter.isGrowing() {
            try await Task.sleep(for: .milliseconds(20))
        }
        let measurement = Measurement(
            count: counter.count, seconds: (counter.last - start) / .seconds(1),
            processor: processorSeconds() - processor)
        publisher.process.waitUntilExit()
        return measurement
    }

    /// Returns the rate of `redis-benchmark` with the same command, in requests per second.
    private static func redisBenchmark(host: String, port: Int, requests: Int) throws -> Double {
        let (process, output) = try startBenchmark(host: host, port: port, requests: requests)
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let line = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline)
            .last { $0.contains("requests per second") }
        let words = line?.split(separator: " ") ?? []
        guard let index = words.firstIndex(of: "requests"), index > 0, let rate = Double(words[index - 1]) else {
            return 0
        }
        return rate
    }

    private static func startBenchmark(
        host: String, port: Int, requests: Int
    ) throws -> (process: Process, output: Pipe) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "redis-benchmark", "-h", host, "-p", "\(port)", "-c", "64", "-P", "16", "-n", "\(requests)", "-q",
            "SPUBLISH", channel,
            String(buffer: message),
        ]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        return (process, output)
    }

    /// Returns the CPU time of this process in seconds, without its children.
    private static func processorSeconds() -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(0), &usage)
        let times = [usage.ru_utime, usage.ru_stime]
        return times.reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    }
}

private final class CountingDelegate: RedisSubscriberDelegate {
    private let received = Atomic(0)
    private let seen = Atomic(-1)
    private let lastTime = Mutex(ContinuousClock.now)

    var count: Int { received.load(ordering: .relaxed) }
    var last: ContinuousClock.Instant { lastTime.withLock { $0 } }

    /// Returns true if a message arrived since the last call.
    func isGrowing() -> Bool { seen.exchange(count, ordering: .relaxed) != count }

    func subscriber(didReceive message: ByteBuffer, on channel: ByteBuffer) {
        let count = received.wrappingAdd(1, ordering: .relaxed).newValue
        if count % 64 == 0 { lastTime.withLock { $0 = .now } }
    }
    func subscriber(didConfirm channel: String) {}
    func subscriberDidLoseConnection() {}
    func subscriberDidRecover() {}
}
