// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import LocalServers
import NIOPosix

/// The command that runs the benchmarks and prints their figures; see docs/benchmarks.md.
@main
struct BenchCommand: AsyncParsableCommand {
    /// Runs the command. The RPC benchmark starts this program again as its server, and the StrataKit benchmark starts
    /// it as an app.
    static func main() async {
        let arguments = CommandLine.arguments
        if arguments.count == 3, arguments[1] == "rpc-bench-server", let port = Int(arguments[2]) {
            do {
                return try await RPCBench.serve(port: port)
            } catch {
                exit(withError: error)
            }
        }
        if arguments.count == 3, arguments[1] == KitClient.argument {
            do {
                return try await KitClient.run(arguments[2])
            } catch {
                exit(withError: error)
            }
        }
        await main(nil)
    }

    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measures the parts and the whole, each against a baseline of the same run.")

    enum Part: String, CaseIterable, ExpressibleByArgument {
        case wire, rpc, redis, postgres, fanout, idle, path, receipts, slow, kit, hostile, webhooks
    }

    @Argument(help: "What to measure; everything but hostile, which takes long, if nothing is named.")
    var parts: [Part] = []

    @Option(help: "Seconds each measurement takes.")
    var seconds = 5

    @Option(help: "Connections of the measurement of idle memory.")
    var connections = 5000

    @Option(help: "Readers that stop, beside fifty that do not.")
    var slow = 1000

    @Option(
        help:
            "Messages a second of each of the 200 users of the whole path; and beside slow readers twice as many in all."
    )
    var rate = 10.0

    @Option(
        name: .customLong("pattern"), help: "What hostile users and apps do; everything they can if it is left out.")
    var patterns: [HostilePattern] = []

    @Option(name: .customLong("step"), help: "What is measured of the client library; everything if it is left out.")
    var steps: [KitBench.Step] = []

    @Option(help: "Runs of each pattern of hostile users and apps, of which the median is printed.")
    var runs = 5

    @Option(
        help: """
            Seconds between what hostile users prepare and the first run, so that it is not in the victim's replays; beside a hostile app the victim works \
            for as long before each kind of run.
            """)
    var settling = 45

    func validate() throws {
        guard seconds > 0, runs > 0, settling >= 0 else {
            throw ValidationError("--seconds and --runs must be at least 1, --settling at least 0.")
        }
    }

    func run() async throws {
        for part in parts.isEmpty ? Part.allCases.filter({ $0 != .hostile }) : parts {
            for line in try await measure(part) { print(line) }
        }
    }

    private func measure(_ part: Part) async throws -> [String] {
        switch part {
        case .wire: return WireBench.run()
        case .rpc: return try await RPCBench.run(seconds: Double(seconds))
        case .redis, .postgres: return try await withServers(part)
        case .fanout, .idle, .path, .slow: return try await withSystem(part)
        case .hostile:
            return try await HostileBench.run(
                patterns.isEmpty ? HostilePattern.allCases : patterns, runs: runs, seconds: seconds, settling: settling,
                group: MultiThreadedEventLoopGroup.singleton)
        case .kit:
            return try await KitBench.run(
                steps.isEmpty ? Set(KitBench.Step.allCases) : Set(steps), group: MultiThreadedEventLoopGroup.singleton)
        case .receipts: return try await ReceiptBench.run(group: MultiThreadedEventLoopGroup.singleton)
        case .webhooks: return try await WebhookBench.run(group: MultiThreadedEventLoopGroup.singleton)
        }
    }

    private func withSystem(_ part: Part) async throws -> [String] {
        let system = try await BenchSystem(
            settings: part == .slow ? ["STRATA_SOCKET_BACKLOG_BYTES": "\(SlowReaderBench.backlog)"] : [:])
        let group = MultiThreadedEventLoopGroup.singleton
        let result: Result<[String], any Error>
        do {
            switch part {
            case .fanout: result = .success(try await SystemBench.fanOut(system, seconds: seconds, group: group))
            case .slow:
                result = .success(
                    try await SlowReaderBench.run(system, seconds: seconds, rate: rate * 2, slow: slow, group: group))
            case .idle: result = .success(try await SystemBench.idle(system, connections: connections, group: group))
            default:
                result = .success(try await SystemBench.wholePath(system, seconds: seconds, rate: rate, group: group))
            }
        } catch {
            result = .failure(error)
        }
        try await system.stop()
        return try result.get()
    }

    private func withServers(_ part: Part) async throws -> [String] {
        let home = FileManager.default.temporaryDirectory
            .appendingPathComponent("strata-bench-\(UUID().uuidString.prefix(8))").path
        defer { try? FileManager.default.removeItem(atPath: home) }
        if part == .redis {
            let redis = try await PrivateRedis.start(.init(directory: home + "/redis"))
            let lines = try await RedisBench.run(redisHost: redis.host, redisPort: redis.port, seconds: Double(seconds))
            await redis.stop()
            return lines
        }
        let postgres = try await PrivatePostgres.start(.init(directory: home + "/postgres", password: nil))
        let lines = try await PostgresBench.run(postgresURL: postgres.url(), seconds: Double(seconds))
        await postgres.stop()
        return lines
    }
}

extension KitBench.Step: ExpressibleByArgument {}
