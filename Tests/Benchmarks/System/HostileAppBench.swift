// SPDX-License-Identifier: Apache-2.0
import AsyncHTTPClient
import Foundation
import NIOCore
import NetKit

/// A hostile app next to an honest user, whose app has one webhook. Both are measured alone, and then under an attack
/// that lasts until all measurements are done. Prints the tables of SECURITY.md.
///
/// Each pattern has its own system. Before each of the two measurements, the victim works at the same rate for as long
/// as a replay reaches back. The number of the victim's own messages is therefore the same in both.
enum HostileAppBench {
    /// The default limits. The hostile app uses its own address.
    private static let settings = [
        "STRATA_RATE_LIMIT_SESSION": "200/4000", "STRATA_RATE_LIMIT_ADDRESS": "2000/20000",
        "STRATA_RATE_LIMIT_SERVER": "500/5000",
        "STRATA_CONNECTIONS_PER_ADDRESS": "10000",
    ]
    /// The default of `STRATA_WEBHOOKS_APP_BYTES`.
    private static let appBytes = 1 << 30

    private struct Result {
        let pattern: HostilePattern
        var alone = Phase()
        var attacked = Phase()
        var requests = (answered: 0, succeeded: 0)
        var memory = HostileMemory()
        var growth = DiskUse()
        /// The number of the hostile app's webhooks, and of those that became inactive.
        var webhooks = 0
        var inactive = 0
        /// The limit of bytes of pending events for those webhooks.
        var budget = 0
    }

    /// The measurements of the victim and of its webhook, alone or under attack.
    private struct Phase {
        var times: [HostileVictim.Measurement] = []
        /// The delivered events per second while a backlog remains.
        var rates: [Double] = []

        var failed: Int { times.reduce(0) { $0 + $1.failed } }
    }

    /// Runs the benchmark.
    /// - Parameters:
    ///   - runs: The number of measurements of each kind; the median is printed.
    ///   - seconds: The duration of each measurement.
    ///   - settling: The seconds that the victim works before each of the two kinds of measurement. A replay includes
    ///     the last 40 seconds.
    static func run(
        _ patterns: [HostilePattern], runs: Int, seconds: Int, settling: Int, group: any EventLoopGroup
    ) async throws -> [String] {
        OpenFileLimit.raise()
        var results: [Result] = []
        var failures: [String] = []
        for pattern in patterns {
            let system = try await BenchSystem(settings: settings.merging(pattern.settings) { $1 })
            // A failure must not discard the measurements of other patterns.
            do {
                results.append(
                    try await measure(pattern, runs: runs, seconds: seconds, settling: settling, system, group))
                HostileTable.progress("\(pattern.rawValue): \(runs) runs")
            } catch {
                failures.append("\(pattern.rawValue) failed: \(error)")
                HostileTable.progress(failures.last ?? "")
            }
            try await system.stop()
        }
        return lines(results, runs: runs, seconds: seconds) + failures
    }

