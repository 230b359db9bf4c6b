// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel
import StrataWire
import Testing

@testable import FanOut
@testable import Gateway
@testable import Sync

/// Catch-ups that send changes of known conversations ahead of conversations that must be sent as a whole.
@Suite(.timeLimit(.minutes(1)))
struct DeferringTests {
    private let known = ConversationID.random()
    private let new = ConversationID.random()

    // MARK: A replay, step by step

    private func entry(_ id: ConversationID, position: Int64, after: Int64, oldestAt: Int64) -> BaselineEntry {
        BaselineEntry(
            id: id, position: Position(position), after: Position(after),
            counts: UserCounts(excluded: 0, hidden: 0, position: Position(position)), messageCount: 0,
            isParticipant: true,
            oldestAt: Fixture.time(oldestAt))
    }

    /// Starts a replay and requests its first page.
    /// - Parameter since: The start of the replay, which is earlier than the client requested.
    private func replay(
        _ entries: [BaselineEntry], since: Int64 = -100
    ) -> (catchUp: CatchUp, effects: [CatchUp.Effect]) {
        var catchUp = CatchUp(.replay(since: Fixture.time(since)), for: Fixture.ben, beginning: Fixture.time(0))
        let baseline = Baseline(
            entries: entries, userPosition: .zero, userAfter: .zero, asOf: Fixture.time(5000), isComplete: true)
        _ = catchUp.begin()
        _ = catchUp.handle(.listeningToList(entries.map(\.id)))
        let effects = catchUp.handle(.baseline(baseline, took: .zero))
        return (catchUp, effects)
    }

    private func change(
        _ position: Int64, of id: ConversationID, at time: Int64, _ content: Change.Content = .metadataChanged([])
    ) -> Change {
        var change = Fixture.change(position, of: id, content)
        change.createdAt = Fixture.time(time)
        return change
    }

    private func addition(_ position: Int64, of id: ConversationID, at time: Int64) -> Change {
        let ben = BasicIdentity(userID: Fixture.ben)
        return change(
            position, of: id, at: time,
            .participantsChanged(added: [ben], removed: [], distinctCleared: false, conversation: nil))
    }

    private func page(_ changes: [Change], reachesHeads: Bool = true) -> CatchUp.Event {
        let counts = changes.reduce(into: [:]) { counts, change in
            counts[change.conversationID] = LogPage.Counts(
                counts: UserCounts(excluded: 0, hidden: 0, position: .zero), messageCount: 0, isParticipant: true,
                isListed: true)
        }
        return .page(LogPage(entries: changes.map { .change($0) }, reachesHeads: reachesHeads, counts: counts))
    }

    private func view(of id: ConversationID, at position: Int64) -> ConversationView {
        var view = Fixture.view(at: position)
        view.conversation.id = id
        return view
    }

    // MARK: Effects

    /// Returns the logs that the catch-up reads next, with their cursors.
    private func cursors(_ effects: [CatchUp.Effect]) -> [ConversationID: Position]? {
        if case .read(let cursors, _, _)? = effects.last { cursors } else { nil }
    }

    private func sent(_ effects: [CatchUp.Effect]) -> (changes: [Change], stampLimit: Timestamp?)? {
        guard case .send(let items, let stampLimit)? = effects.last else { return nil }
        return (items.compactMap { if case .change(let change) = $0 { change } else { nil } }, stampLimit)
    }

    private func lookedUp(_ effects: [CatchUp.Effect]) -> [ConversationID]? {
        if case .lookUp(.several(let ids))? = effects.last { ids } else { nil }
    }

    // MARK: Tests

    @Test("a replay reads new conversations after known ones, and limits the times of packets until then")
    func created() {
        var (catchUp, effects) = replay([
            entry(new, position: 1, after: 0, oldestAt: 5), entry(known, position: 9, after: 7, oldestAt: 20),
        ])
        #expect(cursors(effects) == [known: Position(7)])
        effects = catchUp.handle(page([change(8, of: known, at: 20), change(9, of: known, at: 30)]))
        #expect(sent(effects)?.changes.map(\.position) == [Position(8), Position(9)])
        #expect(sent(effects)?.stampLimit == Fixture.time(5))
        effects = catchUp.handle(.sent)
        #expect(cursors(effects) == [new: .zero])
        effects = catchUp.handle(page([change(1, of: new, at: 5, .conversationCreated(nil))]))
        #expect(lookedUp(effects) == [new])
        effects = catchUp.handle(.lookedUp(.several([view(of: new, at: 1)], covered: 1)))
        guard case .send(let items, stampLimit: nil)? = effects.last, items.count == 1,
            case .conversation? = items.first
        else {
            Issue.record("the conversation is not shown")
            return
        }
        #expect(cursors(catchUp.handle(.sent)) == nil)
    }

