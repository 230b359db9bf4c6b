// SPDX-License-Identifier: Apache-2.0
import Contracts
import NIOCore
import StrataModel

@testable import FanOut
@testable import Gateway
@testable import Sync

/// Executes the actions of one real ``CatchUp``, like ``CatchUpDriver``, with calls that take virtual time and can
/// fail.
final class SimulatedCatchUpDriver: @unchecked Sendable {
    private var catchUp: CatchUp
    private let socket: SimulatedSocket
    private let home: SimulatedHome
    private let attempt: Int
    private var joined: [ConversationID] = []
    private var registry: LoopRegistry { home.registry }
    private var world: FeedWorld { socket.world }
    private var gateway: SimulatedGateway { home.gateway }
    private var sabotage: FeedScenario.Sabotage? { world.scenario.sabotage }
    /// True if the catch-up has been superseded. It then does nothing.
    private var isStale: Bool { !socket.isCurrent(sabotage == .staleCatchUps ? socket.schedule.attempt : attempt) }

    init(_ catchUp: CatchUp, for socket: SimulatedSocket, attempt: Int) {
        self.catchUp = catchUp
        self.socket = socket
        home = socket.home
        self.attempt = attempt
    }

    func begin() { perform(catchUp.begin()) }

    private func handle(_ event: CatchUp.Event) {
        if isStale { end(.failed(.unavailable)) } else { perform(catchUp.handle(event)) }
    }

    private func onLoop(_ what: StaticString, _ body: @escaping () -> Void) {
        home.loop.execute(.init(what: what, a: gateway.index, b: socket.number), body)
    }

    private func whileCurrent(_ what: StaticString, _ body: @escaping () -> Void) {
        onLoop(what) { [self] in if isStale { end(.failed(.unavailable)) } else { body() } }
    }

    private func end(_ end: CatchUp.End) {
        onLoop("catch-up has ended") { [self] in
            registry.endJoining(joined)
            joined = []
            socket.catchUpEnded(end, attempt: attempt)
        }
    }

    // MARK: Effects

    private func perform(_ effects: [CatchUp.Effect]) { for effect in effects { perform(effect) } }

    private func perform(_ effect: CatchUp.Effect) {
        switch effect {
        case .listenToList: listenToList()
        case .listen(let conversations): listen(to: conversations, then: .listening)
        case .askBaseline(let since, let margin): askBaseline(since: since, margin: margin)
        case .learn(let time, _):
            if sabotage != .wallClock { socket.schedule.learn(databaseTime: time, at: home.loop.now) }
        case .read(let cursors, let userAfter, _): read(cursors, userAfter: userAfter)
        case .lookUp(let request): lookUp(request)
        case .send(let items, let stampLimit):
            if stampLimit != nil { world.counts["sent ahead of what is held back", default: 0] += 1 }
            send(items, stampLimit: stampLimit)
        case .reportPositions(let positions, let user): reportPositions(positions, user: user)
        case .attach(let attachment):
            whileCurrent("catch-up attaches on registry") { [self] in handle(.attached(attachment.perform(on: socket)))
            }
        case .scheduleEpochCheck: gateway.fanOut.scheduleEpochCheck()
        case .rest(.untilServiceReturns):
            let pause = 1000 * world.simulation.span(CatchUpTiming.servicePause)
            world.simulation.after(pause, "catch-up waits") { [self] in handle(.rested) }
        case .rest(.inDoubt):
            world.simulation.after(CatchUpTiming.emptyReadPause.nanoseconds / 1000, "catch-up doubts") { [self] in
                handle(.rested)
            }
        case .end(let end): self.end(end)
        }
    }

    private func listenToList() {
        world.call(from: gateway.services, "list at the log") { [user = socket.user] in
            $0.listed(of: user)
        } then: { [self] ids in
            guard let ids else { return handle(.failed(.unavailable)) }
            listen(to: ids, then: .listeningToList(ids))
        }
    }

