// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import StrataModel

@testable import StrataKit

extension ModelServer {
    // MARK: Receipts

    func giveReceipts(
        _ status: RecipientStatus, _ ids: [MessageID], in id: ConversationID, by user: UserID
    ) -> Result<Place, Refusal> {
        if let refusal = refusal(of: user, in: id) { return .failure(refusal) }
        guard let conversation = database.conversations[id] else { return .failure(Refusal(id: "not_found")) }
        let receipts = conversation.messages
            .filter { message in
                ids.contains(message.id) && conversation.isVisible(message, to: user) && message.sender != user
                    && (message.statuses[user] ?? .read) < status
            }
            .map { ModelEntry.Receipt(message: $0.id, user: user, status: status) }
        guard !receipts.isEmpty else { return .success(Place()) }
        let position = commit(.receipts(receipts), in: id) { conversation in
            for index in conversation.messages.indices
            where receipts.contains(where: { $0.message == conversation.messages[index].id }) {
                conversation.messages[index].statuses[user] = status
            }
        }
        return .success(Place(position: position))
    }

    /// Marks all current messages as read, as another client of the user may do.
    func markAllRead(in id: ConversationID, by user: UserID) {
        guard let conversation = database.conversations[id], conversation.isTold(to: user),
            conversation.unread(by: user) > 0
        else { return }
        let head = conversation.head
        commit(.allRead(user, upTo: head), in: id) { conversation in
            for index in conversation.messages.indices where conversation.messages[index].sender != user {
                conversation.messages[index].statuses[user] = .read
            }
        }
        flush()
    }

    /// Changes the text of a part, as another client may do.
    func changePart(of message: MessageID, to text: String) {
        guard let id = database.places[message],
            let place = database.conversations[id]?.messages.firstIndex(where: { $0.id == message }),
            database.conversations[id]?.messages[place].isDeleted == false,
            database.conversations[id]?.isDeleted == false
        else { return }
        let time = now
        commit(.partChanged(message), in: id) { conversation in
            conversation.messages[place].updatedAt = time
            conversation.messages[place].parts[0]["body"] = .string(text)
            conversation.messages[place].parts[0]["size"] = .integer(Int64(text.utf8.count))
            conversation.messages[place].parts[0]["updated_at"] = .string(Self.time(time))
        }
        flush()
    }

    // MARK: Deletions

    func deleteMessage(_ message: MessageID, _ mode: DeletionMode, by user: UserID) -> Result<Place, Refusal> {
        guard let id = database.places[message], let conversation = database.conversations[id],
            let known = conversation.message(message),
            conversation.isVisible(known, to: user)
        else { return .failure(Refusal(id: "not_found")) }
        if mode == .myDevices {
            database.conversations[id]?.views[user]?.hiddenMessages.insert(message)
            return .success(Place(userPosition: commit(.messageHidden(message, id), of: user)))
        }
        if let refusal = refusal(of: user, in: id) { return .failure(refusal) }
        let former = formerReaders(of: conversation) { conversation.isVisible(known, to: $0) }
        let position = commit(.messageDeleted(message), in: id) { conversation in
            guard let index = conversation.messages.firstIndex(where: { $0.id == message }) else { return }
            conversation.messages[index].isDeleted = true
        }
        for user in former { commit(.messageDeleted(message, id), of: user) }
        return .success(Place(position: position))
    }

    private func formerReaders(of conversation: ModelConversation, where isReader: (UserID) -> Bool) -> [UserID] {
        conversation.views.filter { !$0.value.isIn && !$0.value.isHidden && isReader($0.key) }.map(\.key).sorted()
    }

    func deleteConversation(_ id: ConversationID, by user: UserID) -> Result<Place, Refusal> {
        if let refusal = refusal(of: user, in: id) { return .failure(refusal) }
        guard let conversation = database.conversations[id] else { return .failure(Refusal(id: "not_found")) }
        let former = formerReaders(of: conversation) { _ in true }
        let position = commit(.deleted, in: id) { $0.isDeleted = true }
        for user in former { commit(.conversationDeleted(id), of: user) }
        return .success(Place(position: position))
    }

    /// Hides a conversation on the user's own devices, up to a position.
    func hideConversation(
        _ id: ConversationID, upTo position: Int64?, leaves: Bool, by user: UserID
    ) -> Result<Place, Refusal> {
        guard let conversation = database.conversations[id], !conversation.isDeleted, conversation.views[user] != nil
        else {
            return .failure(Refusal(id: "not_found"))
        }
        var place = Place()
        if leaves, conversation.views[user]?.isIn == true {
            place.position = changeParticipants([["operation": "remove", "id": .string(user.layerID)]], in: id)
        }
        place.userPosition = hide(id, upTo: min(position ?? .max, conversation.head), by: user)
        return .success(place)
    }

    private func hide(_ id: ConversationID, upTo: Int64, by user: UserID) -> Int64? {
        guard let conversation = database.conversations[id], let view = conversation.views[user], !view.isHidden else {
            return nil
        }
        let messages = conversation.visible(to: user)
        if messages.contains(where: { $0.position > upTo }) || view.isIn && view.joinedAt > upTo {
            guard messages.contains(where: { $0.position <= upTo }) else { return nil }
            database.conversations[id]?.views[user]?.hiddenUpTo = max(view.hiddenUpTo, upTo)
            return commit(.messagesHidden(id, upTo: upTo), of: user)
        }
        database.conversations[id]?.views[user]?.hiddenUpTo = conversation.head
        database.conversations[id]?.views[user]?.isHidden = true
        return commit(.hidden(id, upTo: conversation.head), of: user)
    }
}