    @Test("conversations deferred within the margin keep no packet before the time that the client named")
    func margin() {
        let entries = [
            entry(new, position: 1, after: 0, oldestAt: 5), entry(known, position: 9, after: 7, oldestAt: 50),
        ]
        var (catchUp, _) = replay(entries, since: 0)
        let effects = catchUp.handle(page([change(8, of: known, at: 50), change(9, of: known, at: 60)]))
        #expect(sent(effects)?.stampLimit == Fixture.time(0).advanced(by: CatchUpTiming.replayMargin))
    }

    @Test("a conversation that the user was added to is deferred from this change on, once, and others continue")
    func added() {
        let other = ConversationID.random()
        var (catchUp, effects) = replay([
            entry(other, position: 8, after: 5, oldestAt: 6), entry(known, position: 9, after: 7, oldestAt: 8),
        ])
        #expect(cursors(effects) == [known: Position(7), other: Position(5)])
        effects = catchUp.handle(
            page([
                change(6, of: other, at: 6), addition(7, of: other, at: 7), change(8, of: known, at: 8),
                change(8, of: other, at: 9),
                change(9, of: known, at: 10),
            ]))
        #expect(sent(effects)?.changes.map(\.conversationID) == [other, known, known])
        #expect(sent(effects)?.stampLimit == Fixture.time(7))
        effects = catchUp.handle(.sent)
        #expect(cursors(effects) == [other: Position(6)])
        // Again another change follows the addition, as in a conversation in which the fan-out has advanced.
        effects = catchUp.handle(
            page([addition(7, of: other, at: 7), change(8, of: other, at: 9), change(10, of: known, at: 11)]))
        #expect(lookedUp(effects) == [other])
    }

    @Test("a replay without known conversations defers nothing")
    func alone() {
        var (catchUp, effects) = replay([entry(new, position: 2, after: 0, oldestAt: 5)])
        #expect(cursors(effects) == [new: .zero])
        effects = catchUp.handle(
            page([change(1, of: new, at: 5, .conversationCreated(nil)), change(2, of: new, at: 6)]))
        #expect(lookedUp(effects) == [new])
    }

    @Test("the user's own log entries about a deferred conversation follow its creation")
    func ownLog() {
        var (catchUp, effects) = replay([
            entry(new, position: 1, after: 0, oldestAt: 5), entry(known, position: 9, after: 7, oldestAt: 20),
        ])
        let hidden = UserChange(
            appID: Fixture.app, user: Fixture.ben, position: Position(1), createdAt: Fixture.time(6),
            content: .conversationHidden(new, upTo: Position(1), wholly: true))
        let entries: [LogPage.Entry] = [.userChange(hidden), .change(change(8, of: known, at: 20))]
        effects = catchUp.handle(.page(LogPage(entries: entries, reachesHeads: true, counts: [:])))
        // Everything is read again, in the order of time.
        #expect(cursors(effects) == [new: .zero, known: Position(7)])
        effects = catchUp.handle(
            .page(
                LogPage(
                    entries: [.change(change(1, of: new, at: 5, .conversationCreated(nil)))] + entries,
                    reachesHeads: true, counts: [:])))
        #expect(lookedUp(effects) == [new])
    }

    @Test("own log entries follow the addition that shows their conversation, also within one page")
    func ownLogInPage() {
        var (catchUp, effects) = replay([
            entry(new, position: 9, after: 6, oldestAt: 7), entry(known, position: 9, after: 7, oldestAt: 8),
        ])
        let hidden = UserChange(
            appID: Fixture.app, user: Fixture.ben, position: Position(1), createdAt: Fixture.time(9),
            content: .conversationHidden(new, upTo: Position(7), wholly: true))
        let entries: [LogPage.Entry] = [
            .change(addition(7, of: new, at: 7)), .change(change(8, of: known, at: 8)), .userChange(hidden),
        ]
        effects = catchUp.handle(.page(LogPage(entries: entries, reachesHeads: true, counts: [:])))
        #expect(lookedUp(effects) == [new])
    }

    @Test("a deletion by others in a conversation that the user left ends no deferral")
    func deletedByOthers() {
        var (catchUp, effects) = replay([
            entry(new, position: 2, after: 0, oldestAt: 5), entry(known, position: 8, after: 7, oldestAt: 20),
        ])
        let deleted = UserChange(
            appID: Fixture.app, user: Fixture.ben, position: Position(1), createdAt: Fixture.time(6),
            content: .conversationDeleted(new))
        let entries: [LogPage.Entry] = [.userChange(deleted), .change(change(8, of: known, at: 20))]
        effects = catchUp.handle(.page(LogPage(entries: entries, reachesHeads: true, counts: [:])))
        #expect(sent(effects)?.changes.map(\.position) == [Position(8)])
    }

