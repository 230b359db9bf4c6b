// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import TestSupport
import Testing

@testable import Redis

struct ClusterSubscriptionTests {
    private let left = RedisEndpoint(host: "left", port: 1)
    private let right = RedisEndpoint(host: "right", port: 2)

    /// Returns a map with slots below 8192 at `left` and the others at `right`, except those in `moved`.
    private func map(_ moved: [UInt16: RedisEndpoint] = [:]) -> SlotMap {
        var map = SlotMap()
        for slot in 0..<UInt16(HashSlot.count) { map.assign(slot, to: moved[slot] ?? (slot < 8192 ? left : right)) }
        return map
    }

    /// Names whose slots are served by `left` and by `right`.
    private let low = "low{b}"
    private let high = "high{a}"

    private func connected(_ names: [String]) -> SubscriptionStateMachine {
        var machine = SubscriptionStateMachine()
        _ = machine.setRouting(.cluster(map()))
        _ = machine.subscribe(names)
        for case .open(let link) in machine.takeCommands(batch: 100).actions { _ = machine.linkOpened(link) }
        return machine
    }

    private func confirmAll(_ machine: inout SubscriptionStateMachine) -> [SubscriptionStateMachine.Action] {
        var actions: [SubscriptionStateMachine.Action] = []
        for outgoing in machine.takeCommands(batch: 100).commands {
            guard case .subscribe(let names) = outgoing.command else { continue }
            for name in names { actions += machine.subscribed(name, on: outgoing.link) }
        }
        return actions
    }

    private func link(
        _ machine: SubscriptionStateMachine, _ endpoint: RedisEndpoint
    ) throws -> SubscriptionStateMachine.Link {
        try #require(machine.linkIndex[endpoint])
    }

    @Test func theTagsAreWhereTheTestsWantThem() {
        #expect(HashSlot.of(low) < 8192 && HashSlot.of(high) >= 8192)
    }

    @Test("one command has channels of one slot, and connections open on demand")
    func grouping() throws {
        var machine = connected(["1{b}", "2{b}", low, high, "x"])
        let commands = machine.takeCommands(batch: 100).commands
        for outgoing in commands {
            guard case .subscribe(let names) = outgoing.command else { return #expect(Bool(false)) }
            let slots = Set(names.map { HashSlot.of($0) })
            #expect(slots.count == 1)
            #expect(machine.links[Int(outgoing.link)].endpoint == slots.first.map { $0 < 8192 ? left : right })
        }
        #expect(commands.count == Set(["1{b}", high, "x"].map { HashSlot.of($0) }).count)
    }

    @Test func movedSubscriptionsFollow() throws {
        var machine = connected([low])
        _ = machine.takeCommands(batch: 9)
        let from = try link(machine, left)
        let slot = HashSlot.of(low)
        let actions = machine.refused(RedisServerError(text: "MOVED \(slot) right:2"), on: from)
        #expect(actions == [.moved(slot: slot, right)])
        machine.slotMoved(slot, to: right)
        let needed = machine.takeCommands(batch: 9)
        let to = try link(machine, right)
        #expect(needed.actions == [.open(to)])
        _ = machine.linkOpened(to)
        #expect(machine.takeCommands(batch: 9).commands == [.init(link: to, command: .subscribe([low]))])
        #expect(machine.subscribed(low, on: to) == [.didConfirm(low)])
    }

    @Test("redirects between two servers in circles are retried with a delay")
    func movedInCircles() throws {
        var machine = connected([low])
        let slot = HashSlot.of(low)
        var rounds = 0
        while let outgoing = machine.takeCommands(batch: 9).commands.first, rounds < 1000 {
            rounds += 1
            let error = RedisServerError(text: "MOVED \(slot) left:1")
            let actions = machine.refused(error, on: outgoing.link)
            if actions.contains(.retryLater(error)) { break }
            machine.slotMoved(slot, to: left)
        }
        #expect(rounds < 100)
        #expect(machine.takeCommands(batch: 9).commands.isEmpty)
    }

    @Test("a server's unsubscription for a moved slot is a loss, and the new server restores the subscription")
    func forcedUnsubscription() throws {
        var machine = connected([low, high])
        _ = confirmAll(&machine)
        let (from, to) = (try link(machine, left), try link(machine, right))
        #expect(machine.unsubscribed(low, on: from) == [.didLoseConnection, .refreshTopology])
        #expect(machine.takeCommands(batch: 9).commands == [.init(link: from, command: .subscribe([low]))])
        let slot = HashSlot.of(low)
        #expect(
            machine.refused(RedisServerError(text: "MOVED \(slot) right:2"), on: from) == [.moved(slot: slot, right)])
        machine.slotMoved(slot, to: right)
        #expect(machine.takeCommands(batch: 9).commands == [.init(link: to, command: .subscribe([low]))])
        #expect(machine.subscribed(low, on: to) == [.didConfirm(low), .didRecover])
    }

