// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel

@testable import FanOut
@testable import Gateway

/// One gateway: the shell around its feeds, doing what ``FanOut`` does with Redis, timers and tasks.
final class SimulatedGateway {
    let index: Int
    let world: FeedWorld
    let loop: SimulatedLoop
    private(set) var registries: [SimulatedLoopRegistry] = []
    /// By conversation and by user; bit = registry.
    private var interest: [UInt64]
    private var userInterest: [UInt64]
    private var feeds: [ConversationFeed]
    private var userFeeds: [UserFeed]
    private var heads = HeadReconciler(timing: FanOutTiming())
    private let timing = FanOutTiming()
    private var headsTurn = 0
    /// The wall clock is so far off.
    let skew: Int64
    /// The conversations service cannot be reached from here.
    var isCutOff = false

    private var simulation: Simulation { world.simulation }
    private var sabotage: FeedScenario.Sabotage? { world.scenario.sabotage }
    var wallClock: Timestamp { Timestamp(simulation.now + skew) }

    init(_ index: Int, _ world: FeedWorld) {
        self.index = index
        self.world = world
        loop = SimulatedLoop(world.simulation)
        interest = Array(repeating: 0, count: world.scenario.conversations)
        userInterest = Array(repeating: 0, count: world.scenario.users)
        feeds = Array(repeating: ConversationFeed(), count: world.scenario.conversations)
        userFeeds = Array(repeating: UserFeed(), count: world.scenario.users)
        skew = world.simulation.span(-world.scenario.skew...world.scenario.skew)
        registries = (0..<world.scenario.loopsPerGateway).map { SimulatedLoopRegistry($0, self) }
        scheduleHeads()
    }

    // MARK: Interest

    func retain(_ conversations: [Int], for registry: Int) {
        loop.execute(.init(what: "retain at gateway", a: index, b: registry)) { [self] in
            for id in conversations {
                if interest[id] == 0 {
                    feeds[id] = ConversationFeed()
                    world.pubSub.subscribe(.conversation(id), index)
                }
                interest[id] |= 1 << UInt64(registry)
            }
        }
    }

    func release(_ conversations: [Int], for registry: Int) {
        loop.execute(.init(what: "release at gateway", a: index, b: registry)) { [self] in
            for id in conversations where interest[id] != 0 {
                interest[id] &= ~(1 << UInt64(registry))
                if interest[id] == 0 { world.pubSub.unsubscribe(.conversation(id), index) }
            }
        }
    }

    func retainUser(_ user: Int, for registry: Int) {
        loop.execute(.init(what: "retain user at gateway", a: index, b: user)) { [self] in
            let isFirst = heads.woke(at: deadline)
            if isFirst { trust(nil) }
            if userInterest[user] == 0 {
                userFeeds[user] = UserFeed()
                world.pubSub.subscribe(.user(user), index)
            }
            userInterest[user] |= 1 << UInt64(registry)
            if isFirst { fetchHeads() }
        }
    }

    func releaseUser(_ user: Int, for registry: Int) {
        loop.execute(.init(what: "release user at gateway", a: index, b: user)) { [self] in
            userInterest[user] &= ~(1 << UInt64(registry))
            if userInterest[user] == 0 { world.pubSub.unsubscribe(.user(user), index) }
        }
    }

    func confirmation(of conversations: [Int], user: Int, _ body: @escaping () -> Void) {
        loop.execute(.init(what: "confirmation at gateway", a: index)) { [self] in
            world.pubSub.confirmation(of: Set(conversations.map { .conversation($0) } + [.user(user)]), index, body)
        }
    }

    // MARK: Baselines

    func baseline(
        _ positions: [(conversation: Int, position: Position)], user: (index: Int, position: Position)?,
        _ body: @escaping ([Position], Position?) -> Void
    ) {
        loop.execute(.init(what: "baseline at gateway", a: index)) { [self] in
            let lasts = positions.map { id, position in
                guard interest[id] != 0 else { return position }
                perform(feeds[id].readElsewhere(to: position), id)
                return feeds[id].last ?? position
            }
            // The real one comes back to the task in between.
            loop.execute(.init(what: "baseline of user at gateway", a: index)) { [self] in
                guard let user else { return body(lasts, nil) }
                guard userInterest[user.index] != 0 else { return body(lasts, user.position) }
                perform(userFeeds[user.index].readElsewhere(to: user.position), user: user.index)
                body(lasts, userFeeds[user.index].last ?? user.position)
            }
        }
    }

