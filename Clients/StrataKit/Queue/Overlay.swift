// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// The overlay: the server's state with the user's pending changes applied in order, as the app sees it. Pure
/// functions, evaluated again after each change of the server's state or the queue.
enum Overlay {
    /// Returns a message with the pending operations on it and on its conversation applied.
    /// - Parameters:
    ///   - server: the server's state; nil if the message is unknown or deleted.
    ///   - me: the signed-in user.
    /// - Returns: nil if the message is not visible.
    static func message(_ server: MessageRecord?, with operations: [QueuedOperation], me: UserID) -> MessageRecord? {
        var shown = server
        for operation in operations where operation.isOverlay {
            switch operation.change {
            case .sendMessage(let message): shown = shown ?? unsent(message, operation: operation, me: me)
            case .changeParts(_, let change): shown?.parts.apply(change, keepsID: true)
            case .deleteMessage: shown = nil
            case .markRead:
                shown?.isUnread = false
                if shown?.sender != me { shown?.statuses[me] = .read }
            case .deleteConversation(let mode, let position, _):
                if hides(shown, mode: mode, upTo: position) { shown = nil }
            case .createConversation, .patchMetadata, .changeParticipants, .confirmDelivery, .follow, .unfollow, .block,
                .unblock,
                .markAnnouncementRead,
                .deleteAnnouncement:
                break
            }
        }
        return shown
    }

    /// Returns an identity with the pending operations on its user applied.
    /// - Parameters:
    ///   - server: the server's state; nil if the user is unknown.
    ///   - isParticipant: true if the user shares a conversation with the signed-in user. Unfollowing then does not
    ///     hide the identity.
    /// - Returns: nil if the identity is not visible.
    static func identity(
        _ server: IdentityRecord?, with operations: [QueuedOperation], of user: UserID, isParticipant: Bool
    ) -> IdentityRecord? {
        var shown = server
        for operation in operations where operation.isOverlay {
            switch operation.change {
            case .follow: shown = shown ?? server ?? IdentityRecord(userID: user)
            case .unfollow: if !isParticipant, shown?.isBlocked != true { shown = nil }
            case .block:
                shown = shown ?? server ?? IdentityRecord(userID: user)
                shown?.isBlocked = true
            case .unblock: shown?.isBlocked = nil
            default: break
            }
        }
        return shown
    }

    /// Returns true if a deletion of the whole conversation deletes the message too.
    static func hides(_ message: MessageRecord?, mode: DeletionMode, upTo position: Int64) -> Bool {
        guard mode == .myDevices, let place = message?.position else { return true }
        return place / Position.wireStep <= position
    }

    /// Returns a message as it is shown until the server has it; nil if its operation names no conversation.
    private static func unsent(
        _ message: LocalChange.NewMessage, operation: QueuedOperation, me: UserID
    ) -> MessageRecord? {
        guard let conversation = operation.conversation else { return nil }
        return MessageRecord(
            id: message.id, conversation: conversation, position: nil,
            ordering: MessageRecord.unsent + operation.sequence, sender: me,
            senderName: nil, sentAt: operation.madeAt, receivedAt: operation.madeAt, updatedAt: nil, isUnread: false,
            isSent: false,
            failure: operation.failure, statuses: [me: .read], parts: message.parts)
    }

    /// The server's state of a message, as far as ``conversation(_:with:applied:me:newest:message:)`` needs it.
    struct KnownMessage {
        var position: Int64
        var isUnread: Bool
    }

