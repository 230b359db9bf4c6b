// SPDX-License-Identifier: Apache-2.0
import Contracts
import SeededRandom
import StrataModel

@testable import FanOut
@testable import Gateway

/// The services, network, gateways and clients of one run, which is confined to the thread of its seed.
final class FeedWorld: @unchecked Sendable {
    let simulation: Simulation
    let scenario: FeedScenario
    let log: LogService
    let pubSub: LossyPubSub
    /// The channels by their names in the fan-out.
    let channels: [String: LossyPubSub.Channel]
    private(set) var gateways: [SimulatedGateway] = []
    private var clients: [SimulatedClient] = []
    private var sockets = 0
    private var isServiceAway = false
    /// True if the service answers requests for heads, but not for log entries.
    private var areLogsAway = false
    private(set) var isQuiet = false
    /// True if clients no longer open connections.
    private(set) var isOver = false
    var counts: [String: Int] = [:]

    static func run(
        _ seed: UInt64, sabotage: FeedScenario.Sabotage? = nil, isReliable: Bool = false, isPlain: Bool = false,
        focused: FeedScenario.Sabotage? = nil, isLate: Bool = false, follow: ((String) -> Void)? = nil
    ) -> RunReport {
        let simulation = Simulation(seed: seed)
        simulation.follow = follow
        let scenario = FeedScenario(
            simulation, sabotage: sabotage, isReliable: isReliable, isPlain: isPlain, focused: focused, isLate: isLate)
        let world = FeedWorld(simulation, scenario)
        defer { world.end() }
        return world.run()
    }

    private init(_ simulation: Simulation, _ scenario: FeedScenario) {
        self.simulation = simulation
        self.scenario = scenario
        simulation.stalls = scenario.stalls
        log = LogService(simulation, scenario)
        pubSub = LossyPubSub(simulation, scenario)
        let ofConversations = log.ids.enumerated()
            .map { (Channels.conversation($1), LossyPubSub.Channel.conversation($0)) }
        let ofUsers = log.keys.enumerated()
            .map { (Channels.user(app: $1.app, user: $1.user), LossyPubSub.Channel.user($0)) }
        channels = Dictionary(uniqueKeysWithValues: ofConversations + ofUsers)
        gateways = (0..<scenario.gateways).map { SimulatedGateway($0, self) }
        clients = (0..<scenario.users * scenario.clientsPerUser)
            .map { SimulatedClient($0, user: $0 % scenario.users, self) }
        pubSub.deliver = { [unowned self] gateway, channel, publication in
            gateways[gateway].received(publication, on: channel)
        }
        pubSub.recovered = { [unowned self] in gateways[$0].fanOut.subscriberDidRecover() }
    }

    private func run() -> RunReport {
        for index in 0..<scenario.conversations {
            let everybody = UInt64(1) << UInt64(scenario.users) - 1
            var members = simulation.random.next() & everybody
            if members == 0 || scenario.membershipShare == 0 { members = everybody }
            _ = log.create(index, members: members)
        }
        for client in clients {
            simulation.after(simulation.span(0...5_000_000), .init(what: "client begins", a: client.number)) {
                client.connect()
            }
        }
        planAct()
        planFault()
        if scenario.isReliable { planLook() }
        let end = simulation.now + scenario.duration
        simulation.run(until: end)
        becomeQuiet()
        // A client with a long catch-up needs time.
        for _ in 0..<10 where simulation.violations.isEmpty {
            simulation.run(until: simulation.now + scenario.quiet)
            if clients.allSatisfy(\.isSettled) { break }
        }
        if simulation.violations.isEmpty { for client in clients { client.judgeAll() } }
        var digest = Digest()
        for client in clients { digest.add(Int64(bitPattern: client.digest.value)) }
        digest.add(Int64(simulation.steps))
        return RunReport(
            seed: simulation.seed, steps: simulation.steps, violations: simulation.violations,
            lastEvents: simulation.lastEvents,
            digest: digest.value, counts: counts)
    }

    /// Takes the world apart: loops come to rest, and reference cycles are broken.
    private func end() {
        becomeQuiet()
        isOver = true
        for client in clients { client.end() }
        for gateway in gateways { gateway.stop() }
        simulation.drain()
        for gateway in gateways { gateway.forgetRegistries() }
        simulation.drain()
    }

    func nextSocket() -> Int {
        sockets += 1
        return sockets
    }

    private func planLook() {
        simulation.after(1_000_000, "clients are looked at") { [self] in
            for client in clients { client.judgeDelay() }
            if !isQuiet { planLook() }
        }
    }

    // MARK: Calls

    /// Simulates a call to the conversations service. It takes time, and may fail before or after its execution.
    func call<Answer>(
        from services: SimulatedServices, _ what: StaticString, isForHeads: Bool = false,
        _ body: @escaping (LogService) -> Answer,
        then: @escaping (Answer?) -> Void
    ) {
        simulation.after(latency, .init(what: what, a: services.gateway)) { [self] in
            if isServiceAway || (areLogsAway && !isForHeads) || services.isCutOff
                || (!isQuiet && simulation.chance(scenario.failingCalls))
            {
                counts["failed calls", default: 0] += 1
                return simulation.after(simulation.chance(500) ? 2000 : 5_000_000, "call has failed") { then(nil) }
            }
            let answer = body(log)
            simulation.after(latency, .init(what: "answer to gateway", a: services.gateway)) { then(answer) }
        }
    }

