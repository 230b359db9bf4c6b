// SPDX-License-Identifier: Apache-2.0
import StrataModel

@testable import Conversations

/// A client's copy of one conversation, updated from the log alone.
struct ClientCopy {
    let user: UserID
    private(set) var messages: [MessageID: Message] = [:]
    /// nil: the user has deleted the conversation since it was loaded. It is reloaded when it is shown again.
    private(set) var participants: Set<String>?
    private(set) var position: Position
    private(set) var ownPosition = Position.zero

    /// Creates a copy of a conversation just loaded, without messages.
    init(user: String, of view: ConversationView) {
        self.user = UserID(trusted: user)
        participants = Set(view.conversation.participants.map(\.userID.rawValue))
        position = view.conversation.position
    }

    var unread: Int { messages.values.count { $0.isUnread(by: user) } }

    mutating func apply(_ entry: CallsFixture.CatchUpEntry) {
        switch entry {
        case .skipped(_, let position): self.position = position
        case .change(let change):
            position = change.position
            apply(change.content)
            // An added user has read all earlier messages, which no other change announces.
            guard case .participantsChanged(let added, _, _, _) = change.content else { return }
            for message in messages.values where message.position < change.position {
                for identity in added { raise(message.id, identity.userID, to: .read) }
            }
        case .user(let change):
            ownPosition = change.position
            switch change.content {
            case .conversationHidden(_, let upTo, _):
                messages = messages.filter { $0.value.position > upTo }
                participants = nil
            case .messageHidden(let id, _), .messageDeleted(let id, _, _): messages[id] = nil
            case .messagesHidden(let upTo, _): messages = messages.filter { $0.value.position > upTo }
            default: break
            }
        }
    }

    private mutating func apply(_ content: Change.Content) {
        switch content {
        case .participantsChanged(let added, let removed, _, _):
            participants?.formUnion(added.map(\.userID.rawValue))
            participants?.subtract(removed.map(\.rawValue))
        case .messageCreated(let id, _, let message): messages[id] = message
        case .messageDeleted(let id, _, _): messages[id] = nil
        // Stock clients set the received status, even if it is lower than the known one.
        case .receipts(let receipts):
            for receipt in receipts { set(receipt.messageID, receipt.user) { _ in receipt.status } }
        case .allRead(let user, let upTo, _):
            for message in messages.values where message.position <= upTo { raise(message.id, user, to: .read) }
        case .partsChanged(let id, _, _, let message): messages[id] = message
        case .conversationCreated, .metadataChanged, .conversationDeleted: break
        }
    }

    private mutating func raise(_ id: MessageID, _ user: UserID, to status: RecipientStatus) {
        set(id, user) { max(status, $0) }
    }

    private mutating func set(_ id: MessageID, _ user: UserID, _ next: (RecipientStatus) -> RecipientStatus) {
        guard var message = messages[id], let index = message.recipients.firstIndex(where: { $0.userID == user }) else {
            return
        }
        message.recipients[index].status = next(message.recipients[index].status)
        messages[id] = message
    }
}
