// SPDX-License-Identifier: Apache-2.0
import Foundation
import LocalServers
import ProtocolClient
import StrataCommand
import TestCluster

/// Chat on many machines beside chat on few. Machines are network namespaces (``VirtualNetwork``).
enum MachinesScenario {
    /// The reason why this machine or user has no network for machines; nil if they have.
    static let obstacle = VirtualNetwork.obstacle

    private static let usualRates = [500.0, 1000, 2000]
    private static let window = 2
    private static let apps = 4

    /// A system to measure.
    private struct Topology {
        let title: String
        let size: Cluster.Size

        /// - Parameters:
        ///   - isOnMachines: True if each process has a machine; false: all of them share this one.
        ///   - databases: The number of databases, and of PostgreSQL servers.
        init(_ title: String, gateways: Int, services: Int, databases: Int, redis: Int, isOnMachines: Bool) {
            self.title = title
            var size = Cluster.Size(
                gateways: gateways, conversations: services, metadata: services, presence: services,
                webhooks: services,
                settings: BenchSystem.noLimits.merging(["STRATA_LOG_LEVEL": "warning"]) { $1 })
            size.databases = databases
            size.isDurable = true
            if isOnMachines {
                size.facilities = [.network]
                size.machines = Cluster.Size.Machines(redis: redis)
            }
            self.size = size
        }
    }

    private static let topologies = [
        Topology(
            "one of each, one machine", gateways: 1, services: 1, databases: 1, redis: 1, isOnMachines: false),
        Topology("one of each, 7 machines", gateways: 1, services: 1, databases: 1, redis: 1, isOnMachines: true),
        Topology("many, 16 machines", gateways: 3, services: 2, databases: 2, redis: 3, isOnMachines: true),
    ]

    /// A rate, or saturation.
    private struct Step {
        let title: String
        let mode: LoadMode
        /// The figure that is compared with those of the topologies before.
        let figure: String
    }

    /// - Parameter folder: The folder of the plot; nil: no plot is written.
    static func run(_ context: ScenarioContext, plots folder: String?) async throws -> ScenarioReport {
        try context.requireLocal("machines")
        if let obstacle { throw BenchProblem("machines cannot be measured: the network between them \(obstacle)") }
        let plan = RoomPlan(rooms: 40, members: 5, senders: 5, bytes: context.settings.bytes, isSpread: true)
        let steps = steps(plan, context.settings)
        var results = topologies.map { _ in steps.map { _ in [RunResult]() } }
        for run in 1...context.settings.runs {
            // The systems run in turns, because even at rest they would disturb each other.
            for (index, topology) in topologies.enumerated() {
                Progress.print("\(topology.title), run \(run) of \(context.settings.runs)")
                for (step, result) in try await measure(topology, steps, plan, context).enumerated() {
                    results[index][step].append(result)
                }
            }
        }
        let report = report(steps, results)
        if let folder, let plot = plot(report, steps) {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try plot.svg.write(toFile: "\(folder)/machines.svg", atomically: true, encoding: .utf8)
        }
        return report
    }

    private static func steps(_ plan: RoomPlan, _ settings: ScenarioSettings) -> [Step] {
        let rates = settings.rates(usualRates)
            .map { rate in
                Step(
                    title: "\(Report.text(rate)) deliveries/s", mode: .rate(rate / Double(plan.members)),
                    figure: FigureName.processorTime)
            }
        guard settings.isSaturated else { return rates }
        let mode = LoadMode.closed(window: settings.window ?? window)
        return rates + [Step(title: "saturated", mode: mode, figure: FigureName.deliveries)]
    }

    // MARK: Measurements

