// SPDX-License-Identifier: Apache-2.0
import StrataModel
import StrataWire
import Testing

@testable import FanOut
@testable import Gateway

/// Deletions for all participants of messages that a former participant keeps, and a user's deletion of messages up to
/// a position.
@Suite(.timeLimit(.minutes(3)))
struct FormerLogTests {
    private static let id = Fixture.conversation
    private static let removal = Change.Content.participantsChanged(
        added: [], removed: [Fixture.ben], distinctCleared: false, conversation: nil)

    private func kinds(_ packets: [JSONValue]) -> [String] {
        packets.map { packet in
            let body = packet["body"]
            return "\(body?["operation"]?.stringValue ?? "?") \(body?["object"]?["type"]?.stringValue ?? "?")"
        }
    }

    private func counts(_ packets: [JSONValue]) -> [String: Int64] {
        var found: [String: Int64] = [:]
        for operation in packets.flatMap({ $0["body"]?["data"]?.arrayValue ?? [] }) {
            if let property = operation["property"]?.stringValue, let value = operation["value"]?.integerValue {
                found[property] = value
            }
        }
        return found
    }

    private func message(_ ordinal: Int64, at position: Int64) -> Change {
        var change = Fixture.change(
            position, .messageCreated(id: .random(), ordinal: ordinal, Fixture.message(ordinal, at: position)))
        change.messageCount = ordinal
        return change
    }

    /// Returns the conversation as seen by ben, who left at this position.
    private func view(leftAt position: Int64, counts: UserCounts, messageCount: Int64) -> ConversationView {
        var view = Fixture.view(at: position)
        view.isParticipant = false
        view.counts = counts
        view.messageCount = messageCount
        return view
    }

    @Test("an own log entry that reveals newer changes is deferred until they are read and the removal was sent")
    func message() async throws {
        let harness = try await GatewayHarness()
        let ben = try await harness.socket(of: Fixture.ben, at: 1)
        try await harness.publish(message(1, at: 2))
        try await harness.publish(message(2, at: 3))
        _ = try await ben.packets()
        let left = view(leftAt: 4, counts: UserCounts(excluded: 1, hidden: 1, position: Position(4)), messageCount: 2)
        try await harness.publish(
            .messageDeleted(.random(), in: Self.id, view: left), to: Fixture.ben, at: 1, isLogged: true)
        try await harness.until { !$0.registry.deferring.sockets.isEmpty }
        #expect(try await ben.packets().isEmpty)
        var removal = Fixture.change(4, Self.removal)
        removal.messageCount = 2
        try await harness.publish(removal)
        let packets = try await ben.packets()
        #expect(kinds(packets) == ["update Conversation", "delete Message", "update Conversation"])
        #expect(packets[1]["body"]?["user_position"]?.integerValue == 1)
        #expect(counts(packets) == ["unread_message_count": 1, "total_message_count": 1])
    }

    @Test("a deletion of a conversation after the user had left follows the packet of their removal")
    func conversation() async throws {
        let harness = try await GatewayHarness()
        let ben = try await harness.socket(of: Fixture.ben, at: 1)
        try await harness.publish(.conversationDeleted(Self.id), to: Fixture.ben, at: 1, isLogged: true)
        try await harness.until { !$0.registry.deferring.sockets.isEmpty }
        #expect(try await ben.packets().isEmpty)
        try await harness.publish(Fixture.change(2, Self.removal))
        #expect(kinds(try await ben.packets()) == ["update Conversation", "delete Conversation"])
    }

    @Test("an old entry about a re-added user sends the message's deletion without counts")
    func addedAgain() async throws {
        let harness = try await GatewayHarness()
        let ben = try await harness.socket(of: Fixture.ben, at: 5)
        try await harness.publish(.messageDeleted(.random(), in: Self.id, view: nil), to: Fixture.ben, at: 1)
        #expect(kinds(try await ben.packets()) == ["delete Message"])
    }

    @Test("a deletion up to a position keeps the conversation, and the next message has the counts of the rest")
    func upTo() async throws {
        let harness = try await GatewayHarness()
        let ben = try await harness.socket(of: Fixture.ben, at: 1)
        for ordinal in 1...3 { try await harness.publish(message(Int64(ordinal), at: Int64(ordinal) + 1)) }
        _ = try await ben.packets()
        var left = Fixture.view(at: 4)
        (left.counts, left.messageCount) = (UserCounts(excluded: 2, hidden: 2, position: Position(4)), 3)
        try await harness.publish(.messagesHidden(upTo: Position(3), view: left), to: Fixture.ben, at: 1)
        let packets = try await ben.packets()
        #expect(kinds(packets) == ["delete Conversation", "update Conversation"])
        #expect(packets[0]["body"]?["data"]?["from_position"]?.integerValue == Position(3).wireValue)
        #expect(counts(packets) == ["unread_message_count": 1, "total_message_count": 1])
        try await harness.publish(message(4, at: 5))
        let next = try await ben.packets()
        #expect(kinds(next) == ["create Message", "update Conversation"])
        #expect(counts(next) == ["unread_message_count": 2, "total_message_count": 2])
    }
}
