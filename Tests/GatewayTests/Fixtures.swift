// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import StrataModel

@testable import FanOut
@testable import Gateway

/// Constants and factories for values in tests.
enum Fixture {
    static let app = AppID(rawValue: UUID())
    static let conversation = ConversationID(rawValue: UUID())
    static let ana = UserID(trusted: "ana")
    static let ben = UserID(trusted: "ben")

    static func time(_ seconds: Int64) -> Timestamp {
        Timestamp(microseconds: 1_800_000_000_000_000 + seconds * 1_000_000)
    }

    /// Returns a change of metadata, the smallest possible change.
    static func change(
        _ position: Int64, of conversation: ConversationID = conversation,
        _ content: Change.Content = .metadataChanged([])
    ) -> Change {
        Change(
            appID: app, conversationID: conversation, position: Position(position), createdAt: time(position),
            actor: ana, origin: nil,
            messageCount: 0, counts: [:], content: content)
    }

    static func message(_ ordinal: Int64, at position: Int64) -> Message {
        Message(
            id: .random(), conversationID: conversation, position: Position(position), ordinal: ordinal,
            sender: .user(BasicIdentity(userID: ana)),
            sentAt: time(position), parts: [],
            recipients: [.init(userID: ana, status: .read), .init(userID: ben, status: .sent)])
    }

    static func view(at position: Int64, isParticipant: Bool = true) -> ConversationView {
        ConversationView(
            conversation: Conversation(
                id: conversation, createdAt: time(0), isDistinct: true, participants: [], metadata: MetadataTree(),
                position: Position(position)),
            isParticipant: isParticipant, lastMessage: nil,
            counts: UserCounts(excluded: 0, hidden: 0, position: Position(position)),
            messageCount: 0)
    }
}
