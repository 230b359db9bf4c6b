// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix

/// What one user can cost another: four hostile sessions beside an honest user, who is measured alone and under attack in the same run. Prints the tables of
/// SECURITY.md.
///
/// Each pattern has a system of its own, so that the peaks of memory are its own too, and each run a victim of its own, who has nothing left of the runs before.
enum HostileBench {
    /// Bytes that the budgets of docs/limits.md come to for one process of a kind, beside what it needs at rest.
    private static let budgets = [
        // Bodies of requests, what is on its way out, answers that arrive from conversations and metadata, and what waits for three services.
        "gateway": 256 + 256 + 2 * 256 + 3 * 32,
        // Requests and long answers, statements of three pools and their parameters, commands to Redis.
        "conversations": 256 + 3 * 32 + 64,
        "metadata": 256 + 3 * 32 + 64,
        "presence": 256 + 64,
    ]
    .mapValues { $0 << 20 }

    /// What one pattern came to.
    private struct Result {
        let pattern: HostilePattern
        var alone: [HostileVictim.Measurement] = []
        var attacked: [HostileVictim.Measurement] = []
        /// When the attackers have stopped: what is left is what they have put into the victim's own answers.
        var afterwards: [HostileVictim.Measurement] = []
        var requests = (answered: 0, succeeded: 0)
        var rest: [String: Int] = [:]
        var peak: [String: Int] = [:]
    }

    /// - Parameters:
    ///   - runs: of each pattern; what is printed is the median.
    ///   - seconds: that the victim is measured in, alone, again under attack, and when that is over.
    ///   - settling: seconds between the preparations and the first run. A replay brings what happened up to 40 seconds before; after that time, the
    ///     preparations are not part of it.
    static func run(_ patterns: [HostilePattern], runs: Int, seconds: Int, settling: Int, group: any EventLoopGroup) async throws -> [String] {
        var results: [Result] = []
        for pattern in patterns {
            // The limit of a session as it is by default; all sessions have the same address, whose limit would be reached by the load itself.
            let system = try await BenchSystem(settings: ["STRATA_RATE_LIMIT_SESSION": "200/4000"])
            let outcome: Swift.Result<Result, any Error>
            do {
                outcome = .success(try await measure(pattern, runs: runs, seconds: seconds, settling: settling, system, group))
            } catch {
                outcome = .failure(error)
            }
            try await system.stop()
            results.append(try outcome.get())
            progress("\(pattern.rawValue): \(runs) runs")
        }
        return times(results, runs: runs, seconds: seconds) + [""] + afterwards(results) + [""] + memory(results)
    }