    private var latency: Int64 {
        simulation.chance(20) ? simulation.span(20_000...1_500_000) : simulation.span(200...3000)
    }

    // MARK: User actions

    private func planAct() {
        simulation.after(simulation.span(0...2 * scenario.pace), "a user acts") { [self] in
            guard !isQuiet else { return }
            act()
            planAct()
        }
    }

    private func act() {
        let conversation = simulation.int(0...scenario.conversations - 1)
        let user = simulation.int(0...scenario.users - 1)
        let kind = simulation.int(0...999)
        if kind < scenario.membershipShare {
            let change = log.change(membershipOf: user, in: conversation, by: simulation.int(0...scenario.users - 1))
            pubSub.publish(.change(change), on: .conversation(conversation))
            if case .participantsChanged(let added, _, _, _) = change.content, !added.isEmpty {
                pubSub.publish(.notice(.added(log.ids[conversation], position: change.position)), on: .user(user))
            }
        } else if kind < scenario.membershipShare + scenario.ownShare {
            let entry = log.addOwnEntry(of: user)
            // For some entries only the position is published.
            let isLogged = simulation.chance(100)
            pubSub.publish(
                .notice(isLogged ? .logged(entry.position, at: entry.createdAt) : .change(entry)), on: .user(user))
        } else if kind < scenario.membershipShare + scenario.ownShare + scenario.signalShare {
            pubSub.publish(.signal(user), on: .conversation(conversation))
        } else if kind < scenario.membershipShare + scenario.ownShare + scenario.signalShare + scenario.hideShare {
            guard let entry = log.hideOrShow(conversation, for: user) else { return }
            counts["hidden and shown", default: 0] += 1
            pubSub.publish(.notice(.change(entry)), on: .user(user))
        } else {
            let burst = simulation.chance(20) ? simulation.int(2...60) : 1
            for _ in 0..<burst {
                // Users who are not participants do nothing, and an action without an effect is not a change.
                let change = scenario.hasCounts ? log.act(user, in: conversation) : log.send(user, to: conversation)
                if let change { pubSub.publish(.change(change), on: .conversation(conversation)) }
            }
        }
    }

    // MARK: Faults

    private func planFault() {
        guard scenario.faultPace < .max / 8 else { return }
        simulation.after(simulation.span(0...2 * scenario.faultPace), "a fault") { [self] in
            guard !isQuiet else { return }
            fault()
            planFault()
        }
    }

    private func fault() {
        let gateway = simulation.int(0...gateways.count - 1)
        let client = clients[simulation.int(0...clients.count - 1)]
        let length = simulation.span(10_000...scenario.longestFault)
        switch simulation.int(scenario.faults) {
        case 0:
            lose(gateway)
            until(length, .init(what: "pub/sub returns to gateway", a: gateway)) { $0.pubSub.restore(gateway) }
        case 1:
            pubSub.areServicesAway = true
            until(length, "services find Redis again") { $0.pubSub.areServicesAway = false }
        case 2:
            isServiceAway = true
            until(length, "the log is back") { $0.isServiceAway = false }
        case 3:
            gateways[gateway].services.isCutOff = true
            until(length, .init(what: "the log can be reached again by gateway", a: gateway)) {
                $0.gateways[gateway].services.isCutOff = false
            }
        case 4:
            gateways[gateway].services.isCutOff = true
            lose(gateway)
            until(length, .init(what: "all can be reached again by gateway", a: gateway)) {
                $0.gateways[gateway].services.isCutOff = false
                $0.pubSub.restore(gateway)
            }
        case 5:
            client.stopReading(true)
            until(length, .init(what: "reads again: client", a: client.number)) { _ in client.stopReading(false) }
        case 6: client.disconnect()
        // A ledger cannot recognize the start of a replay on a live socket. The clients of the fault tests request
        // none.
        case 7: if !scenario.hasLedgers { client.replay() }
        default:
            areLogsAway = true
            until(length, "logs can be read again") { $0.areLogsAway = false }
        }
    }

    private func lose(_ gateway: Int) {
        pubSub.lose(gateway)
        gateways[gateway].fanOut.subscriberDidLoseConnection()
    }

    private func until(_ length: Int64, _ label: Simulation.Label, _ body: @escaping (FeedWorld) -> Void) {
        simulation.note(.init(what: "begins the fault that ends with:"))
        simulation.note(label)
        simulation.after(length, label) { [unowned self] in body(self) }
    }

    /// Ends all faults and all activity of users.
    private func becomeQuiet() {
        isQuiet = true
        isServiceAway = false
        areLogsAway = false
        pubSub.isQuiet = true
        pubSub.areServicesAway = false
        for gateway in gateways {
            gateway.services.isCutOff = false
            pubSub.restore(gateway.index)
        }
        for client in clients { client.stopReading(false) }
    }
}
