// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import ProtocolClient
import StrataModel

/// Stores whole objects from packets, lists and answers of the server.
extension StoreTransaction {
    // MARK: Conversations

    /// Stores the current state of a conversation, replacing the previous one. Its last message is stored like any
    /// other message.
    func storeConversation(_ shown: WireObjects.ReceivedConversation) throws {
        let id = shown.record.id
        try checkEpoch(shown.epoch)
        let (old, progress) = (try conversation(id), try progress(of: id))
        for identity in shown.identities { try storeBasicIdentity(identity, isFollowed: true) }
        try setConversation(id, to: shown.record)
        let isIn = old?.participants.isEmpty == false || shown.record.participants.isEmpty
        let isCurrent = progress?.generation == cursor.generation
        if let progress, isIn, isCurrent {
            try setProgress(
                of: id,
                SyncProgress(
                    applied: shown.position, oldest: progress.oldest, goal: progress.goal, generation: cursor.generation
                ))
        } else {
            try beginHistory(of: shown, after: progress)
            // Store the last message here: the list of older messages starts below it, so no list replaces it.
            if let last = shown.lastMessage { try replace(last) }
        }
        if let last = shown.lastMessage { try putLast(last) }
    }

    /// Starts the history of a conversation that is new to this device, or whose messages may have changed since they
    /// were fetched.
    private func beginHistory(of shown: WireObjects.ReceivedConversation, after old: SyncProgress?) throws {
        let newest = shown.record.totalCount == 0 ? 0 : shown.lastMessage?.record.position
        if let newest {
            // Delete messages above the newest one. They are from a database that was replaced, and no list would
            // report their absence.
            for id in try messageIDs(in: shown.record.id, from: newest) where id != shown.lastMessage?.record.id {
                try setMessage(id, in: shown.record.id, to: nil)
            }
        }
        try setProgress(
            of: shown.record.id,
            SyncProgress(
                applied: shown.position, oldest: newest, goal: HistoryGoal(policy, after: old),
                generation: cursor.generation))
    }

    /// Schedules the messages of a conversation to be fetched again after the user was added. The user may have been
    /// outside the conversation without this device knowing, and no packet reports changes of messages during that
    /// time.
    func refetchHistory(of id: ConversationID) throws {
        try updateProgress(of: id) { progress in
            progress.goal = HistoryGoal(policy, after: progress)
            progress.oldest = nil
        }
    }

    /// Compares the epoch with the stored one. A restored database has a new epoch, in which earlier positions have no
    /// meaning.
    func checkEpoch(_ epoch: String?) throws {
        guard let epoch else { return }
        if cursor.epoch == nil {
            cursor.epoch = epoch
        } else if cursor.epoch != epoch {
            findings.epochHasChanged = true
        }
    }

    /// Stores the newest message of a conversation. There are no messages between it and those on this device.
    func putLast(_ shown: WireObjects.ReceivedMessage) throws {
        try merge(shown)
        guard let position = shown.record.position else { return }
        try updateProgress(of: shown.record.conversation) { progress in
            // The messages in between are fetched again, because some may have been deleted.
            if case .position? = progress.goal { return }
            if let oldest = progress.oldest, position < oldest { progress.oldest = position }
        }
    }

    // MARK: Messages

    /// Stores a message that may already be on this device. For each member, the newer value wins.
    func merge(_ shown: WireObjects.ReceivedMessage) throws {
        var record = shown.record
        if let sender = shown.sender { try storeBasicIdentity(sender) }
        if let old = try message(record.id, in: record.conversation) {
            keepLocal(of: old, in: &record)
            record.statuses.merge(old.statuses) { max($0, $1) }
            let (new, known) = (record.updatedAt ?? .min, old.updatedAt ?? .min)
            if known > new {
                (record.parts, record.updatedAt) = (old.parts, old.updatedAt)
            } else if known == new {
                record.parts += old.parts.filter { part in !record.parts.contains { $0.id == part.id } }
            }
            if record.statuses[me] == .read { record.isUnread = false }
        }
        keepSentContent(in: &record)
        try setMessage(record.id, in: record.conversation, to: record)
        try endFailure(of: record)
        try confirmDelivery(of: record)
    }

    /// Stores a message from a list. It replaces the stored message, because the list is newer than everything applied
    /// before its request.
    func replace(_ shown: WireObjects.ReceivedMessage) throws {
        var record = shown.record
        if let sender = shown.sender { try storeBasicIdentity(sender) }
        if let old = try message(record.id, in: record.conversation) { keepLocal(of: old, in: &record) }
        keepSentContent(in: &record)
        try setMessage(record.id, in: record.conversation, to: record)
        try endFailure(of: record)
        try confirmDelivery(of: record)
    }

