// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel

@testable import FanOut
@testable import Gateway

/// One catch-up: the shell around ``ReplayPlan``, doing what ``CatchUp`` does, with calls that take time and fail.
final class SimulatedCatchUp: @unchecked Sendable {
    enum Reason {
        case opened
        case replay(since: Timestamp)
        case joined([ConversationID: Position])
    }

    struct Item {
        let content: SimulatedPipe.Content
        let createdAt: Timestamp?
    }

    private let socket: SimulatedSocket
    private let home: SimulatedHome
    private let reason: Reason
    private let attempt: Int
    private var plan = ReplayPlan()
    /// As it was before the step that runs.
    private var before = ReplayPlan()
    private var joining: [ConversationID] = []
    private var vainLooks = 0
    private var asOf: Timestamp?
    private var registry: LoopRegistry { home.registry }
    private var world: FeedWorld { socket.world }
    private var gateway: SimulatedGateway { home.gateway }
    private var services: SimulatedServices { gateway.services }
    private var user: UserID { world.log.userIDs[socket.user] }
    private var isCancelled: Bool { !socket.isCurrent(attempt) }
    /// What is on its way to the registry's loop is done there only for the catch-up that counts.
    private var isStale: Bool { isCancelled && world.scenario.sabotage != .staleCatchUps }

    init(_ socket: SimulatedSocket, _ reason: Reason, attempt: Int) {
        self.socket = socket
        home = socket.home
        self.reason = reason
        self.attempt = attempt
    }

    func begin() {
        switch reason {
        case .joined(let conversations):
            plan = ReplayPlan(joined: conversations, since: socket.beginning)
            join(plan.members) { [self] in step() }
        case .opened, .replay:
            gateway.confirmation(of: [], user: socket.user) { [self] in
                let isWall = world.scenario.sabotage == .wallClock
                let age = socket.since.elapsed(until: gateway.deadline)
                world.call(from: services, "baseline at the log") { [socket, reason, wall = socket.beginning] log in
                    switch reason {
                    case .replay(let since): log.baseline(of: socket.user, since: since)
                    case _ where isWall: log.baseline(of: socket.user, since: wall)
                    default: log.baseline(of: socket.user, recent: age + Socket.openingMargin, notBefore: socket.session)
                    }
                } then: { [self] in
                    guard let baseline = $0 else { return end(succeeded: false) }
                    asOf = baseline.asOf
                    socket.met(databaseAt: baseline.asOf)
                    plan = ReplayPlan(baseline, width: world.scenario.logsReadTogether)
                    join(plan.members) { [self] in step() }
                }
            }
        }
    }

    // MARK: On the loop

    private func onLoop(_ what: StaticString, _ body: @escaping () -> Void) {
        home.loop.execute(.init(what: what, a: gateway.index, b: socket.number), body)
    }

    /// Ids in a fixed order: sets and dictionaries have none.
    private func ordered(_ ids: some Sequence<ConversationID>) -> [ConversationID] {
        ids.sorted { world.log.index(of: $0) < world.log.index(of: $1) }
    }

    private func join(_ conversations: [ConversationID], _ body: @escaping () -> Void) {
        let conversations = ordered(conversations)
        joining += conversations
        onLoop("catch-up joins on registry") { [self] in
            registry.beginJoining(conversations, app: LogService.app)
            gateway.confirmation(of: conversations, user: socket.user, body)
        }
    }

    private func end(succeeded: Bool) {
        onLoop(succeeded ? "catch-up has ended" : "catch-up has failed") { [self] in
            registry.endJoining(joining)
            joining = []
            socket.catchUpEnded(reason, succeeded: succeeded, asOf: asOf, attempt: attempt)
        }
    }

    // MARK: Steps

    private func step() {
        guard !isCancelled else { return end(succeeded: false) }
        before = plan
        switch plan.nextStep(joined: joining) {
        case .read(let cursors, let userAfter): read(cursors, userAfter)
        case .join(let new):
            join(new) { [self] in
                plan.owe(new)
                step()
            }
        case .show(let ids): show(ordered(ids), [])
        case .compare(let positions, let user): compare(positions, user)
        }
    }

    /// A service was away. A client that asked for a replay asks again; of any other catch-up it knows nothing.
    private func failed() {
        if case .replay = reason { return end(succeeded: false) }
        plan = before
        world.simulation.after(world.simulation.span(500_000...1_000_000), "catch-up waits") { [self] in step() }
    }

    private func read(_ cursors: [ConversationID: Position], _ userAfter: Position?) {
        let cursors = cursors.map { (conversation: world.log.index(of: $0.key), after: $0.value) }.sorted { $0.conversation < $1.conversation }
        world.call(from: services, "page at the log") { [user = socket.user] in
            $0.readLogs(of: user, cursors, userAfter: userAfter)
        } then: { [self] page in
            guard let page = page.map({ plan.due($0) }) else { return failed() }
            prepare(page.entries[...], []) { [self] items in
                send(items) { [self] in
                    plan.finish(page)
                    step()
                }
            }
        }
    }