    /// Returns a conversation with its pending operations applied.
    /// - Parameters:
    ///   - server: the server's state; nil if the conversation is unknown or deleted.
    ///   - applied: the position of the last change of the conversation that was applied.
    ///   - message: returns the server's state of a message; nil if the server does not have it.
    /// - Returns: nil if the conversation does not exist. An invisible conversation is hidden from the app, but its
    ///   changes are still sent.
    static func conversation(
        _ server: ConversationRecord?, with operations: [QueuedOperation], applied: Int64, me: UserID, newest: Int64?,
        message: (MessageID) throws -> KnownMessage?
    ) rethrows -> ConversationRecord? {
        var shown = server
        // `added`: messages counted in addition to the server's. `read`: messages that no longer count as unread.
        var (added, read): (Set<MessageID>, Set<MessageID>) = ([], [])
        for operation in operations where operation.isOverlay {
            switch operation.change {
            case .createConversation(let new): shown = shown ?? draft(new, operation: operation)
            case .patchMetadata(let steps): applyMetadata(steps, to: &shown)
            case .changeParticipants(let steps): applyParticipants(steps, to: &shown, me: me)
            case .sendMessage(let new):
                guard operation.failure == nil, try message(new.id) == nil || isAhead(operation, of: applied) else {
                    continue
                }
                added.insert(new.id)
                shown?.totalCount += 1
            case .deleteMessage(let id, _):
                let known = try message(id)
                if known != nil || added.contains(id) { shown?.totalCount -= 1 }
                if known?.isUnread == true, read.insert(id).inserted { shown?.unreadCount -= 1 }
            case .markRead(let ids):
                shown?.unreadCount -= try ids.count { try message($0)?.isUnread == true && read.insert($0).inserted }
            case .deleteConversation(let mode, let position, let leaves):
                // A message that arrived after the deletion was requested restores the conversation.
                let isBack = mode == .myDevices && !leaves && (newest ?? -1) / Position.wireStep > position
                if !isBack { shown?.isVisible = false }
            case .changeParts, .confirmDelivery, .follow, .unfollow, .block, .unblock, .markAnnouncementRead,
                .deleteAnnouncement:
                break
            }
        }
        guard var shown else { return nil }
        (shown.totalCount, shown.unreadCount) = (max(0, shown.totalCount), max(0, shown.unreadCount))
        return shown
    }

    /// Returns true if the server has carried out the operation, and the applied changes do not include it yet.
    private static func isAhead(_ operation: QueuedOperation, of applied: Int64) -> Bool {
        guard case .answered(let positions) = operation.state, let position = positions.conversation else {
            return false
        }
        return position > applied
    }

    /// Returns a conversation as it is shown until the server has it. A draft is invisible.
    private static func draft(_ new: LocalChange.NewConversation, operation: QueuedOperation) -> ConversationRecord? {
        guard let id = operation.conversation else { return nil }
        return ConversationRecord(
            id: id, createdAt: operation.madeAt, participants: new.participants, isDistinct: new.isDistinct,
            deliveryReceipts: new.deliveryReceipts, readReceipts: new.readReceipts, metadata: new.metadata,
            unreadCount: 0, totalCount: 0,
            isVisible: operation.state != .draft)
    }

    private static func applyMetadata(_ steps: [LocalChange.MetadataStep], to conversation: inout ConversationRecord?) {
        for step in steps { conversation?.metadata.applyMetadataStep(step) }
    }

    private static func applyParticipants(
        _ steps: [LocalChange.ParticipantStep], to conversation: inout ConversationRecord?, me: UserID
    ) {
        guard var participants = conversation?.participants else { return }
        let before = participants
        for step in steps {
            participants.removeAll { $0 == step.user }
            if step.isAdded { participants.append(step.user) }
        }
        participants.sort()
        guard participants != before else { return }
        conversation?.isDistinct = false
        // A user who is not a participant sees no participants.
        conversation?.participants = participants.contains(me) ? participants : []
    }
}

extension [String: String] {
    /// Applies one step of a patch to metadata, which map full key paths to texts. Texts at, below or above the path
    /// are removed first.
    mutating func applyMetadataStep(_ step: LocalChange.MetadataStep) {
        removeSubtree(step.path)
        guard let values = step.values else { return }
        for (place, character) in step.path.utf8.enumerated() where character == UInt8(ascii: ".") {
            self[String(decoding: step.path.utf8.prefix(place), as: UTF8.self)] = nil
        }
        merge(values) { $1 }
    }

    /// Removes all texts at or below a path; the empty path is the root.
    mutating func removeSubtree(_ path: String) {
        guard !path.isEmpty else { return removeAll() }
        self[path] = nil
        let prefix = path + "."
        for key in keys where key.utf8.starts(with: prefix.utf8) { self[key] = nil }
    }
}