    private func listen(to conversations: [ConversationID], then event: CatchUp.Event) {
        joined += conversations
        onLoop("catch-up joins on registry") { [self] in
            registry.beginJoining(conversations, app: LogService.app)
            gateway.confirmation(of: conversations, user: socket.user) { [self] in handle(event) }
        }
    }

    private func askBaseline(since: Timestamp?, margin: Duration) {
        whileCurrent("catch-up asks for its baseline") { [self] in
            let (asked, session) = (gateway.deadline, socket.session)
            var origin = socket.schedule.origin(since: since, margin: margin, at: socket.moment)
            if since == nil, sabotage == .wallClock {
                origin = .replay(since: socket.schedule.beginning(at: socket.moment))
            }
            call("baseline at the log") { [user = socket.user] log in
                switch origin {
                case .replay(let since): log.baseline(of: user, since: since)
                case .recent(let age, _, _): log.baseline(of: user, recent: age, notBefore: session)
                }
            } then: { [self] in
                .baseline($0, took: asked.elapsed(until: gateway.deadline))
            }
        }
    }

    private func read(_ cursors: [ConversationID: Position], userAfter: Position?) {
        let cursors = cursors.map { (conversation: world.log.index(of: $0.key), after: $0.value) }
            .sorted { $0.conversation < $1.conversation }
        call("page at the log") { [user = socket.user] in
            $0.readLogs(of: user, cursors, userAfter: userAfter)
        } then: {
            .page($0)
        }
    }

    private func lookUp(_ request: ViewLookups.Request) {
        let (user, width) = (socket.user, world.scenario.viewsTogether)
        switch request {
        case .several(let ids):
            let isShownAgain = sabotage != .notShownAgain
            let isUnshowable = !world.isQuiet && world.simulation.chance(world.scenario.unshowable)
            call("views at the log") { log in
                ids.prefix(width).map { log.index(of: $0) }
                    .filter { isShownAgain || log.conversations[$0].deletions[user].entry == .zero }
                    .compactMap { log.view(of: $0, for: user) }
            } then: { views in
                var views = views
                if isUnshowable, !views.isEmpty { views[0].conversation.metadata = nil }
                return .lookedUp(.several(views, covered: min(width, ids.count)))
            }
        case .alone(let id):
            call("view at the log") { log in
                log.view(of: log.index(of: id), for: user)
            } then: {
                $0.map { .lookedUp(.alone($0)) } ?? .failed(.notFound("conversation"))
            }
        }
    }

    private func call<Answer>(
        _ what: StaticString, _ body: @escaping (LogService) -> Answer, then event: @escaping (Answer) -> CatchUp.Event
    ) {
        world.call(from: gateway.services, what, body) { [self] answer in
            handle(answer.map { event($0) } ?? .failed(.unavailable))
        }
    }

    private func send(_ items: [ReplayItem], stampLimit: Timestamp?, from start: Int = 0) {
        whileCurrent("catch-up sends on registry") { [self] in
            let next = socket.sendReplay(items, from: start, stampLimit: stampLimit)
            if sabotage == .unsentForgotten { return handle(.sent) }
            if next < items.count {
                socket.drained { [self] in send(items, stampLimit: stampLimit, from: next) }
            } else {
                handle(.sent)
            }
        }
    }

    private func reportPositions(_ positions: [(id: ConversationID, position: Position)], user: Position?) {
        if sabotage == .notReadAgain { return handle(.fanOutPositions(positions.map(\.position), user: user)) }
        let (fanOut, era) = (gateway.fanOut, registry.era)
        fanOut.startSequences(at: positions, era: era)
            .whenComplete { [self] result in
                guard let lasts = try? result.get() else { return end(.failed(.unavailable)) }
                guard let user else { return handle(.fanOutPositions(lasts, user: nil)) }
                fanOut.startSequence(of: socket.registration.key, at: user, era: era)
                    .whenComplete { [self] result in
                        guard let last = try? result.get() else { return end(.failed(.unavailable)) }
                        handle(.fanOutPositions(lasts, user: last))
                    }
            }
    }
}
