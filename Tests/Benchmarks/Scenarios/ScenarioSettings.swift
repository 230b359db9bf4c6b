// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The settings that all scenarios share.
struct ScenarioSettings: Sendable {
    /// The number of runs of each variant, of which the median is printed.
    var runs = 3
    /// The length of a measurement in seconds.
    var seconds = 10.0
    /// The rates to measure; empty: those of the scenario.
    var rates: [Double] = []
    /// The modes to measure.
    var modes: Set<Mode> = Set(Mode.allCases)
    /// Operations of each sender in flight in a closed loop; nil: those of the scenario.
    var window: Int?
    /// The length of a message's text in bytes.
    var bytes = 400
    /// The number of connections of the storm and of idle connections; nil: those of the scenario.
    var connections: Int?
    /// The instances of services; services that are missing have one.
    var instances: [String: Int] = [:]
    var bounds = SaturationBounds()

    enum Mode: String, CaseIterable, Sendable { case rate, saturated }

    /// Returns the rates to measure.
    func rates(_ usual: [Double]) -> [Double] {
        guard modes.contains(.rate) else { return [] }
        return rates.isEmpty ? usual : rates
    }

    var isSaturated: Bool { modes.contains(.saturated) }
}

/// The surroundings of a scenario.
struct ScenarioContext: Sendable {
    let settings: ScenarioSettings
    let loops: LoadLoops
    /// The remote Strata; nil: each scenario starts a system of its own.
    let remote: LoadTarget?

    /// Runs a scenario against the remote Strata, or against a system that is started for it.
    /// - Parameter services: Additional settings of the services.
    func withTarget<Value>(
        services: [String: String] = [:], instances: [String: Int]? = nil,
        _ body: (LoadTarget) async throws -> Value
    ) async throws -> Value {
        if let remote { return try await body(remote) }
        let system = try await BenchSystem(settings: services, instances: instances ?? settings.instances)
        let result: Result<Value, any Error>
        do {
            let target = try LoadTarget(system)
            do {
                result = .success(try await body(target))
            } catch {
                result = .failure(error)
            }
            try await target.close()
        } catch {
            try? await system.stop()
            throw error
        }
        try await system.stop()
        return try result.get()
    }

    /// Runs a scenario with the broadcaster as its baseline; without one (nil) if the target is remote, because the
    /// network lies between.
    func withBroadcaster<Value>(_ body: (BaselineServer?) async throws -> Value) async throws -> Value {
        guard remote == nil else { return try await body(nil) }
        return try await withBaseline(.broadcaster, body)
    }

    /// Runs a scenario with a baseline.
    func withBaseline<Value>(
        _ kind: BaselineServer.Kind, _ body: (BaselineServer) async throws -> Value
    ) async throws -> Value {
        let server = try await BaselineServer.start(kind)
        return try await run(body, on: server) { await $0.stop() }
    }

    /// Runs a scenario with an XMPP server as a further baseline; without one (nil) if it is not wanted or not
    /// installed, or if the target is remote.
    func withXMPP<Value>(_ isWanted: Bool, _ body: (XMPPServer?) async throws -> Value) async throws -> Value {
        guard isWanted, remote == nil else { return try await body(nil) }
        guard let server = try await XMPPServer.start() else {
            Progress.print("no XMPP server, because ejabberd is not installed (apt-get install ejabberd)")
            return try await body(nil)
        }
        return try await run(body, on: server) { await $0.stop() }
    }

    /// Runs a scenario with a server, and stops the server, also after an error.
    private func run<Server, Value>(
        _ body: (Server) async throws -> Value, on server: Server, stop: (Server) async -> Void
    ) async throws -> Value {
        let result: Result<Value, any Error>
        do {
            result = .success(try await body(server))
        } catch {
            result = .failure(error)
        }
        await stop(server)
        return try result.get()
    }

    /// Throws if the target is remote, because the scenario reads its processes.
    func requireLocal(_ scenario: String) throws {
        guard remote == nil else { throw BenchProblem("\(scenario) needs a system of this machine, without --url") }
    }
}

