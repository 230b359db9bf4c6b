// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataKit

extension ChatConversation {
    /// - Parameter me: The user of this terminal.
    init(_ conversation: Conversation, me: UserID, isDraft: Bool = false) {
        let people = conversation.participants.sorted { $0.shownName < $1.shownName }
        let others = people.filter { $0.userID != me }.map(\.shownName)
        let title = conversation.metadata["title"] ?? others.joined(separator: ", ")
        self.init(
            id: conversation.id, title: title.isEmpty ? "(without others)" : title,
            unreadCount: conversation.totalUnreadMessageCount,
            people: people.map { Person(name: $0.shownName, isOnline: $0.isOnline) },
            metadata: conversation.metadata.flattened, isDraft: isDraft)
    }
}

extension ChatMessage {
    /// - Parameter me: The user of this terminal.
    init(_ message: Message, me: UserID) {
        let text = message.parts.map { $0.text ?? "[\($0.mimeType), \($0.size) bytes]" }.joined(separator: "\n")
        let time = Calendar.current.dateComponents([.hour, .minute], from: message.sentAt)
        self.init(
            sender: message.sender.shownName, time: String(format: "%02d:%02d", time.hour ?? 0, time.minute ?? 0),
            text: text,
            receipt: message.sender.userID == me ? Receipt(message, me: me) : nil)
    }
}

extension ChatMessage.Receipt {
    fileprivate init(_ message: Message, me: UserID) {
        if let failure = message.failure {
            self = .refused(failure.message)
        } else if !message.isSent {
            self = .waiting
        } else {
            self.init(
                sentTo: message.recipientStatusByUserID.filter { $0.key != me }.values
                    .map(ChatMessage.RecipientProgress.init))
        }
    }
}

extension ChatMessage.RecipientProgress {
    fileprivate init(_ status: RecipientStatus) {
        self = status == .read ? .read : status == .delivered ? .delivered : .none
    }
}

extension ChatState {
    mutating func show(_ event: ConnectionEvent) {
        switch event {
        case .connected: link = .online
        case .willAttempt(number: 1, _, _): if link != .offline { link = .connecting }
        case .willAttempt, .lost, .disconnected: link = .offline
        }
        if link == .offline { forgetTyping() }
    }

    mutating func show(_ indicator: TypingIndicator) {
        guard let user = indicator.sender.userID else { return }
        showTyping(
            indicator.action == .begin, by: user, named: indicator.sender.shownName, in: indicator.conversationID)
    }
}

extension Identity {
    fileprivate var shownName: String { displayName ?? userID?.rawValue ?? "?" }
    fileprivate var isOnline: Bool? { presenceStatus.map { $0 != .offline && $0 != .invisible } }
}