    private static func measure(
        _ pattern: HostilePattern, runs: Int, seconds: Int, settling: Int, _ system: BenchSystem,
        _ group: any EventLoopGroup
    ) async throws -> Result {
        let friends = 5
        try await system.signIn(users: friends + 2)
        var result = Result(pattern: pattern)
        result.memory.rest = system.residentMemory
        result.budget = pattern.settings["STRATA_WEBHOOKS_APP_BYTES"].flatMap { Int($0) } ?? appBytes
        let webhook = try await HonestWebhook.register(system, group)
        let clients = (victim: HostileTable.client(), attackers: HostileTable.client(from: HostileAttack.address))
        let outcome: Swift.Result<Void, any Error>
        do {
            let shared = try await system.conversation(of: [0, friends + 1], as: 0)
            var victim = try await HostileVictim.make(0, in: shared, system, clients.victim, group)
            let hostile = try await system.tenant("hostile")
            let attack = try await HostileAttack.prepareApp(pattern, hostile, clients.attackers, group)
            do {
                try await system.awaitActiveWebhooks()
                victim.webhook = webhook
                try await measure(
                    &result, victim, webhook, attack, runs: runs, seconds: seconds, settling: settling, hostile)
            } catch {
                await attack.end()
                throw error
            }
            await attack.end()
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await webhook.stop()
        try await clients.victim.shutdown()
        try await clients.attackers.shutdown()
        try system.checkProcesses()
        try outcome.get()
        result.memory.peak = system.peakMemory
        return result
    }

    private static func measure(
        _ result: inout Result, _ victim: HostileVictim, _ webhook: HonestWebhook, _ attack: HostileAttack, runs: Int,
        seconds: Int, settling: Int,
        _ hostile: BenchSystem
    ) async throws {
        result.alone = try await phase(victim, webhook, runs: runs, seconds: seconds, settling: settling)
        let before = try await hostile.diskUse()
        let harm = Task { await attack.run(against: victim.user) }
        let attacked: Swift.Result<Phase, any Error>
        do {
            attacked = .success(try await phase(victim, webhook, runs: runs, seconds: seconds, settling: settling))
        } catch {
            attacked = .failure(error)
        }
        harm.cancel()
        result.requests = await harm.value
        result.attacked = try attacked.get()
        result.growth = try await hostile.diskUse() - before
        result.webhooks = attack.receivers.count
        if result.webhooks > 0 { result.inactive = try await hostile.inactiveWebhooks() }
    }

    private static func phase(
        _ victim: HostileVictim, _ webhook: HonestWebhook, runs: Int, seconds: Int, settling: Int
    ) async throws -> Phase {
        var phase = Phase()
        if settling > 0 { _ = await victim.measure(seconds: settling) }
        for _ in 0..<runs { phase.times.append(await victim.measure(seconds: seconds)) }
        for _ in 0..<runs {
            let (rate, isComplete) = try await webhook.rate()
            phase.rates.append(rate)
            // The next measurement would count the remaining events of this one.
            guard isComplete else { break }
        }
        return phase
    }

    // MARK: Tables

    private static func lines(_ results: [Result], runs: Int, seconds: Int) -> [String] {
        let operations = HostileVictim.Operation.allCases
        let times = results.map { result in
            let cells = operations.map {
                HostileTable.change(0.99, $0, from: result.alone.times, to: result.attacked.times)
            }
            let median = HostileTable.change(0.5, .delivery, from: result.alone.times, to: result.attacked.times)
            return "| \(result.pattern.title) | \((cells + [median]).joined(separator: " | ")) | \(rates(result)) | "
                + "\(result.alone.failed), \(result.attacked.failed) | \(result.requests.answered), \(result.requests.succeeded) |"
        }
        let further = results.filter { !$0.pattern.settings.isEmpty }
            .map { "In the row of “\($0.pattern.title)”: " + HostileTable.line(of: $0.pattern.settings) }
        var lines = [HostileTable.line(of: settings)] + further
        lines += [
            "A hostile app at \(HostileAttack.address) beside one victim, whose app has one webhook; milliseconds alone → under attack, medians of "
                + "\(runs) runs of \(seconds) s. Events per second of a webhook while 5,000 wait.",
            "",
            "| An app … | " + operations.map { "\($0.rawValue), p99" }.joined(separator: " | ")
                + " | delivery, p50 | Events per second | Victim's failures, alone and under attack | Attackers' requests, of which taken |",
            "|---|" + String(repeating: "--:|", count: operations.count + 4),
        ]
        lines += times
        let withWebhooks = results.filter { $0.webhooks > 0 }
        if !withWebhooks.isEmpty { lines += [""] + disk(withWebhooks) }
        return lines + [""] + HostileTable.memory(first: "An app …", results.map { ($0.pattern, $0.memory) })
    }

    private static func disk(_ results: [Result]) -> [String] {
        let lines = [
            "Growth of the disk in MB during the attack, without the write-ahead log, and what waits for the hostile app's webhooks, of their budget.",
            "",
            "| An app … | Database | Tables of webhooks | Events that wait | Bytes in these tables for each request | Webhooks that became inactive |",
            "|---|--:|--:|--:|--:|--:|",
        ]
        return lines
            + results.map { result in
                let (growth, taken) = (result.growth, max(1, result.requests.succeeded))
                return "| \(result.pattern.title) | \(growth.database >> 20) | \(growth.webhooks >> 20) | "
                    + "\(growth.waiting >> 20) of \(result.budget >> 20) | \(growth.webhooks / taken) | \(result.inactive) of \(result.webhooks) |"
            }
    }

    private static func rates(_ result: Result) -> String {
        guard let alone = HostileTable.median(result.alone.rates),
            let attacked = HostileTable.median(result.attacked.rates)
        else { return "none" }
        return String(format: "%.0f → %.0f (%.2f ×)", alone, attacked, attacked / max(alone, 1))
    }
}