    // MARK: What arrives

    func received(_ publication: LossyPubSub.Publication, on channel: LossyPubSub.Channel) {
        switch (channel, publication) {
        case (.conversation(let id), .change(let change)):
            guard interest[id] != 0 else { return }
            switch feeds[id].changePublished(change) {
            case .deliver(let changes): perform([.deliver(changes)], id)
            case .awaitPredecessor(let time): perform([.openGap(since: time), .lookAgain(.gapPatience)], id)
            case .nothing: break
            }
        case (.conversation(let id), .signal): toRegistries(interest[id], "signal at registry") { $0.signal(in: id) }
        case (.user(let user), .added(let id, let position)):
            toRegistries(userInterest[user], "added notice at registry") { $0.userAdded(user, to: id, at: position) }
        case (.user(let user), .own(let change)):
            guard userInterest[user] != 0, sabotage != .earlyEntriesDropped || userFeeds[user].last != nil else { return }
            perform(userFeeds[user].changePublished(change), user: user)
        default: break
        }
    }

    private func toRegistries(_ mask: UInt64, _ what: StaticString, _ body: @escaping (SimulatedLoopRegistry) -> Void) {
        for registry in registries where mask & (1 << UInt64(registry.index)) != 0 {
            registry.loop.execute(.init(what: what, a: index, b: registry.index)) { body(registry) }
        }
    }

    // MARK: What the feeds want

    private func perform(_ actions: [ConversationFeed.Action], _ id: Int) {
        for action in actions {
            switch action {
            case .deliver(let changes):
                for change in changes {
                    simulation.note(.init(what: "handed on: gateway, conversation, position", a: index, b: id, c: change.position.rawValue))
                    toRegistries(interest[id], "delivery at registry") { $0.deliver(change, of: id) }
                }
            case .deliverFromLog(let changes, let numbers):
                for change in changes {
                    simulation.note(.init(what: "read and handed on: gateway, conversation, position", a: index, b: id, c: change.position.rawValue))
                    toRegistries(interest[id], "delivery at registry") { $0.deliver(change, of: id, isFromLog: true) }
                }
                if world.scenario.hasNumbers { toRegistries(interest[id], "numbers at registry") { $0.numbersRead(numbers, of: id) } }
            case .openGap(let time): toRegistries(interest[id], "gap opens at registry") { $0.gapOpened(.conversation(id), since: time) }
            case .closeGap(let numbers): toRegistries(interest[id], "gap closes at registry") { $0.gapClosed(id, numbers: numbers) }
            case .read(let position): read(id, after: position)
            case .lookAgain(let wait): later(wait, id) { $0.lookAgain() }
            case .look(let position, let time, let wait): later(wait, id) { $0.looked(for: position, since: time) }
            }
        }
    }

    private func later(_ wait: ConversationFeed.Wait, _ id: Int, _ event: @escaping (inout ConversationFeed) -> [ConversationFeed.Action]) {
        simulation.after(timing.amount(wait).nanoseconds / 1000, .init(what: "timer of conversation", a: index, b: id)) { [self] in
            guard interest[id] != 0 else { return }
            perform(event(&feeds[id]), id)
        }
    }

    func numbersMissing(in id: Int) {
        world.counts["numbers read again", default: 0] += 1
        loop.execute(.init(what: "numbers are missing at gateway", a: index, b: id)) { [self] in
            guard interest[id] != 0 else { return }
            perform([feeds[id].numbersMissing()], id)
        }
    }

    private func read(_ id: Int, after position: Position) {
        guard sabotage != .noRepair else { return }
        world.counts["repairs", default: 0] += 1
        let users = Set(registries.filter { interest[id] & (1 << UInt64($0.index)) != 0 }.flatMap { $0.users(in: id) }).sorted()
        world.call(from: self, "repair at the log") {
            $0.changes(of: id, after: position, users: users)
        } then: { [self] page in
            loop.execute(.init(what: "repair at gateway", a: index, b: id)) { [self] in
                guard interest[id] != 0 else { return }
                perform(page.map { feeds[id].repaired($0) } ?? feeds[id].repairFailed(), id)
            }
        }
    }

