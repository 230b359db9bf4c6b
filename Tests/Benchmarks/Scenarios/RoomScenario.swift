// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A scenario of operations that a conversation's participants receive: chat, fan-out and typing.
struct RoomScenario: Sendable {
    var name: String
    var plan: RoomPlan
    /// The kind of operation.
    var kind: Kind
    /// The usual rates in deliveries per second.
    var rates: [Double]
    /// Operations of each sender in flight in a closed loop.
    var window: Int
    /// True if an XMPP server gets the same load, if it is installed.
    var hasXMPP = false

    /// The services whose memory is shown: those that could grow with the load.
    private static let services: Set = ["gateway", "conversations", "metadata", "presence"]

    enum Kind: Sendable {
        case messages, typing, metadata

        var operation: String {
            switch self {
            case .messages: "messages"
            case .typing: "signals"
            case .metadata: "patches"
            }
        }
    }

    /// 200 users in conversations of five.
    static func chat(_ settings: ScenarioSettings) -> RoomScenario {
        RoomScenario(
            name: "chat", plan: RoomPlan(rooms: 40, members: 5, senders: 5, bytes: settings.bytes), kind: .messages,
            rates: [1000, 10_000], window: 2, hasXMPP: true)
    }

    /// One sender and 250 participants in each of four conversations, 10 messages per second each.
    static func fanOut(_ settings: ScenarioSettings) -> RoomScenario {
        RoomScenario(
            name: "fan-out 1 → 250", plan: RoomPlan(rooms: 4, members: 250, senders: 1, bytes: settings.bytes),
            kind: .messages, rates: [10_000], window: 4)
    }

    /// 200 users in conversations of five, who begin and pause to type.
    static func typing() -> RoomScenario {
        RoomScenario(
            name: "typing", plan: RoomPlan(rooms: 40, members: 5, senders: 5, bytes: 100), kind: .typing,
            rates: [800, 8000], window: 1)
    }

    /// 200 users in conversations of five, who set a key of the metadata over REST: 1,000 patches per second.
    static func metadata() -> RoomScenario {
        RoomScenario(
            name: "metadata over REST", plan: RoomPlan(rooms: 40, members: 5, senders: 5, bytes: 100),
            kind: .metadata, rates: [5000], window: 1)
    }

    /// Measures the scenario beside its baselines. Without a system of this machine there are none, because the network
    /// lies between.
    func run(_ context: ScenarioContext) async throws -> ScenarioReport {
        try await context.withTarget { target in
            try await context.withBroadcaster { broadcaster in
                try await context.withXMPP(hasXMPP) { xmpp in
                    try await run(context, target, broadcaster, xmpp)
                }
            }
        }
    }

    private func run(
        _ context: ScenarioContext, _ target: LoadTarget, _ broadcaster: BaselineServer?, _ xmpp: XMPPServer?
    ) async throws -> ScenarioReport {
        let dialect = dialect(target)
        let load = try await RoomLoad.open(target, plan, dialect, on: context.loops)
        var others: [(name: String, load: RoomLoad)] = []
        if let broadcaster {
            let echoing = LoadDialect.broadcast(includesSender: dialect.includesSender)
            others.append(("broadcaster", try await RoomLoad.open(broadcaster, plan, echoing, on: context.loops)))
        }
        if let xmpp { others.append(("XMPP server", try await RoomLoad.open(xmpp, plan, .xmpp, on: context.loops))) }
        var variants: [ScenarioVariant] = []
        for rate in context.settings.rates(rates) {
            let title = "\(Report.text(rate)) deliveries/s"
            variants += group(title, .rate(rate / receivers(dialect)), load, others, context.settings)
        }
        if context.settings.isSaturated {
            let mode = LoadMode.closed(window: context.settings.window ?? window)
            variants += group("saturated", mode, load, others, context.settings)
            variants += try await statements(target, context.settings)
        }
        let reports = try await ScenarioVariant.interleave(variants, runs: context.settings.runs)
        try await load.close()
        for other in others { try await other.load.close() }
        try target.system?.checkProcesses()
        return ScenarioReport(name: name, unit: "1,000 deliveries", variants: reports)
    }

    private func dialect(_ target: LoadTarget) -> LoadDialect {
        switch kind {
        case .messages: .messages
        case .typing: .typing(userPrefix: target.userPrefix)
        case .metadata: .metadata
        }
    }

    private func receivers(_ dialect: LoadDialect) -> Double { Double(plan.members - (dialect.includesSender ? 0 : 1)) }

    /// The title of the variant of `pgbench`; nil: operations are not stored.
    private var statement: String? {
        switch kind {
        case .messages: "pgbench, send_message"
        case .metadata: "pgbench, metadata.patch"
        case .typing: nil
        }
    }

    /// Returns the variants of one mode: Strata, and the other servers.
    private func group(
        _ title: String, _ mode: LoadMode, _ load: RoomLoad, _ others: [(name: String, load: RoomLoad)],
        _ settings: ScenarioSettings
    ) -> [ScenarioVariant] {
        let figures = [FigureName.processorTime] + (mode.isFixedRate ? [] : [FigureName.deliveries])
        var comparisons = others.flatMap { other in figures.map { Comparison($0, to: "\(other.name), \(title)") } }
        if !mode.isFixedRate, let statement {
            comparisons.append(Comparison(kind.operation, to: statement, baselineFigure: FigureName.statements))
        }
        let system = (load.server as? LoadTarget)?.system
        let own = ScenarioVariant(title: title, comparisons: comparisons) {
            var result = try await measure(load, mode, settings)
            for (service, bytes) in (system?.residentMemory ?? [:]).sorted(by: { $0.key < $1.key })
            where Self.services.contains(service) {
                result.figures.append(Figure("memory of \(service)", Double(bytes) / 1_048_576, "MB"))
            }
            return result
        }
        return [own]
            + others.map { other in
                ScenarioVariant(title: "\(other.name), \(title)") { try await measure(other.load, mode, settings) }
            }
    }

    private func measure(_ load: RoomLoad, _ mode: LoadMode, _ settings: ScenarioSettings) async throws -> RunResult {
        try await load.warmUp(mode)
        let run = try await load.measure(mode, seconds: settings.seconds)
        return RunResult(run, operation: kind.operation, bounds: settings.bounds)
    }

    /// Returns the variant of `pgbench` with the statement of the saturated load.
    private func statements(_ target: LoadTarget, _ settings: ScenarioSettings) async throws -> [ScenarioVariant] {
        guard let system = target.system, let statement else { return [] }
        var plan = plan
        plan.firstUser += plan.users
        let baseline = StatementBaseline(
            kind == .messages ? .message(bytes: plan.bytes) : .patch, system, plan, try await target.makeRooms(plan))
        return [ScenarioVariant(title: statement) { try await baseline.run(seconds: settings.seconds) }]
    }
}
