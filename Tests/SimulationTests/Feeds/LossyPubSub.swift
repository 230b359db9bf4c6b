// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// Redis pub/sub between the services and the gateways. It loses, doubles, delays and reorders publications,
/// disconnects and reconnects, and confirms subscriptions late.
final class LossyPubSub {
    enum Channel: Hashable {
        case conversation(Int)
        case user(Int)
    }

    enum Publication {
        case change(Change)
        case signal(Int)
        case notice(UserNotice.Content)
    }

    private struct Link {
        var isUp = true
        /// The number of lost connections. It identifies publications in transit to a lost connection.
        var generation = 0
        var wanted: Set<Channel> = []
        var confirmed: Set<Channel> = []
        var waiting: [(number: Int, channels: Set<Channel>, body: () -> Void)] = []
        var isRecovering = false
    }

    private let simulation: Simulation
    private let scenario: FeedScenario
    private var links: [Link]
    private var waits = 0
    /// True if the publishing services have lost Redis, so that all their publications are dropped.
    var areServicesAway = false
    var deliver: (_ gateway: Int, Channel, Publication) -> Void = { _, _, _ in }
    var recovered: (_ gateway: Int) -> Void = { _ in }
    var isQuiet = false

    init(_ simulation: Simulation, _ scenario: FeedScenario) {
        self.simulation = simulation
        self.scenario = scenario
        links = Array(repeating: Link(), count: scenario.gateways)
    }

    func isAvailable(_ gateway: Int) -> Bool { links[gateway].isUp && !links[gateway].isRecovering }

    // MARK: Publishing

    func publish(_ publication: Publication, on channel: Channel) {
        var publication = publication
        if scenario.sabotage == .blocksForgotten, case .change(var change) = publication {
            change.hiddenFrom = []
            publication = .change(change)
        }
        let published = publication
        // The service publishes after its commit, with a delay.
        simulation.after(delay, "published") { [self] in
            guard !areServicesAway else { return }
            for gateway in links.indices where links[gateway].isUp && links[gateway].confirmed.contains(channel) {
                guard !simulation.chance(isQuiet ? 0 : scenario.lost) else { continue }
                let copies = simulation.chance(scenario.doubled) ? 2 : 1
                for _ in 0..<copies { send(published, on: channel, to: gateway) }
            }
        }
    }

    private var delay: Int64 {
        simulation.chance(scenario.slow) ? simulation.span(5000...400_000) : simulation.span(100...4000)
    }

    private func send(_ publication: Publication, on channel: Channel, to gateway: Int) {
        let generation = links[gateway].generation
        simulation.after(delay, .init(what: "publication arrives at gateway", a: gateway)) { [self] in
            guard links[gateway].generation == generation, links[gateway].confirmed.contains(channel) else { return }
            deliver(gateway, channel, publication)
        }
    }

    // MARK: Subscribing

    func subscribe(_ channel: Channel?, _ gateway: Int) {
        guard let channel else { return simulation.violated("an unknown channel was subscribed") }
        links[gateway].wanted.insert(channel)
        guard links[gateway].isUp else { return }
        confirm([channel], gateway, after: delay)
    }

    func unsubscribe(_ channel: Channel?, _ gateway: Int) {
        guard let channel else { return simulation.violated("an unknown channel was left") }
        links[gateway].wanted.remove(channel)
        links[gateway].confirmed.remove(channel)
    }

    private func confirm(_ channels: Set<Channel>, _ gateway: Int, after delay: Int64) {
        let generation = links[gateway].generation
        simulation.after(delay, .init(what: "subscribed gateway", a: gateway)) { [self] in
            guard links[gateway].generation == generation, links[gateway].isUp else { return }
            links[gateway].confirmed.formUnion(channels.intersection(links[gateway].wanted))
            let ready = links[gateway].waiting.filter { $0.channels.isSubset(of: links[gateway].confirmed) }
            links[gateway].waiting.removeAll { wait in ready.contains { $0.number == wait.number } }
            for wait in ready { wait.body() }
            if links[gateway].isRecovering, links[gateway].wanted.isSubset(of: links[gateway].confirmed) {
                links[gateway].isRecovering = false
                recovered(gateway)
            }
        }
    }

    /// Calls `body` when all these channels are subscribed: immediately if the connection is down, and after two
    /// seconds at the latest.
    func confirmation(of channels: Set<Channel>, _ gateway: Int, _ body: @escaping () -> Void) {
        guard isAvailable(gateway), !channels.isSubset(of: links[gateway].confirmed) else { return body() }
        waits += 1
        let number = waits
        links[gateway].waiting.append((number, channels, body))
        simulation.after(2_000_000, .init(what: "waited long enough for subscriptions at gateway", a: gateway)) {
            [self] in
            guard let index = links[gateway].waiting.firstIndex(where: { $0.number == number }) else { return }
            links[gateway].waiting.remove(at: index).body()
        }
    }

    // MARK: Faults

    func lose(_ gateway: Int) {
        guard links[gateway].isUp else { return }
        links[gateway].isUp = false
        links[gateway].generation += 1
        links[gateway].confirmed = []
    }

    func restore(_ gateway: Int) {
        guard !links[gateway].isUp else { return }
        links[gateway].isUp = true
        links[gateway].isRecovering = true
        confirm(links[gateway].wanted, gateway, after: delay)
    }
}