    private func perform(_ actions: [UserFeed.Action], user: Int) {
        for action in actions {
            switch action {
            case .deliver(let change): toRegistries(userInterest[user], "own entry at registry") { $0.deliver(change, to: user) }
            case .openGap(let time): toRegistries(userInterest[user], "gap of user opens at registry") { $0.gapOpened(.user(user), since: time) }
            case .closeGap: toRegistries(userInterest[user], "gap of user closes at registry") { $0.gapClosed(.user(user)) }
            case .read(let position): readOwn(user, after: position)
            case .lookAgain:
                simulation.after(timing.repairPause.nanoseconds / 1000, .init(what: "timer of user", a: index, b: user)) { [self] in
                    guard userInterest[user] != 0 else { return }
                    perform(userFeeds[user].lookAgain(), user: user)
                }
            }
        }
    }

    private func readOwn(_ user: Int, after position: Position) {
        guard sabotage != .noRepair else { return }
        world.call(from: self, "repair of user at the log") {
            $0.userChanges(of: user, after: position)
        } then: { [self] changes in
            loop.execute(.init(what: "repair of user at gateway", a: index, b: user)) { [self] in
                guard userInterest[user] != 0 else { return }
                perform(changes.map { userFeeds[user].repaired($0) } ?? userFeeds[user].repairFailed(), user: user)
            }
        }
    }

    // MARK: Heads

    private func trust(_ clock: DatabaseClock?) { toRegistries(.max, "clock at registry") { $0.clock = clock } }

    var deadline: NIODeadline { .uptimeNanoseconds(UInt64(simulation.now) * 1000) }

    func pubSubRecovered() {
        loop.execute(.init(what: "pub/sub is back at gateway", a: index)) { [self] in
            heads.recovered(at: deadline)
            fetchHeads()
        }
    }

    func scheduleHeads() {
        headsTurn += 1
        let turn = headsTurn
        let jitter = 0.875 + Double(simulation.int(0...250)) / 1000
        let pause = heads.pause(at: deadline, isPubSubAvailable: world.pubSub.isAvailable(index), jitter: jitter)
        simulation.after(pause.nanoseconds / 1000, .init(what: "heads are due at gateway", a: index)) { [self] in
            if turn == headsTurn { fetchHeads() }
        }
    }

    private func fetchHeads() {
        guard sabotage != .noHeads, !world.scenario.isReliable, !heads.isAsking else { return }
        guard interest.contains(where: { $0 != 0 }) || userInterest.contains(where: { $0 != 0 }) else {
            heads.slept()
            return scheduleHeads()
        }
        guard heads.begin(at: deadline) else { return }
        let since = heads.since
        world.call(from: self, "heads at the log", isForHeads: true) {
            $0.heads(since: since)
        } then: { [self] answer in
            loop.execute(.init(what: "heads at gateway", a: index)) { [self] in
                if let answer { compare(answer) } else { heads.failed() }
                scheduleHeads()
            }
        }
    }

    private func compare(_ answer: Heads) {
        let finding = heads.answered(asOf: answer.asOf, at: deadline)
        if let time = finding.missedBefore {
            world.counts["started anew", default: 0] += 1
            for registry in registries {
                registry.loop.execute(.init(what: "sockets are sent away by registry", a: index, b: registry.index)) {
                    registry.sendAway(openedBefore: time)
                }
            }
        }
        for (id, position) in answer.conversations {
            let id = world.log.index(of: id)
            guard interest[id] != 0, let action = feeds[id].headSeen(position, since: finding.missingSince) else { continue }
            perform([action], id)
        }
        for added in answer.added {
            let user = world.log.index(of: added.user.user)
            let id = world.log.index(of: added.conversation)
            toRegistries(userInterest[user], "added by heads at registry") { $0.userAdded(user, to: id, at: added.position) }
        }
        for (key, position) in answer.users {
            let user = world.log.index(of: key.user)
            guard userInterest[user] != 0 else { continue }
            perform(userFeeds[user].headSeen(position, since: finding.missingSince), user: user)
        }
        let clock = DatabaseClock(asOf: answer.asOf, heardAt: deadline)
        simulation.after(timing.repairPause.nanoseconds / 1000, .init(what: "clock is trusted by gateway", a: index)) { [self] in trust(clock) }
    }
}
