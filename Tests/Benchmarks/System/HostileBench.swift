// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix

/// The cost of one user to another. Four hostile sessions act next to an honest user, who is measured alone and under
/// attack in the same run. Prints the tables of SECURITY.md; ``HostileAppBench`` prints those of another app's
/// patterns.
///
/// Each pattern has its own system, so that memory peaks are separate. Each run has its own victim, who is not affected
/// by earlier runs.
enum HostileBench {
    private struct Result {
        let pattern: HostilePattern
        var alone: [HostileVictim.Measurement] = []
        var attacked: [HostileVictim.Measurement] = []
        /// The measurements after the attack. The remaining cost is caused by the data that the attackers added to the
        /// victim's own answers.
        var afterwards: [HostileVictim.Measurement] = []
        var requests = (answered: 0, succeeded: 0)
        var memory = HostileMemory()
    }

    /// Runs the benchmark.
    /// - Parameters:
    ///   - runs: The number of runs of each pattern; the median is printed.
    ///   - seconds: The duration of each measurement of the victim: alone, under attack, and afterwards.
    ///   - settling: The seconds between the preparation and the first run. A replay includes the last 40 seconds;
    ///     after that time it no longer includes the preparation.
    static func run(
        _ patterns: [HostilePattern], runs: Int, seconds: Int, settling: Int, group: any EventLoopGroup
    ) async throws -> [String] {
        let ofOtherApp = patterns.filter(\.isOfOtherApp)
        var lines: [String] = []
        if ofOtherApp.count < patterns.count {
            lines += try await runUsers(
                patterns.filter { !$0.isOfOtherApp }, runs: runs, seconds: seconds, settling: settling, group: group)
        }
        if !ofOtherApp.isEmpty {
            if !lines.isEmpty { lines.append("") }
            lines += try await HostileAppBench.run(
                ofOtherApp, runs: runs, seconds: seconds, settling: settling, group: group)
        }
        return lines
    }

    private static func runUsers(
        _ patterns: [HostilePattern], runs: Int, seconds: Int, settling: Int, group: any EventLoopGroup
    ) async throws -> [String] {
        var results: [Result] = []
        var settings: [String: String] = [:]
        for pattern in patterns {
            // The session has the default rate limit. The limit of an address is lifted, because all sessions share one
            // and the load itself would reach it.
            let system = try await BenchSystem(
                settings: ["STRATA_RATE_LIMIT_SESSION": "200/4000"], limitsStrangers: true)
            settings = system.settings
            let outcome: Swift.Result<Result, any Error>
            do {
                outcome = .success(
                    try await measure(pattern, runs: runs, seconds: seconds, settling: settling, system, group))
            } catch {
                outcome = .failure(error)
            }
            try await system.stop()
            results.append(try outcome.get())
            HostileTable.progress("\(pattern.rawValue): \(runs) runs")
        }
        return [HostileTable.line(of: settings)] + times(results, runs: runs, seconds: seconds) + [""]
            + afterwards(results) + [""]
            + HostileTable.memory(first: "Four sessions …", results.map { ($0.pattern, $0.memory) })
    }

    private static func measure(
        _ pattern: HostilePattern, runs: Int, seconds: Int, settling: Int, _ system: BenchSystem,
        _ group: any EventLoopGroup
    ) async throws -> Result {
        // The attackers come first, followed by one victim with friends for each run.
        let perRun = 10
        try await system.signIn(users: HostileAttack.users.count + runs * perRun)
        var result = Result(pattern: pattern)
        result.memory.rest = system.residentMemory
        let clients = (victim: HostileTable.client(), attackers: HostileTable.client())
        do {
            var scenes: [(victim: HostileVictim, attack: HostileAttack)] = []
            for run in 0..<runs {
                let user = HostileAttack.users.count + run * perRun
                // The last friend of the victim is the filler, who has no other conversations.
                let filler = user + perRun - 1
                let shared = try await system.conversation(of: Array(HostileAttack.users) + [user, filler], as: 0)
                let victim = try await HostileVictim.make(user, in: shared, system, clients.victim, group)
                let attack = try await HostileAttack.prepare(
                    pattern, in: shared, filledBy: filler, system, clients.attackers, group)
                scenes.append((victim, attack))
            }
            try await Task.sleep(for: .seconds(settling))
            for (victim, attack) in scenes {
                result.alone.append(await victim.measure(seconds: seconds))
                let harm = Task { await attack.run(against: victim.user) }
                // The measurement excludes the beginning of the attack.
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
        try system.checkProcesses()
        result.memory.peak = system.peakMemory
        return result
    }

    // MARK: Tables

    private static func times(_ results: [Result], runs: Int, seconds: Int) -> [String] {
        let operations = HostileVictim.Operation.requests
        var lines = [
            "Four sessions beside one victim, each within its rate limit; milliseconds alone → under attack, medians of \(runs) runs of \(seconds) s.",
            "",
            "| Four sessions … | " + operations.flatMap { ["\($0.rawValue), p50", "p99"] }.joined(separator: " | ")
                + " | Victim's failures, alone and under attack | Attackers' requests, of which taken |",
            "|---|" + String(repeating: "--:|", count: operations.count * 2 + 2),
        ]
        for result in results {
            let cells = operations.flatMap { operation in
                [0.5, 0.99]
                    .map { part in HostileTable.change(part, operation, from: result.alone, to: result.attacked) }
            }
            let failures = [result.alone, result.attacked].map { "\($0.reduce(0) { $0 + $1.failed })" }
                .joined(separator: ", ")
            lines.append(
                "| \(result.pattern.title) | \(cells.joined(separator: " | ")) | \(failures) | "
                    + "\(result.requests.answered), \(result.requests.succeeded) |")
        }
        return lines
    }

    /// Returns the table of the remaining cost after the attack.
    private static func afterwards(_ results: [Result]) -> [String] {
        let operations = HostileVictim.Operation.requests
        var lines = [
            "The same before the attack → when the attackers have stopped: what they have put into the victim's list and replay is still in there.",
            "",
            "| Four sessions … | " + operations.flatMap { ["\($0.rawValue), p50", "p99"] }.joined(separator: " | ")
                + " |",
            "|---|" + String(repeating: "--:|", count: operations.count * 2),
        ]
        for result in results {
            let cells = operations.flatMap { operation in
                [0.5, 0.99]
                    .map { part in HostileTable.change(part, operation, from: result.alone, to: result.afterwards) }
            }
            lines.append("| \(result.pattern.title) | \(cells.joined(separator: " | ")) |")
        }
        return lines
    }
}
