// SPDX-License-Identifier: Apache-2.0
import Contracts
import NIOCore
import NIOEmbedded
import StrataModel
import StrataWire
import Synchronization
import Testing

@testable import FanOut
@testable import Gateway

/// Filtering of blocked users' events on a gateway's sockets.
@Suite(.timeLimit(.minutes(3)))
struct BlockTests {
    private static let cleo = UserID(trusted: "cleo")

    private func entry(_ position: Int64, _ content: UserChange.Content, of user: UserID = Fixture.ben) -> UserChange {
        UserChange(
            appID: Fixture.app, user: user, position: Position(position), createdAt: Fixture.time(position),
            content: content)
    }

    // MARK: Blocked users

    @Test("the newest entry about a user wins in any order, and a loaded list contains all entries before it")
    func newest() {
        var blocks = BlockedUsers(blocked: [Fixture.ana], blockedBy: [], position: Position(3))
        blocks.apply(entry(3, .blocksChanged(blocked: [], unblocked: [Fixture.ana])))
        #expect(blocks.contains(Fixture.ana))
        blocks.apply(entry(5, .blocksChanged(blocked: [], unblocked: [Fixture.ana])))
        blocks.apply(entry(4, .blocksChanged(blocked: [Fixture.ana, Self.cleo], unblocked: [])))
        #expect(!blocks.contains(Fixture.ana) && blocks.contains(Self.cleo))
        // A block by the other user is independent of the own block.
        blocks.apply(entry(6, .blockedBy(Self.cleo, isBlocked: true)))
        blocks.apply(entry(7, .blocksChanged(blocked: [], unblocked: [Self.cleo])))
        #expect(blocks.contains(Self.cleo))
        blocks.apply(entry(8, .blockedBy(Self.cleo, isBlocked: false)))
        #expect(blocks.users == [])
    }

    @Test("a reloaded block list replaces the known one, except for newer entries")
    func readAgain() {
        var blocks = BlockedUsers(blocked: [], blockedBy: [], position: Position(1))
        blocks.apply(entry(4, .blocksChanged(blocked: [Fixture.ana], unblocked: [])))
        blocks.replace(by: BlockedUsers(blocked: [], blockedBy: [Self.cleo], position: Position(3)))
        #expect(blocks.users == [Fixture.ana, Self.cleo])
        blocks.replace(by: BlockedUsers(blocked: [], blockedBy: [], position: Position(2)))
        #expect(blocks.users == [Fixture.ana, Self.cleo])
        blocks.replace(by: BlockedUsers(blocked: [], blockedBy: [], position: Position(5)))
        #expect(blocks.users == [])
    }

    @Test("a gateway reads all blocks of a user, however many exist")
    func many() async throws {
        try await FakeConversations.run { harness, fake in
            let call = GatewayServices.Call(UserKey(app: Fixture.app, user: Fixture.ben), budget: .seconds(60))
            func name(_ number: Int) -> String { String(number + 100_000) }
            for count in [0, 1, BlocksAPI.pairsPageSize, 2 * BlocksAPI.pairsPageSize + 1] {
                // Every third user has a block in both directions.
                let own = (0..<count).filter { $0 % 3 != 1 }.map(name)
                let others = (0..<count).filter { $0 % 3 != 2 }.map(name)
                fake.answers.withLock { $0.blocks = (own, others) }
                let read = try await harness.services.blockedUsers(since: .zero, for: call)
                let (blocked, blockedBy) = (own.map { UserID(trusted: $0) }, others.map { UserID(trusted: $0) })
                #expect(read == BlockedUsers(blocked: blocked, blockedBy: blockedBy, position: .zero), "\(count)")
            }
        }
    }

    // MARK: The newest message