    @Test("a new slot map moves channels that are subscribed at the wrong server")
    func regrouping() throws {
        var machine = connected([low, high])
        _ = confirmAll(&machine)
        let (from, to) = (try link(machine, left), try link(machine, right))
        #expect(machine.setRouting(.cluster(map([HashSlot.of(low): right]))) == [.didLoseConnection])
        let commands = machine.takeCommands(batch: 9).commands
        #expect(
            commands == [.init(link: from, command: .unsubscribe([low])), .init(link: to, command: .subscribe([low]))])
        #expect(machine.subscribed(low, on: to) == [.didConfirm(low), .didRecover])
        #expect(machine.unsubscribed(low, on: from) == [])
        #expect(machine.channels[low]?.state == .confirmed)
    }

    @Test func theRightToUnsubscribeMayHaveMovedToo() throws {
        var machine = connected([low])
        _ = confirmAll(&machine)
        let from = try link(machine, left)
        _ = machine.unsubscribe([low])
        #expect(machine.takeCommands(batch: 9).commands == [.init(link: from, command: .unsubscribe([low]))])
        #expect(machine.refused(RedisServerError(text: "MOVED \(HashSlot.of(low)) right:2"), on: from) == [])
        #expect(machine.channels.isEmpty)
    }

    @Test("after unsubscriptions by both sides, a refusal does not answer a later command")
    func forcedAndOwnUnsubscription() throws {
        var machine = connected([low])
        _ = confirmAll(&machine)
        let from = try link(machine, left)
        _ = machine.unsubscribe([low])
        _ = machine.takeCommands(batch: 9)
        _ = machine.subscribe(["other{b}"])
        #expect(machine.takeCommands(batch: 9).commands == [.init(link: from, command: .subscribe(["other{b}"]))])
        #expect(machine.unsubscribed(low, on: from) == [])
        #expect(machine.channels[low] == nil)
        #expect(machine.refused(RedisServerError(text: "MOVED \(HashSlot.of(low)) right:2"), on: from) == [])
        #expect(machine.pong(on: from) == [])
        #expect(machine.channels["other{b}"]?.state == .subscribing)
        #expect(machine.subscribed("other{b}", on: from) == [.didConfirm("other{b}")])
    }

    @Test("the loss of one server affects its channels only")
    func oneServerLost() throws {
        var machine = connected([low, high])
        _ = confirmAll(&machine)
        let from = try link(machine, left)
        #expect(machine.linkLost(from) == [.didLoseConnection])
        #expect(machine.channels[high]?.state == .confirmed)
        #expect(machine.takeCommands(batch: 9).actions == [.open(from)])
        _ = machine.setRouting(.cluster(map([HashSlot.of(low): right])))
        #expect(machine.linkRemoved(from) == [])
        #expect(confirmAll(&machine) == [.didConfirm(low), .didRecover])
    }

    @Test("the server ends with the wanted subscriptions after any sequence of events", arguments: 0..<40)
    func convergence(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var machine = SubscriptionStateMachine()
        var server = ModelCluster(map: map())
        var wanted: Set<String> = []
        let names = (0..<12).map { "n\($0)" }
        _ = server.handle(machine.setRouting(.cluster(server.map)), &machine)
        for step in 0..<400 {
            let name = names[Int.random(in: 0..<names.count, using: &generator)]
            switch Int.random(in: 0..<12, using: &generator) {
            case 0...2:
                wanted.insert(name)
                server.handle(machine.subscribe([name]), &machine)
            case 3, 4:
                wanted.remove(name)
                server.handle(machine.unsubscribe([name]), &machine)
            case 5: server.move(HashSlot.of(name), to: Bool.random(using: &generator) ? left : right)
            case 6 where step % 4 == 0: server.cut(Bool.random(using: &generator) ? left : right, &machine)
            case 7: machine.retry()
            default: server.answerOne(&machine, using: &generator)
            }
        }
        while server.settle(&machine) {}
        #expect(Set(machine.channels.keys) == wanted)
        #expect(machine.channels.values.allSatisfy { $0.state == .confirmed })
        #expect(Set(server.subscribed.map(\.name)) == wanted, "seed \(seed)")
        #expect(server.subscribed.allSatisfy { server.map.master(of: HashSlot.of($0.name)) == $0.server })
        #expect(!machine.isLost && server.reportedLost == false)
        #expect(machine.recovering == 0)
    }
}

/// A model of two servers that answer in order, like real ones, when the test lets them.
private struct ModelCluster {
    struct Subscription: Hashable {
        let server: RedisEndpoint
        let name: String
    }

    enum Answer {
        case subscribed(String)
        case unsubscribed(String)
        case pong
        case error(RedisServerError)
    }

