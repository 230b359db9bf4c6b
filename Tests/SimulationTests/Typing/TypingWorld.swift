// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import StrataModel

/// The typists, Redis, presence instances and gateways of one run.
final class TypingWorld {
    let simulation: Simulation
    let scenario: TypingScenario
    let redis: SimulatedRedis
    private(set) var typists: [SimulatedTypist] = []
    private var gateways: [TypingGateway] = []
    private var instances: [SweepingInstance] = []
    /// The last announcement of Redis for each typist, and its time.
    private var announced: [(action: TypingAction, at: Int64)]
    private(set) var isQuiet = false
    var counts: [String: Int] = [:]

    static func run(
        _ seed: UInt64, sabotage: TypingScenario.Sabotage? = nil, follow: ((String) -> Void)? = nil
    ) -> RunReport {
        let simulation = Simulation(seed: seed)
        simulation.follow = follow
        let world = TypingWorld(simulation, TypingScenario(simulation, sabotage: sabotage))
        defer { (world.typists, world.gateways, world.instances) = ([], [], []) }
        return world.run()
    }

    private init(_ simulation: Simulation, _ scenario: TypingScenario) {
        self.simulation = simulation
        self.scenario = scenario
        redis = SimulatedRedis(simulation, scenario.settings, typists: scenario.typists, shards: scenario.shards)
        announced = Array(repeating: (.finished, 0), count: scenario.typists)
        let conversation = ConversationID(rawValue: UUID(uuid: (4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4)))
        typists = (0..<scenario.typists).map { SimulatedTypist($0, conversation, self) }
        gateways = (0..<scenario.gateways).map { TypingGateway($0, self) }
        instances = (0..<scenario.instances).map { SweepingInstance($0, self) }
        redis.publish = { [unowned self] in publish($0, $1) }
    }

    private func run() -> RunReport {
        for typist in typists { typist.plan() }
        for instance in instances { instance.plan() }
        planFault()
        let end = simulation.now + scenario.duration
        simulation.run(until: end)
        isQuiet = true
        redis.isAway = false
        simulation.run(until: end + scenario.quiet)
        if simulation.violations.isEmpty { for gateway in gateways { gateway.judgeAll() } }
        var digest = Digest()
        for gateway in gateways { digest.add(Int64(bitPattern: gateway.digest.value)) }
        digest.add(Int64(simulation.steps))
        return RunReport(
            seed: simulation.seed, steps: simulation.steps, violations: simulation.violations,
            lastEvents: simulation.lastEvents,
            digest: digest.value, counts: counts)
    }

    private func publish(_ typist: Int, _ action: TypingAction) {
        counts["announced", default: 0] += 1
        judge(typist, action)
        announced[typist] = (action, simulation.now)
        for gateway in gateways {
            guard !simulation.chance(scenario.lost) else {
                gateway.lost(typist)
                continue
            }
            // A single connection preserves the order.
            simulation.after(300, .init(what: "announcement at gateway, of typist", a: gateway.number, b: typist)) {
                gateway.received(typist, action)
            }
        }
    }

    /// Checks that each transition is announced once, and that an unchanged state is not repeated too often.
    private func judge(_ typist: Int, _ action: TypingAction) {
        let last = announced[typist]
        guard action == last.action, redis.disturbedAt < last.at else { return }
        if action == .finished { simulation.violated("that typist \(typist) has finished was announced twice") }
        if simulation.now - last.at < 2_400_000 {
            simulation.violated("that typist \(typist) has \(action) was announced twice")
        }
    }

    // MARK: Faults

    private func planFault() {
        guard scenario.faultPace < .max / 8 else { return }
        simulation.after(simulation.span(0...2 * scenario.faultPace), "a fault of Redis") { [self] in
            guard !isQuiet else { return }
            fault()
            planFault()
        }
    }

    private func fault() {
        counts["faults", default: 0] += 1
        switch simulation.int(0...3) {
        case 0: redis.restartEmpty()
        case 1: redis.jump(by: simulation.span(-90_000_000...90_000_000))
        default:
            redis.isAway = true
            redis.disturbed()
            let isEmpty = simulation.chance(500)
            simulation.after(simulation.span(100_000...30_000_000), "Redis is back") { [self] in
                redis.isAway = false
                if isEmpty { redis.restartEmpty() } else { redis.disturbed() }
            }
        }
    }
}