    @Test("a message that is hidden from a user is not their newest one, but the next visible message is")
    func newestMessage() {
        var messages = LastMessages()
        messages.created(at: Position(2), hiddenFrom: [])
        messages.created(at: Position(3), hiddenFrom: [Fixture.ben])
        messages.created(at: Position(4), hiddenFrom: [Fixture.ben, Self.cleo])
        #expect(messages.newest(of: Fixture.ana) == Position(4) && messages.newest(of: Fixture.ben) == Position(2))
        #expect(messages.newest(of: Self.cleo) == Position(3) && messages.lastUpdate(for: Self.cleo) == Position(3))
        messages.deleted(at: Position(5), hiddenFrom: [Fixture.ben])
        #expect(
            messages.lastUpdate(for: Fixture.ben) == Position(2) && messages.lastUpdate(for: Self.cleo) == Position(5))
        messages.created(at: Position(6), hiddenFrom: [])
        #expect(messages.newest(of: Fixture.ben) == Position(6) && messages.lastUpdate(for: Self.cleo) == Position(6))
    }

    // MARK: Sockets

    private func message(_ position: Int64, hiddenFrom users: [UserID] = []) -> Change {
        var change = Fixture.change(
            position, .messageCreated(id: .random(), ordinal: position, Fixture.message(position, at: position)))
        change.messageCount = position
        change.hiddenFrom = users
        for user in users { change.counts[user] = UserCounts(excluded: 1, hidden: 1, position: change.position) }
        return change
    }

    @Test(
        "a hidden message reaches all users except those it is hidden from, who keep correct counts",
        arguments: [false, true])
    func hiddenMessage(isFromLog: Bool) async throws {
        let harness = try await GatewayHarness()
        let (ben, cleo) = (
            try await harness.socket(of: Fixture.ben, at: 4), try await harness.socket(of: Self.cleo, at: 4)
        )
        var hidden = message(5, hiddenFrom: [Fixture.ben])
        if isFromLog {
            hidden.counts = [:]
            harness.log.append(hidden, message(6))
            try await harness.publish(message(6))
            await harness.loop.advanceTime(by: .milliseconds(100))
            try await harness.until { $0.registry.conversations[Fixture.conversation]?.last == Position(6) }
        } else {
            try await harness.publish(hidden)
            try await harness.publish(message(6))
        }
        let told = try await ben.positions()
        #expect(!told.contains(5) && told.contains(6))
        #expect(try await cleo.positions().contains(5))
    }

    @Test("a hidden message does not restore a conversation deleted from the devices; the next visible one does")
    func deletedConversation() async throws {
        let harness = try await GatewayHarness()
        _ = try await harness.socket(of: Fixture.ben, at: 4)
        try await harness.onLoop { harness in
            guard let conversation = harness.registry.conversations[Fixture.conversation] else { return }
            conversation.members[0].isHidden = true
        }
        try await harness.publish(message(5, hiddenFrom: [Fixture.ben]))
        #expect(try await harness.onLoop { $0.registry.conversations[Fixture.conversation]?.members.count } == 1)
        try await harness.publish(message(6))
        #expect(try await harness.onLoop { $0.registry.conversations[Fixture.conversation]?.members.count ?? 0 } == 0)
    }

    @Test(
        "typing is hidden between users with a block, in both directions, from the own log's entry on",
        arguments: [true, false])
    func typing(isOwn: Bool) async throws {
        let harness = try await GatewayHarness()
        let socket = try await harness.socket(of: Fixture.ben, at: 4)
        let key = UserKey(app: Fixture.app, user: Fixture.ben)
        let blocked: UserChange.Content =
            isOwn ? .blocksChanged(blocked: [Fixture.ana], unblocked: []) : .blockedBy(Fixture.ana, isBlocked: true)
        let free: UserChange.Content =
            isOwn ? .blocksChanged(blocked: [], unblocked: [Fixture.ana]) : .blockedBy(Fixture.ana, isBlocked: false)
        try await harness.onLoop { $0.registry.services.remember(BasicIdentity(userID: Fixture.ana), in: Fixture.app) }
        func signalTyping() async throws {
            try await harness.onLoop {
                $0.registry.deliverTyping(
                    TypingSignal(conversationID: Fixture.conversation, user: Fixture.ana, action: .started))
            }
        }
        func typed() async throws -> Int { try await socket.packets().count { $0["type"] == .string("signal") } }
        let (first, last) = (entry(1, blocked), entry(2, free))
        try await harness.onLoop { $0.registry.blocksChanged(first, of: key) }
        try await signalTyping()
        #expect(try await typed() == 0)
        try await harness.onLoop { $0.registry.blocksChanged(last, of: key) }
        try await signalTyping()
        #expect(try await typed() == 1)
    }

    @Test("presence is hidden between users with a block, who see each other go offline")
    func presence() async throws {
        let harness = try await GatewayHarness()
        let socket = try await harness.socket(of: Fixture.ben, at: 4)
        let key = UserKey(app: Fixture.app, user: Fixture.ben)
        let other = UserKey(app: Fixture.app, user: Fixture.ana)
        let blocked = entry(1, .blockedBy(Fixture.ana, isBlocked: true))
        try await harness.onLoop {
            if let socket = $0.registry.userSockets[key]?.sockets.first { $0.registry.watch([other], by: socket) }
            $0.registry.blocksChanged(blocked, of: key)
            $0.registry.presenceChanged(
                PresencePublication(
                    appID: Fixture.app, user: Fixture.ana, presence: Presence(status: .busy, lastSeenAt: nil)))
        }
        let told = try await socket.packets()
            .filter { $0["body"]?["object"]?["id"] == .string("layer:///identities/ana") }
        #expect(told.map { $0["body"]?["data"]?[0]?["value"] } == [.string("offline")])
    }
}
