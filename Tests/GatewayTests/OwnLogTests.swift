// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import NIOCore
import NIOEmbedded
import StrataModel
import StrataWire
import SwiftProtobuf
import Synchronization
import Testing

@testable import FanOut
@testable import Gateway
@testable import Sync

/// Changes that a user makes on one device and another device receives, while the user's conversations change.
@Suite(.timeLimit(.minutes(3)))
struct OwnLogTests {
    private static let id = Fixture.conversation

    /// Returns the kinds of the packets, without their content.
    private func kinds(_ packets: [JSONValue]) -> [String] {
        packets.map { packet in
            let body = packet["body"]
            let type = body?["object"]?["type"]?.stringValue ?? "Message"
            return "\(body?["operation"]?.stringValue ?? "?") \(type)"
        }
    }

    private func message(_ ordinal: Int64, at position: Int64) -> Change {
        var change = Fixture.change(
            position, .messageCreated(id: .random(), ordinal: ordinal, Fixture.message(ordinal, at: position)))
        change.messageCount = ordinal
        return change
    }

    private func view(at position: Int64, counts: UserCounts, messageCount: Int64) -> ConversationView {
        var view = Fixture.view(at: position)
        view.counts = counts
        view.messageCount = messageCount
        return view
    }

    private func operations(_ packet: JSONValue) -> [JSONValue] { packet["body"]?["data"]?.arrayValue ?? [] }

    private func counts(_ packets: [JSONValue]) -> [String: Int64] {
        var found: [String: Int64] = [:]
        for operation in packets.flatMap({ operations($0) }) {
            if let property = operation["property"]?.stringValue, let value = operation["value"]?.integerValue {
                found[property] = value
            }
        }
        return found
    }

    @Test("a deletion from the user's own devices that overtakes its message waits for that message")
    func overtaking() async throws {
        let harness = try await GatewayHarness()
        let ben = try await harness.socket(of: Fixture.ben, at: 1)
        try await harness.publish(.conversationHidden(Self.id, upTo: Position(2), wholly: true), to: Fixture.ben, at: 1)
        #expect(try await ben.packets().isEmpty)
        try await harness.publish(message(1, at: 2))
        #expect(kinds(try await ben.packets()) == ["create Message", "update Conversation", "delete Conversation"])
        try await harness.publish(Fixture.change(3))
        #expect(try await ben.packets().isEmpty)
    }