    /// Starts a system, and measures all steps on it.
    private static func measure(
        _ topology: Topology, _ steps: [Step], _ plan: RoomPlan, _ context: ScenarioContext
    ) async throws -> [RunResult] {
        var results: [RunResult] = []
        try await Cluster.with(topology.size) { cluster in
            let targets = try await targets(cluster, plan)
            let addresses = try cluster.urls.map { try LoadAddress(url: $0, certificates: nil, acceptsAny: false) }
            let server = AppsTarget(
                targets, members: plan.members, addresses: addresses, processes: await processes(of: cluster))
            let load = try await RoomLoad.open(server, plan, .messages, on: context.loops)
            for step in steps {
                try await load.warmUp(step.mode)
                let before = cluster.surroundings.network?.processorTime
                let run = try await load.measure(step.mode, seconds: context.settings.seconds)
                var result = RunResult(run, operation: "messages", bounds: context.settings.bounds)
                if let before, let after = cluster.surroundings.network?.processorTime {
                    let share = (after - before) / max(run.usage.seconds, 0.001) * 100
                    result.figures.append(Figure("the network, within the generator", share, "% of a processor"))
                }
                results.append(result)
            }
            try await load.close()
            for target in targets { try await target.close() }
            for process in cluster.processes where await process.pid == nil {
                throw BenchProblem("\(process.name) has ended")
            }
        }
        return results
    }

    /// Makes the apps, in the databases in turn, with signed-in users.
    private static func targets(_ cluster: Cluster, _ plan: RoomPlan) async throws -> [LoadTarget] {
        var targets: [LoadTarget] = []
        for number in 0..<apps {
            let database = cluster.databases.urls[number % cluster.databases.urls.count]
            let app = try await cluster.app(in: database)
            let prefix = "bench-token-\(number)-"
            try await BenchSystem.signIn(
                plan.users, prefix: LoadTarget.remotePrefix, to: app.app.id, tokenPrefix: prefix, in: database)
            let remote = LoadTarget.RemoteApp(
                url: cluster.urls[0], id: app.app.id, provider: app.app.providerID, keyID: app.app.keyID,
                privateKey: app.privateKey, trust: .system)
            targets.append(
                try LoadTarget(
                    remote, address: LoadAddress(url: cluster.urls[0], certificates: nil, acceptsAny: false),
                    tokens: (0..<plan.users).map { "\(prefix)\($0)" }))
        }
        return targets
    }

    private static func processes(of cluster: Cluster) async -> [String: Set<Int>] {
        var processes: [String: Set<Int>] = [:]
        for process in cluster.processes {
            if let pid = await process.pid { processes[process.kind.rawValue, default: []].insert(Int(pid)) }
        }
        for server in cluster.servers.postgres {
            processes["postgres", default: []].insert(Int(await server.process.pid))
        }
        for server in cluster.servers.redis { processes["redis", default: []].insert(Int(await server.process.pid)) }
        return processes
    }

    // MARK: Report

    private static func title(_ topology: Topology, _ step: Step) -> String { "\(topology.title), \(step.title)" }

    private static func report(_ steps: [Step], _ results: [[[RunResult]]]) -> ScenarioReport {
        var variants: [VariantReport] = []
        for (number, step) in steps.enumerated() {
            for (index, topology) in topologies.enumerated() {
                variants.append(
                    VariantReport(
                        title: title(topology, step), runs: results[index][number],
                        comparisons: topologies[..<index].map { Comparison(step.figure, to: title($0, step)) }))
            }
        }
        return ScenarioReport(name: "chat on many machines", unit: "1,000 deliveries", variants: variants)
    }

    /// Returns the plot of the processor time against the deliveries; nil if a variant has no figures.
    private static func plot(_ report: ScenarioReport, _ steps: [Step]) -> LinePlot? {
        var series: [LinePlot.Series] = []
        for topology in topologies {
            let points = steps.compactMap { step -> (x: Double, y: Double)? in
                guard let variant = report.variants.first(where: { $0.title == title(topology, step) }),
                    let x = variant.median(FigureName.deliveries), let y = variant.median(FigureName.processorTime)
                else { return nil }
                return (x, y)
            }
            guard points.count == steps.count else { return nil }
            series.append(LinePlot.Series(name: topology.title, points: points.sorted { $0.x < $1.x }))
        }
        return LinePlot(
            title: report.name, xLabel: "deliveries per second", yLabel: "CPU in ms for \(report.unit)",
            isLogarithmic: true, series: series)
    }
}

extension VariantReport {
    /// Returns the median of a figure; nil if the variant is invalid or has none of this name.
    fileprivate func median(_ name: String) -> Double? {
        problem == nil ? medians.first { $0.name == name }?.value : nil
    }
}