    @Test("after a number of pages a replay continues in time order, so that a repeatedly disconnected client finishes")
    func bounded() {
        var (catchUp, effects) = replay([
            entry(new, position: 1, after: 0, oldestAt: 5), entry(known, position: 1000, after: 7, oldestAt: 20),
        ])
        var reads = 0
        while reads < 1000, let cursors = cursors(effects), cursors[new] == nil {
            reads += 1
            let position = 7 + Int64(reads)
            effects = catchUp.handle(page([change(position, of: known, at: 20 + position)], reachesHeads: false))
            #expect(sent(effects)?.stampLimit == Fixture.time(5))
            effects = catchUp.handle(.sent)
        }
        #expect(reads == ReplayPlan.maximumDeferredReads)
        #expect(cursors(effects)?[known] == Position(7 + Int64(reads)))
        // The conversation is not deferred again, although the other one has more changes.
        effects = catchUp.handle(
            page([change(1, of: new, at: 5, .conversationCreated(nil)), change(1000, of: known, at: 2000)]))
        #expect(lookedUp(effects) == [new])
    }

    // MARK: The socket

    @Test("after a failed look-up, the rest of a page is read again before logs that begin later")
    func repeated() {
        var catchUp = CatchUp(.opened, for: Fixture.ben, beginning: Fixture.time(0), widths: 2...2)
        let first = ConversationID.random()
        let entries = [
            entry(first, position: 1, after: 0, oldestAt: 1), entry(known, position: 2, after: 0, oldestAt: 3),
            entry(.random(), position: 1, after: 0, oldestAt: 5), entry(.random(), position: 1, after: 0, oldestAt: 6),
        ]
        _ = catchUp.begin()
        _ = catchUp.handle(.listeningToList(entries.map(\.id)))
        var effects = catchUp.handle(
            .baseline(
                Baseline(
                    entries: entries, userPosition: Position(1), userAfter: .zero, asOf: Fixture.time(5000),
                    isComplete: true), took: .zero))
        #expect(cursors(effects) == [first: .zero, known: .zero])
        let own = UserChange(
            appID: Fixture.app, user: Fixture.ben, position: Position(1), createdAt: Fixture.time(2),
            content: .conversationHidden(new, upTo: Position(1), wholly: false))
        effects = catchUp.handle(
            .page(
                LogPage(
                    entries: [
                        .change(change(1, of: first, at: 1)), .userChange(own), .change(change(1, of: known, at: 3)),
                        .change(change(2, of: known, at: 9)),
                    ], reachesHeads: true, counts: [:])))
        #expect(sent(effects)?.changes.map(\.position) == [Position(1)])
        effects = catchUp.handle(.sent)
        #expect(lookedUp(effects) == [new])
        _ = catchUp.handle(.failed(.unavailable))
        #expect(cursors(catchUp.handle(.rested))?[known] == .zero)
    }

    @Test("packets of a replay have no later time than the deferred conversations")
    func stamps() async throws {
        let harness = try await GatewayHarness()
        let test = try await harness.socket(of: Fixture.ben, at: 4)
        let items: [ReplayItem] = [.change(Fixture.change(5)), .change(Fixture.change(6))]
        let held = try await harness.onLoop { _ in
            _ = test.socket.sendReplay(items, from: 0, stampLimit: Fixture.time(3))
            return test.socket.outbox.sequence.floor
        }
        #expect(held == Fixture.time(3))
        let released = try await harness.onLoop { _ in
            _ = test.socket.sendReplay([.change(Fixture.change(7))], from: 0)
            return test.socket.outbox.sequence.floor
        }
        #expect(released == Fixture.time(7))
        #expect(try await test.positions() == [5, 6, 7])
    }

    @Test("a client receives changes of known conversations before new conversations")
    func order() async throws {
        try await FakeConversations.run { harness, fake in
            fake.setPendingChanges([(new, 1, 0), (Fixture.conversation, 4, 2)])
            let ben = try await harness.newSocket(of: Fixture.ben)
            try await ben.askForReplay()
            try await harness.until { _ in ben.socket.requests.replay == nil }
            let packets = try await ben.packets().compactMap { $0["body"]?["object"]?["id"]?.stringValue }
            #expect(packets == [Fixture.conversation, Fixture.conversation, new].map(\.layerID))
            let conversations = try await harness.onLoop { _ in Set(ben.socket.registration.conversations.map(\.id)) }
            #expect(conversations == [Fixture.conversation, new])
        }
    }
}