    /// Removes the failed operation of a message that reached the server after all: its first attempt had succeeded,
    /// and its second was refused.
    private func endFailure(of record: MessageRecord) throws {
        for operation in queue.operations(on: record.id, in: record.conversation) where operation.failure != nil {
            try removeOperation(operation)
        }
    }

    /// Links uploaded content to the message, so that it is not downloaded.
    func keepSentContent(in record: inout MessageRecord) {
        for operation in queue.operations(on: record.id, in: record.conversation) {
            for index in record.parts.indices where record.parts[index].file == nil {
                guard let sent = operation.change.parts.first(where: { $0.id == record.parts[index].id }),
                    sent.file != nil
                else { continue }
                record.parts[index].keepContent(of: sent)
            }
        }
    }

    /// Preserves local data: the time at which this device first received the message, and the state of its content.
    func keepLocal(of old: MessageRecord, in record: inout MessageRecord) {
        record.receivedAt = old.receivedAt
        for index in record.parts.indices {
            if let known = old.parts.first(where: { $0.id == record.parts[index].id }) {
                record.parts[index].keepContent(of: known)
            }
        }
    }

    /// Queues the delivery receipt of a message, unless it was already sent, the conversation has no delivery receipts,
    /// or the user is not a recipient.
    private func confirmDelivery(of record: MessageRecord) throws {
        guard record.sender != me, record.statuses[me].map({ $0 < .delivered }) == true,
            let conversation = try conversation(record.conversation),
            conversation.deliveryReceipts, conversation.participants.contains(me)
        else { return }
        try enqueueDelivery(of: record.id, in: record.conversation)
    }

    // MARK: Identities and announcements

    /// Stores a name and picture from a message or a list of participants.
    func storeBasicIdentity(_ basic: IdentityRecord, isFollowed: Bool = false) throws {
        var record = try identity(basic.userID) ?? IdentityRecord(userID: basic.userID)
        if !record.isFull || !record.isFollowed {
            (record.displayName, record.avatarURL) = (basic.displayName, basic.avatarURL)
        }
        record.isFollowed = record.isFollowed || isFollowed
        if isFollowed { try markListed(basic.userID) }
        try setIdentity(basic.userID, to: record)
    }

    /// Stores a complete identity. If it has no presence, the stored presence is kept.
    func storeFullIdentity(_ full: IdentityRecord, isFollowed: Bool) throws {
        var record = full
        if let old = try identity(full.userID) {
            record.isFollowed = old.isFollowed
            record.isBlocked = old.isBlocked
            record.presenceStatus = record.presenceStatus ?? old.presenceStatus
            record.lastSeenAt = record.isOnline ? old.lastSeenAt : record.lastSeenAt ?? old.lastSeenAt
        }
        record.isFollowed = record.isFollowed || isFollowed
        if isFollowed { try markListed(full.userID) }
        try setIdentity(full.userID, to: record)
    }

    func storeAnnouncement(_ shown: AnnouncementRecord) throws {
        var record = shown
        if let old = try announcement(shown.id) {
            record.receivedAt = old.receivedAt
            for index in record.parts.indices {
                if let known = old.parts.first(where: { $0.id == record.parts[index].id }) {
                    record.parts[index].keepContent(of: known)
                }
            }
        }
        try markListed(record.id)
        try setAnnouncement(record.id, to: record)
    }
}

extension PartRecord {
    /// Preserves local data of a part whose content is unchanged: the file and its state.
    mutating func keepContent(of known: PartRecord) {
        guard let content, known.content == content,
            known.file != nil || known.usedAt != nil || known.transferStatus == .downloading
        else { return }
        (file, transferStatus, usedAt) = (known.file, known.transferStatus, known.usedAt)
    }
}

extension HistoryGoal {
    /// Creates the goal for a conversation whose messages may have changed: first the messages on this device, then the
    /// previous goal.
    init(_ policy: SyncPolicy, after old: SyncProgress?) {
        switch (old?.oldest, old?.goal) {
        case (_, .position(let position, let next)?): self = .position(position, then: next)
        case (let oldest?, let goal): self = .position(oldest, then: goal)
        case (nil, let goal): self = goal ?? HistoryGoal(policy)
        }
    }

    /// Creates the goal that a policy sets for the history of a new conversation.
    init(_ policy: SyncPolicy) {
        switch policy {
        case .completeHistory: self = .everything
        case .unreadOnly: self = .firstUnread
        case .partialHistory(let count): self = .count(count)
        }
    }
}