/// One line of a scenario's table.
struct ScenarioVariant {
    var title: String
    var comparisons: [Comparison] = []
    /// Performs one run.
    var run: () async throws -> RunResult

    /// Performs the runs of all variants in turns, so that changes of the machine's speed affect all of them.
    static func interleave(_ variants: [ScenarioVariant], runs: Int) async throws -> [VariantReport] {
        var results: [[RunResult]] = Array(repeating: [], count: variants.count)
        for run in 0..<runs {
            for (index, variant) in variants.enumerated() {
                Progress.print("\(variant.title), run \(run + 1) of \(runs)")
                results[index].append(try await variant.run())
            }
        }
        return zip(variants, results).map { VariantReport(title: $0.title, runs: $1, comparisons: $0.comparisons) }
    }
}

/// The progress of long benchmarks, on standard error.
enum Progress {
    static func print(_ text: String) { FileHandle.standardError.write(Data("bench: \(text)\n".utf8)) }
}

/// The names of figures that several scenarios have.
enum FigureName {
    static let deliveries = "deliveries"
    static let processorTime = "CPU"
    static let operationTime = "CPU of an operation"
    static let statements = "statements"
    static let memory = "memory"
}

extension RunResult {
    /// Returns the result of a measurement of conversations.
    /// - Parameter operation: The name of an operation in the plural: "messages".
    init(_ run: RoomRun, operation: String, bounds: SaturationBounds) {
        let delivered = run.deliveries.delivered
        let saturation = bounds.problem(run.usage, isFixedRate: run.isFixedRate)
        let isLimited = saturation != nil
        figures =
            isLimited
            ? []
            : [
                Figure(operation, Double(run.operations) / run.seconds, "/s"),
                Figure(FigureName.deliveries, Double(delivered) / run.seconds, "/s"),
            ]
        if let cost = run.cost {
            services = cost.costs(units: delivered, operations: run.operations)
            let operations = Double(max(1, run.operations))
            figures += [
                Figure(FigureName.processorTime, cost.processorTime / Double(max(1, delivered)) * 1e6, "ms/1,000"),
                Figure(FigureName.operationTime, cost.processorTime / operations * 1e3, "ms"),
                Figure("switches", Double(cost.switches.voluntary) / operations, "voluntary"),
                Figure("and", Double(cost.switches.involuntary) / operations, "involuntary"),
            ]
        }
        if !isLimited { figures += Self.latencies(run.latency, "") + Self.latencies(run.answers, "answer ") }
        figures += Self.own(run.usage)
        generator = run.usage
        deliveries = run.deliveries
        problem = run.problem
        refuse(saturation, isFixedRate: run.isFixedRate)
    }

    /// Records that the generator was saturated.
    ///
    /// At a fixed rate all figures are invalid, because the load was another one. In a closed loop the caller leaves
    /// out rates and latencies, which would be the generator's own; the cost of an operation holds at any load.
    mutating func refuse(_ saturation: String?, isFixedRate: Bool) {
        guard let saturation else { return }
        if isFixedRate {
            problem = problem ?? saturation
        } else {
            note = "no rates and latencies, because \(saturation)"
        }
    }

    static func latencies(_ summary: LatencySummary?, _ prefix: String) -> [Figure] {
        guard let summary else { return [] }
        return [
            Figure("\(prefix)p50", summary.p50, "ms"), Figure("\(prefix)p99", summary.p99, "ms"),
            Figure("\(prefix)p99.9", summary.p999, "ms"), Figure("\(prefix)max", summary.max, "ms"),
        ]
    }

    /// Returns the figures of the generator itself.
    static func own(_ usage: GeneratorUsage) -> [Figure] {
        [
            Figure("generator", usage.processorTime / max(usage.seconds, 0.001) * 100, "% of a processor"),
            Figure("its lag p99", usage.lag, "ms"),
        ]
    }
}
