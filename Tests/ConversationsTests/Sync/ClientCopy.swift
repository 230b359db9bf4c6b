// SPDX-License-Identifier: Apache-2.0
import StrataModel

@testable import Conversations

/// What a client keeps of one conversation, brought up to date from the log alone.
struct ClientCopy {
    let user: UserID
    private(set) var messages: [MessageID: Message] = [:]
    /// Nil: the user has deleted it since it was loaded; when it comes back it is loaded anew.
    private(set) var participants: Set<String>?
    private(set) var position: Position
    private(set) var ownPosition = Position.zero

    /// A conversation that has just been loaded, without messages.
    init(user: String, of view: ConversationView) {
        self.user = UserID(trusted: user)
        participants = Set(view.conversation.participants.map(\.userID.rawValue))
        position = view.conversation.position
    }

    var unread: Int { messages.values.count { $0.isUnread(by: user) } }

    mutating func apply(_ entry: CallsFixture.Owed) {
        switch entry {
        case .skipped(_, let position): self.position = position
        case .change(let change):
            position = change.position
            apply(change.content)
            // Who is added, or added again, has read everything before, which no other change tells.
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
        // Stock clients set what they are told, and so go back if they are told less than they know.
        case .receipts(let receipts): for receipt in receipts { set(receipt.messageID, receipt.user) { _ in receipt.status } }
        case .allRead(let user, let upTo, _):
            for message in messages.values where message.position <= upTo { raise(message.id, user, to: .read) }
        case .partsChanged(let id, _, _, let message): messages[id] = message
        case .conversationCreated, .metadataChanged, .conversationDeleted: break
        }
    }

    private mutating func raise(_ id: MessageID, _ user: UserID, to status: RecipientStatus) { set(id, user) { max(status, $0) } }

    private mutating func set(_ id: MessageID, _ user: UserID, _ next: (RecipientStatus) -> RecipientStatus) {
        guard var message = messages[id], let index = message.recipients.firstIndex(where: { $0.userID == user }) else { return }
        message.recipients[index].status = next(message.recipients[index].status)
        messages[id] = message
    }
}