    var map: SlotMap
    var subscribed: Set<Subscription> = []
    /// Pending answers, by link.
    var answers: [SubscriptionStateMachine.Link: [Answer]] = [:]
    var reportedLost = false

    mutating func move(_ slot: UInt16, to endpoint: RedisEndpoint) {
        guard let old = map.master(of: slot), old != endpoint else { return }
        map.assign(slot, to: endpoint)
        for subscription in subscribed where subscription.server == old && HashSlot.of(subscription.name) == slot {
            subscribed.remove(subscription)
            if let link = links[old] { answers[link, default: []].append(.unsubscribed(subscription.name)) }
        }
    }

    private var links: [RedisEndpoint: SubscriptionStateMachine.Link] = [:]

    init(map: SlotMap) { self.map = map }

    mutating func cut(_ endpoint: RedisEndpoint, _ machine: inout SubscriptionStateMachine) {
        guard let link = links.removeValue(forKey: endpoint) else { return }
        answers[link] = nil
        subscribed = subscribed.filter { $0.server != endpoint }
        handle(machine.linkLost(link), &machine)
    }

    /// Carries out actions, as the shell would.
    @discardableResult
    mutating func handle(
        _ actions: [SubscriptionStateMachine.Action], _ machine: inout SubscriptionStateMachine
    ) -> Bool {
        for action in actions {
            switch action {
            case .didLoseConnection:
                #expect(!reportedLost)
                reportedLost = true
            case .didRecover:
                #expect(reportedLost)
                reportedLost = false
            case .open(let link): open(link, &machine)
            case .moved(let slot, let endpoint): machine.slotMoved(slot, to: endpoint)
            case .refreshTopology, .retryLater, .didConfirm, .waiterSatisfied, .waiterFailed: break
            case .drop(let link): Issue.record("the machine misunderstood link \(link)")
            }
        }
        return send(&machine)
    }

    private mutating func open(_ link: SubscriptionStateMachine.Link, _ machine: inout SubscriptionStateMachine) {
        guard let endpoint = machine.links[Int(link)].endpoint, links[endpoint] == nil else { return }
        links[endpoint] = link
        handle(machine.linkOpened(link), &machine)
    }

    private mutating func send(_ machine: inout SubscriptionStateMachine) -> Bool {
        let (commands, actions) = machine.takeCommands(batch: 3)
        for outgoing in commands {
            guard let server = machine.links[Int(outgoing.link)].endpoint else { continue }
            execute(outgoing, at: server)
        }
        guard !actions.isEmpty else { return !commands.isEmpty }
        return handle(actions, &machine) || !commands.isEmpty
    }

    private mutating func execute(_ outgoing: SubscriptionStateMachine.Outgoing, at server: RedisEndpoint) {
        let (names, subscribes): ([String], Bool) =
            switch outgoing.command {
            case .subscribe(let names): (names, true)
            case .unsubscribe(let names): (names, false)
            case .ping: ([], false)
            }
        guard let first = names.first, let owner = map.master(of: HashSlot.of(first)) else { return }
        if owner != server {
            let error = RedisServerError(text: "MOVED \(HashSlot.of(first)) \(owner)")
            answers[outgoing.link, default: []].append(.error(error))
            if !subscribes { answers[outgoing.link, default: []].append(.pong) }
            return
        }
        for name in names {
            if subscribes {
                subscribed.insert(Subscription(server: server, name: name))
            } else {
                subscribed.remove(Subscription(server: server, name: name))
            }
            answers[outgoing.link, default: []].append(subscribes ? .subscribed(name) : .unsubscribed(name))
        }
        if !subscribes { answers[outgoing.link, default: []].append(.pong) }
    }

    @discardableResult
    mutating func answerOne(_ machine: inout SubscriptionStateMachine, using generator: inout SeededGenerator) -> Bool {
        let waiting = answers.filter { !$0.value.isEmpty }.keys.sorted()
        guard let link = waiting.randomElement(using: &generator) else { return false }
        deliver(on: link, &machine)
        return true
    }

    private mutating func deliver(on link: SubscriptionStateMachine.Link, _ machine: inout SubscriptionStateMachine) {
        switch answers[link]?.removeFirst() {
        case .subscribed(let name): handle(machine.subscribed(name, on: link), &machine)
        case .unsubscribed(let name): handle(machine.unsubscribed(name, on: link), &machine)
        case .pong: handle(machine.pong(on: link), &machine)
        case .error(let error): handle(machine.refused(error, on: link), &machine)
        case nil: break
        }
    }

    /// Delivers all answers, provides the current map, and retries. Returns true if anything happened.
    mutating func settle(_ machine: inout SubscriptionStateMachine) -> Bool {
        var happened = false
        while let link = answers.filter({ !$0.value.isEmpty }).keys.min() {
            deliver(on: link, &machine)
            happened = true
        }
        machine.retry()
        return handle(machine.setRouting(.cluster(map)), &machine) || happened
    }
}