    private static func progress(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

    private static func measure(
        _ pattern: HostilePattern, runs: Int, seconds: Int, settling: Int, _ system: BenchSystem, _ group: any EventLoopGroup
    ) async throws -> Result {
        // The attackers come first, then for each run a victim and their friends.
        let perRun = 10
        try await system.signIn(users: HostileAttack.users.count + runs * perRun)
        var result = Result(pattern: pattern)
        result.rest = system.residentMemory
        let clients = (victim: Self.client(), attackers: Self.client())
        do {
            var scenes: [(victim: HostileVictim, attack: HostileAttack)] = []
            for run in 0..<runs {
                let user = HostileAttack.users.count + run * perRun
                // The last of the victim's friends is no friend of any other user.
                let filler = user + perRun - 1
                let shared = try await system.conversation(of: Array(HostileAttack.users) + [user, filler], as: 0)
                let victim = try await HostileVictim.make(user, in: shared, system, clients.victim, group)
                let attack = try await HostileAttack.prepare(pattern, in: shared, filledBy: filler, system, clients.attackers, group)
                scenes.append((victim, attack))
            }
            try await Task.sleep(for: .seconds(settling))
            for (victim, attack) in scenes {
                result.alone.append(await victim.measure(seconds: seconds))
                let harm = Task { await attack.run(against: victim.user) }
                // What is measured is what it is like, not how it begins.
                try await Task.sleep(for: .seconds(1))
                result.attacked.append(await victim.measure(seconds: seconds))
                harm.cancel()
                let requests = await harm.value
                result.requests.answered += requests.answered
                result.requests.succeeded += requests.succeeded
                result.afterwards.append(await victim.measure(seconds: seconds))
            }
        } catch {
            try await clients.victim.shutdown()
            try await clients.attackers.shutdown()
            throw error
        }
        try await clients.victim.shutdown()
        try await clients.attackers.shutdown()
        result.peak = system.peakMemory
        return result
    }

    /// Victim and attackers have pools of their own: a victim does not wait for a connection that an attacker uses.
    private static func client() -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.httpVersion = .http1Only
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    // MARK: Tables

    private static func times(_ results: [Result], runs: Int, seconds: Int) -> [String] {
        let operations = HostileVictim.Operation.allCases
        var lines = [
            "Four sessions beside one victim, each within its rate limit; milliseconds alone → under attack, medians of \(runs) runs of \(seconds) s.",
            "",
            "| Four sessions … | " + operations.flatMap { ["\($0.rawValue), p50", "p99"] }.joined(separator: " | ")
                + " | Victim's failures, alone and under attack | Attackers' requests, of which taken |",
            "|---|" + String(repeating: "--:|", count: operations.count * 2 + 2),
        ]
        for result in results {
            let cells = operations.flatMap { operation in
                [0.5, 0.99].map { part in change(part, operation, from: result.alone, to: result.attacked) }
            }
            let failures = [result.alone, result.attacked].map { "\($0.reduce(0) { $0 + $1.failed })" }.joined(separator: ", ")
            lines.append(
                "| \(result.pattern.title) | \(cells.joined(separator: " | ")) | \(failures) | "
                    + "\(result.requests.answered), \(result.requests.succeeded) |")
        }
        return lines
    }

    /// How much of it is what the victim's own answers contain by then.
    private static func afterwards(_ results: [Result]) -> [String] {
        let operations = HostileVictim.Operation.allCases
        var lines = [
            "The same before the attack → when the attackers have stopped: what they have put into the victim's list and replay is still in there.",
            "",
            "| Four sessions … | " + operations.flatMap { ["\($0.rawValue), p50", "p99"] }.joined(separator: " | ") + " |",
            "|---|" + String(repeating: "--:|", count: operations.count * 2),
        ]
        for result in results {
            let cells = operations.flatMap { operation in
                [0.5, 0.99].map { part in change(part, operation, from: result.alone, to: result.afterwards) }
            }
            lines.append("| \(result.pattern.title) | \(cells.joined(separator: " | ")) |")
        }
        return lines
    }

    private static func change(
        _ part: Double, _ operation: HostileVictim.Operation, from first: [HostileVictim.Measurement], to second: [HostileVictim.Measurement]
    ) -> String {
        let before = median(first.compactMap { $0.percentile(part, operation) })
        let after = median(second.compactMap { $0.percentile(part, operation) })
        guard let before, let after else { return "none succeeded" }
        return "\(figure(before * 1000)) → \(figure(after * 1000)) (\(figure(after / before)) ×)"
    }

    private static func memory(_ results: [Result]) -> [String] {
        let services = ["gateway", "conversations", "metadata", "presence"]
        var lines = [
            "Peak of resident memory in MB, beside what the process has at rest and what its budgets (docs/limits.md) come to.", "",
            "| Four sessions … | " + services.joined(separator: " | ") + " |", "|---|" + String(repeating: "--:|", count: services.count),
        ]
        for result in results {
            let cells = services.map { service in
                let bound = (result.rest[service] ?? 0) + (budgets[service] ?? 0)
                return "\((result.peak[service] ?? 0) >> 20) of \(bound >> 20)"
            }
            lines.append("| \(result.pattern.title) | \(cells.joined(separator: " | ")) |")
        }
        return lines
    }

    private static func median(_ values: [Double]) -> Double? { values.isEmpty ? nil : values.sorted()[values.count / 2] }
    private static func figure(_ value: Double) -> String { String(format: "%.1f", value) }
}