    private func prepare(_ entries: ArraySlice<LogPage.Entry>, _ items: [Item], _ body: @escaping ([Item]) -> Void) {
        var (entries, items) = (entries, items)
        while let entry = entries.popFirst() {
            switch entry {
            case .skipped(let id, let position): plan.advance(id, to: position)
            case .userChange(let change):
                plan.advanceUser(to: change.position)
                items.append(Item(content: .own(change.position), createdAt: change.createdAt))
            case .change(let change):
                switch plan.met(change, by: user) {
                case .nothing: plan.advance(change.conversationID, to: change.position)
                case .change:
                    items.append(item(change))
                    plan.advance(change.conversationID, to: change.position)
                case .lookUp:
                    return lookUp(change.conversationID) { [self] view in
                        var items = items
                        if let view {
                            plan.shown(view)
                            items.append(item(view, at: change.position, change.createdAt))
                        }
                        if plan.tells(afterLookUp: change, by: user) { items.append(item(change)) }
                        plan.advance(change.conversationID, to: change.position)
                        prepare(entries, items, body)
                    }
                }
            }
        }
        body(items)
    }

    private func item(_ change: Change) -> Item {
        Item(content: .change(world.log.index(of: change.conversationID), change.position, nil), createdAt: change.createdAt)
    }

    private func item(_ view: ConversationView, at position: Position, _ time: Timestamp?) -> Item {
        let id = world.log.index(of: view.conversation.id)
        let counts = LogService.Counts(unread: view.unreadCount, total: view.totalCount)
        return Item(
            content: .shown(id, view: view.conversation.position, at: position, world.scenario.hasNumbers ? counts : nil), createdAt: time)
    }

    private func lookUp(_ id: ConversationID, _ body: @escaping (ConversationView?) -> Void) {
        let index = world.log.index(of: id)
        world.call(from: services, "view at the log") { [user = socket.user] in
            [$0.view(of: index, for: user)]
        } then: { [self] found in
            guard let found else { return failed() }
            body(found[0])
        }
    }

    private func show(_ ids: [ConversationID], _ items: [Item]) {
        guard let id = ids.first else { return send(items) { [self] in step() } }
        lookUp(id) { [self] view in
            var items = items
            if let view {
                items.append(item(view, at: plan.position(of: id), nil))
                plan.shown(view)
                plan.owe([id])
            }
            show(Array(ids.dropFirst()), items)
        }
    }

    private func send(_ items: [Item], from start: Int = 0, _ body: @escaping () -> Void) {
        guard start < items.count else { return body() }
        onLoop("catch-up sends on registry") { [self] in
            guard !isStale else { return end(succeeded: false) }
            let next = socket.sendReplay(items, from: start)
            if next < items.count { socket.drained { [self] in send(items, from: next, body) } } else { body() }
        }
    }

    // MARK: The end

    private func compare(_ positions: [(id: ConversationID, position: Position)], _ userPosition: Position?) {
        let positions = positions.sorted { world.log.index(of: $0.id) < world.log.index(of: $1.id) }
        gateway.fanOut.baseline(positions, era: registry.era)
            .whenComplete { [self] result in
                guard let lasts = try? result.get() else { return end(succeeded: false) }
                for (entry, last) in zip(positions, lasts) { plan.fanOutIsAt(last, in: entry.id) }
                guard let userPosition else { return compared() }
                gateway.fanOut.baseline(of: socket.registration.key, readTo: userPosition, era: registry.era)
                    .whenComplete { [self] result in
                        guard let last = try? result.get() else { return end(succeeded: false) }
                        plan.userFanOutIsAt(last)
                        compared()
                    }
            }
    }

    private func compared() { if plan.isEverythingRead { attach() } else { step() } }

    private func tell(_ summary: ReplayPlan.Summary?) {
        guard let summary else { return }
        let counts = LogService.Counts(unread: summary.unread, total: summary.total)
        socket.send(.numbers(world.log.index(of: summary.id), at: summary.position, counts), stamp: registry.stamp().time)
    }

    private func attach() {
        let joinPoints = plan.joinPoints.sorted { world.log.index(of: $0.id) < world.log.index(of: $1.id) }
        let user = plan.userPosition.map { (position: $0, fanOutLast: plan.userFanOutLast) }
        onLoop("catch-up attaches on registry") { [self] in
            guard !isStale else { return end(succeeded: false) }
            for (id, record) in plan.leaveRecords { socket.membership.left(id, record: record) }
            var refused: [ConversationID] = []
            var isUserRefused = false
            if let user, !socket.attachUser(position: user.position, fanOutLast: user.fanOutLast) {
                isUserRefused = true
                refused = joinPoints.map(\.id)
            } else {
                let summaries = world.scenario.hasNumbers ? plan.summaries : [:]
                for id in ordered(plan.leaveRecords.keys) { tell(summaries[id]) }
                for point in joinPoints {
                    if socket.attach(at: point) { tell(summaries[point.id]) } else { refused.append(point.id) }
                }
                socket.membership.pending = Set(refused)
                registry.flushDeferred()
            }
            if isUserRefused {
                plan.userRefused()
            } else {
                plan.attached(except: refused)
                plan.userAttached()
            }
            if refused.isEmpty && !isUserRefused { end(succeeded: true) } else { step() }
        }
    }
}