    @Test(
        "a deferred entry's prerequisite is read from the log if its publication was lost, and later entries wait too")
    func lost() async throws {
        let harness = try await GatewayHarness()
        let ben = try await harness.socket(of: Fixture.ben, at: 1)
        harness.log.append(message(1, at: 2))
        try await harness.publish(.conversationHidden(Self.id, upTo: Position(2), wholly: true), to: Fixture.ben, at: 1)
        try await harness.publish(.unfollowed(Fixture.ana), to: Fixture.ben, at: 2)
        #expect(try await ben.packets().isEmpty)
        await harness.loop.advanceTime(by: .milliseconds(100))
        try await harness.until { $0.registry.deferring.sockets.isEmpty }
        #expect(
            kinds(try await ben.packets()) == [
                "create Message", "update Conversation", "delete Conversation", "delete Identity",
            ])
    }

    @Test("a hide that arrives after a newer message sends current counts, and no older last message")
    func late() async throws {
        let harness = try await GatewayHarness()
        let ben = try await harness.socket(of: Fixture.ben, at: 1)
        try await harness.publish(message(1, at: 2))
        try await harness.publish(message(2, at: 3))
        _ = try await ben.packets()
        // The view after the first message.
        let hidden = view(at: 2, counts: UserCounts(excluded: 1, hidden: 1, position: Position(2)), messageCount: 1)
        try await harness.publish(.messageHidden(.random(), view: hidden), to: Fixture.ben, at: 1)
        let packets = try await ben.packets()
        #expect(kinds(packets) == ["delete Message", "update Conversation"])
        #expect(counts(packets) == ["unread_message_count": 1, "total_message_count": 1])
        #expect(!operations(packets[1]).contains { $0["property"]?.stringValue == "last_message" })
        try await harness.publish(message(3, at: 4))
        #expect(counts(try await ben.packets()) == ["unread_message_count": 2, "total_message_count": 2])
    }

    private static let removal = Change.Content.participantsChanged(
        added: [], removed: [Fixture.ben], distinctCleared: false, conversation: nil)

    @Test("a hide from before the user left sends the counts as of leaving, and no older last message")
    func hiddenThenLeft() async throws {
        let harness = try await GatewayHarness()
        let ben = try await harness.socket(of: Fixture.ben, at: 1)
        try await harness.publish(message(1, at: 2))
        try await harness.publish(message(2, at: 3))
        var removal = Fixture.change(4, Self.removal)
        removal.messageCount = 2
        try await harness.publish(removal)
        _ = try await ben.packets()
        // The view after the first message.
        let before = view(at: 2, counts: UserCounts(excluded: 1, hidden: 1, position: Position(2)), messageCount: 1)
        try await harness.publish(.messageHidden(.random(), view: before), to: Fixture.ben, at: 1)
        var packets = try await ben.packets()
        #expect(kinds(packets) == ["delete Message", "update Conversation"])
        #expect(counts(packets) == ["unread_message_count": 1, "total_message_count": 1])
        #expect(!operations(packets[1]).contains { $0["property"]?.stringValue == "last_message" })
        // After the second, which was the last message, the new last message must be sent.
        let last = view(at: 3, counts: UserCounts(excluded: 2, hidden: 2, position: Position(3)), messageCount: 2)
        try await harness.publish(.messageHidden(.random(), view: last), to: Fixture.ben, at: 2)
        packets = try await ben.packets()
        #expect(counts(packets) == ["unread_message_count": 0, "total_message_count": 0])
        #expect(operations(packets[1]).contains { $0["property"]?.stringValue == "last_message" })
    }

    @Test("a conversation hidden, shown, left and received in another order is shown as of leaving")
    func shownThenLeft() async throws {
        let harness = try await GatewayHarness()
        let ben = try await harness.socket(of: Fixture.ben, at: 1)
        try await harness.publish(.conversationHidden(Self.id, upTo: Position(1), wholly: true), to: Fixture.ben, at: 1)
        try await harness.publish(Fixture.change(2, Self.removal))
        _ = try await ben.packets()
        var before = view(at: 1, counts: UserCounts(excluded: 0, hidden: 0, position: Position(1)), messageCount: 3)
        before.conversation.participants = [BasicIdentity(userID: Fixture.ana)]
        try await harness.publish(.conversationShown(before), to: Fixture.ben, at: 2)
        let packets = try await ben.packets()
        #expect(kinds(packets) == ["create Conversation"])
        #expect(packets[0]["body"]?["data"]?["participants"]?.arrayValue?.isEmpty == true)
        #expect(packets[0]["body"]?["data"]?["unread_message_count"]?.integerValue == 3)
    }

    @Test("a deletion of a conversation that a catch-up is about to attach waits for the attachment")
    func joining() async throws {
        let harness = try await GatewayHarness()
        let ben = try await harness.socket(of: Fixture.ben, in: Self.other, at: 1)
        try await harness.onLoop { _ in ben.socket.willAttach([Self.id]) }
        try await harness.publish(.conversationHidden(Self.id, upTo: Position(2), wholly: true), to: Fixture.ben, at: 1)
        #expect(try await ben.packets().isEmpty)
        try await harness.onLoop { harness in
            ben.socket.willAttach([])
            harness.registry.flushDeferred()
        }
        #expect(kinds(try await ben.packets()) == ["delete Conversation"])
    }

    private static let other = ConversationID.random()

    @Test("a conversation deleted and restored before a catch-up read it keeps its newer messages")
    func back() async throws {
        let harness = try await GatewayHarness()
        let ben = try await harness.socket(of: Fixture.ben, at: 5)
        try await harness.publish(.conversationHidden(Self.id, upTo: Position(3), wholly: true), to: Fixture.ben, at: 1)
        let packets = try await ben.packets()
        #expect(kinds(packets) == ["delete Conversation"])
        #expect(packets[0]["body"]?["data"]?["from_position"]?.integerValue == Position(3).wireValue)
        try await harness.publish(Fixture.change(6))
        #expect(try await ben.packets().count == 1)
    }

    @Test("a conversation deleted, restored and left, with the deletion received last, is shown again with its counts")
    func left() async throws {
        try await FakeConversations.run { harness, fake in
            let (message, removal) = (message(1, at: 2), Fixture.change(3, Self.removal))
            fake.answers.withLock { answers in
                answers.view = { $0 == Self.id ? Position(3) : nil }
                answers.page = { request in
                    .with { page in
                        page.reachesHeads = true
                        for change in [message, removal]
                        where request.cursors.contains(where: { $0.after < change.position.rawValue }) {
                            page.entries.append(.with { $0.change = ProtoChange(change) })
                        }
                        page.numbers = [
                            .with {
                                $0.conversationID = Data(Self.id)
                                $0.isListed = true
                            }
                        ]
                    }
                }
            }
            let ben = try await harness.socket(of: Fixture.ben, at: 1)
            try await harness.publish(message)
            try await harness.publish(removal)
            _ = try await ben.packets()
            try await harness.publish(
                .conversationHidden(Self.id, upTo: Position(1), wholly: true), to: Fixture.ben, at: 1)
            try await harness.until { _ in
                !ben.socket.catchUps.schedule.isRunning && ben.socket.catchUps.schedule.attempt > 0
            }
            let packets = try await ben.packets()
            #expect(kinds(packets).prefix(3) == ["delete Conversation", "create Conversation", "create Message"])
            #expect(packets[0]["body"]?["data"]?["from_position"]?.integerValue == nil)
        }
    }

    @Test(
        "a conversation deleted before its create was answered gets the answer first, with no later packet time"
    )
    func deletedBeforeTheAnswer() async throws {
        try await FakeConversations.run { harness, fake in
            let ben = try await harness.socket(of: Fixture.ben, in: Self.other, at: 1)
            let (isAsked, mayAnswer) = (Flag(), Flag())
            fake.answers.withLock { answers in
                answers.created = {
                    isAsked.set()
                    while !mayAnswer.isSet { await Task.yield() }
                }
            }
            let new = ConversationID.random()
            try await ben.ask(
                "Conversation.create", data: #"{"id":"layer:///conversations/\#(new.rawValue)","participants":[]}"#)
            try await harness.until { _ in isAsked.isSet }
            try await harness.onLoop { $0.registry.clock = DatabaseClock(asOf: Fixture.time(3), heardAt: $0.loop.now) }
            try await harness.publish(.conversationHidden(new, upTo: Position(1), wholly: true), to: Fixture.ben, at: 1)
            try await harness.publish(Fixture.change(2, of: Self.other))
            let meanwhile = try await ben.packets()
            #expect(meanwhile.map { $0["type"]?.stringValue } == ["change"])
            #expect(meanwhile.map { $0["timestamp"]?.stringValue } == [ISO8601.string(Fixture.time(1))])
            mayAnswer.set()
            try await harness.until { $0.registry.deferring.sockets.isEmpty }
            let packets = try await ben.packets()
            #expect(packets.map { $0["type"]?.stringValue } == ["response", "change"])
            #expect(packets.last?["body"]?["operation"]?.stringValue == "delete")
        }
    }
}
