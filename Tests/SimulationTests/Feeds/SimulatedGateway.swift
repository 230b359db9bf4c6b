// SPDX-License-Identifier: Apache-2.0
import Logging
import NIOCore
import StrataModel
import StrataWire

@testable import FanOut
@testable import Gateway

/// A gateway in virtual time: the real ``FanOut``, and a real ``LoopRegistry`` for each of its loops.
final class SimulatedGateway: @unchecked Sendable {
    let index: Int
    let services: SimulatedServices
    let fanOut: FanOut
    private(set) var homes: [SimulatedHome] = []
    private let skew: Int64
    private let loop: VirtualEventLoop
    private unowned let world: FeedWorld

    var wallClock: Timestamp { Timestamp(world.simulation.now + skew) }
    var deadline: NIODeadline { world.simulation.deadline }

    init(_ index: Int, _ world: FeedWorld) {
        self.index = index
        self.world = world
        let simulation = world.simulation
        skew = simulation.span(-world.scenario.skew...world.scenario.skew)
        services = SimulatedServices(of: index, world)
        loop = VirtualEventLoop(index * 10, simulation)
        fanOut = FanOut(
            loop: loop, source: services, logger: Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() },
            jitter: { 0.875 + Double(simulation.int(0...250)) / 1000 })
        homes = (0..<world.scenario.loopsPerGateway)
            .map { SimulatedHome($0, self, VirtualEventLoop(index * 10 + 1 + $0, simulation)) }
        _ = fanOut.start(registries: homes.map(\.registry), subscriptions: services)
    }

    func stop() {
        fanOut.stop()
        services.giveUp()
    }

    /// Breaks the reference cycle between the registries and the fan-out.
    func forgetRegistries() { _ = fanOut.start(registries: [], subscriptions: services) }

    /// Simulates `FanOut.confirmation(of:user:)`: a hop to the fan-out's loop, so that earlier subscriptions are in
    /// transit, and a wait.
    func confirmation(of conversations: [ConversationID], user: Int, _ body: @escaping () -> Void) {
        let channels = conversations.map { LossyPubSub.Channel.conversation(world.log.index(of: $0)) } + [.user(user)]
        loop.execute(.init(what: "confirmation at gateway", a: index)) { [self] in
            world.pubSub.confirmation(of: Set(channels), index, body)
        }
    }

    func received(_ publication: LossyPubSub.Publication, on channel: LossyPubSub.Channel) {
        loop.execute(.init(what: "publication at gateway", a: index)) { [self] in
            switch (channel, publication) {
            case (.conversation, .change(let change)): fanOut.changePublished(change)
            case (.conversation(let id), .signal(let user)):
                fanOut.typingPublished(
                    TypingSignal(conversationID: world.log.ids[id], user: world.log.userIDs[user], action: .started),
                    goodFor: nil)
            case (.user(let user), .notice(let content)): noticed(content, of: world.log.keys[user])
            case (.conversation, .notice), (.user, .change), (.user, .signal): break
            }
        }
    }

    private func noticed(_ content: UserNotice.Content, of key: UserKey) {
        if world.scenario.sabotage == .earlyEntriesDropped, fanOut.users[key]?.feed.last == nil {
            if case .added = content {} else { return }
        }
        fanOut.userNoticePublished(UserNotice(appID: key.app, user: key.user, content: content))
    }
}

/// An event loop of a gateway, with its sockets.
final class SimulatedHome: @unchecked Sendable {
    let index: Int
    let loop: VirtualEventLoop
    let registry: LoopRegistry
    unowned let gateway: SimulatedGateway

    init(_ index: Int, _ gateway: SimulatedGateway, _ loop: VirtualEventLoop) {
        self.index = index
        self.gateway = gateway
        self.loop = loop
        registry = LoopRegistry(
            index: index, loop: loop, fanOut: gateway.fanOut,
            renderer: Renderer(baseURL: "https://chat.example.org", webSocketURL: "wss://chat.example.org"),
            answers: AnswerBudget(limit: 1 << 30),
            services: gateway.services)
    }
}
