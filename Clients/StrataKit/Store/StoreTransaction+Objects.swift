// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import ProtocolClient
import StrataModel

/// Puts whole objects of the server in their places: from packets, lists and answers.
extension StoreTransaction {
    // MARK: Conversations

    /// A conversation as it is now; it replaces what is known, and its last message is a message like any other.
    func storeConversation(_ shown: WireObjects.ShownConversation) throws {
        let id = shown.record.id
        try checkEpoch(shown.epoch)
        let (old, progress) = (try conversation(id), try progress(of: id))
        for identity in shown.identities { try storeBasicIdentity(identity, isFollowed: true) }
        try setConversation(id, to: shown.record)
        let isIn = old?.participants.isEmpty == false || shown.record.participants.isEmpty
        let isCurrent = progress?.generation == cursor.generation
        if let progress, isIn, isCurrent {
            try setProgress(
                of: id, SyncProgress(applied: shown.position, oldest: progress.oldest, goal: progress.goal, generation: cursor.generation))
        } else {
            try beginHistory(of: shown, after: progress)
            // The list of older messages begins below it, so that no list replaces it.
            if let last = shown.lastMessage { try replace(last) }
        }
        if let last = shown.lastMessage { try putLast(last) }
    }

    /// A conversation that this device did not have, or whose messages may have changed since they were fetched.
    private func beginHistory(of shown: WireObjects.ShownConversation, after old: SyncProgress?) throws {
        let newest = shown.record.totalCount == 0 ? 0 : shown.lastMessage?.record.position
        if let newest {
            // There is none after its newest message, and no list will say so of what is here from a database that was replaced.
            for id in try messageIDs(in: shown.record.id, from: newest) where id != shown.lastMessage?.record.id {
                try setMessage(id, in: shown.record.id, to: nil)
            }
        }
        try setProgress(
            of: shown.record.id,
            SyncProgress(
                applied: shown.position, oldest: newest, goal: HistoryGoal(policy, after: old), generation: cursor.generation))
    }

    /// The user was added, and may have been out of the conversation without this device being told: what happened to messages meanwhile is told by no packet.
    func refetchHistory(of id: ConversationID) throws {
        try updateProgress(of: id) { progress in
            progress.goal = HistoryGoal(policy, after: progress)
            progress.oldest = nil
        }
    }

    /// A database that was restored has another epoch; positions of before mean nothing then.
    func checkEpoch(_ epoch: String?) throws {
        guard let epoch else { return }
        if cursor.epoch == nil { cursor.epoch = epoch } else if cursor.epoch != epoch { findings.epochHasChanged = true }
    }

    /// The newest message of a conversation. Between it and what is on this device there is none.
    func putLast(_ shown: WireObjects.ShownMessage) throws {
        try merge(shown)
        guard let position = shown.record.position else { return }
        try updateProgress(of: shown.record.conversation) { progress in
            // What lies between is fetched again: some of it may be gone.
            if case .position? = progress.goal { return }
            if let oldest = progress.oldest, position < oldest { progress.oldest = position }
        }
    }

    // MARK: Messages

    /// A message that may be known: the newer of each of its members counts.
    func merge(_ shown: WireObjects.ShownMessage) throws {
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

    /// A message as a list shows it: it replaces what is known, since the list is newer than all that was applied before it was asked for.
    func replace(_ shown: WireObjects.ShownMessage) throws {
        var record = shown.record
        if let sender = shown.sender { try storeBasicIdentity(sender) }
        if let old = try message(record.id, in: record.conversation) { keepLocal(of: old, in: &record) }
        keepSentContent(in: &record)
        try setMessage(record.id, in: record.conversation, to: record)
        try endFailure(of: record)
        try confirmDelivery(of: record)
    }

    /// A message that was refused when it was sent again had arrived before.
    private func endFailure(of record: MessageRecord) throws {
        for operation in queue.operations(on: record.id, in: record.conversation) where operation.failure != nil { try removeOperation(operation) }
    }

    /// What this device has uploaded need not be downloaded.
    func keepSentContent(in record: inout MessageRecord) {
        for operation in queue.operations(on: record.id, in: record.conversation) {
            for index in record.parts.indices where record.parts[index].file == nil {
                guard let sent = operation.change.parts.first(where: { $0.id == record.parts[index].id }), sent.file != nil else { continue }
                record.parts[index].keepContent(of: sent)
            }
        }
    }

    /// What only this device knows: when it saw the message first, and which content it has.
    func keepLocal(of old: MessageRecord, in record: inout MessageRecord) {
        record.receivedAt = old.receivedAt
        for index in record.parts.indices {
            if let known = old.parts.first(where: { $0.id == record.parts[index].id }) { record.parts[index].keepContent(of: known) }
        }
    }

    /// Has the sender told that this device has the message, unless that is known, not wanted, or not this user's to tell.
    private func confirmDelivery(of record: MessageRecord) throws {
        guard record.sender != me, record.statuses[me].map({ $0 < .delivered }) == true, let conversation = try conversation(record.conversation),
            conversation.deliveryReceipts, conversation.participants.contains(me)
        else { return }
        try enqueueDelivery(of: record.id, in: record.conversation)
    }

    // MARK: Identities and announcements

    /// Name and picture, as messages and lists of participants show them.
    func storeBasicIdentity(_ basic: IdentityRecord, isFollowed: Bool = false) throws {
        var record = try identity(basic.userID) ?? IdentityRecord(userID: basic.userID)
        if !record.isFull || !record.isFollowed { (record.displayName, record.avatarURL) = (basic.displayName, basic.avatarURL) }
        record.isFollowed = record.isFollowed || isFollowed
        if isFollowed { try markListed(basic.userID) }
        try setIdentity(basic.userID, to: record)
    }

    /// A whole identity. Presence that it does not say stays.
    func storeFullIdentity(_ full: IdentityRecord, isFollowed: Bool) throws {
        var record = full
        if let old = try identity(full.userID) {
            record.isFollowed = old.isFollowed
            record.presenceStatus = record.presenceStatus ?? old.presenceStatus
            record.lastSeenAt = record.isOnline ? old.lastSeenAt : record.lastSeenAt ?? old.lastSeenAt
        }
        record.isFollowed = record.isFollowed || isFollowed
        if isFollowed { try markListed(full.userID) }
        try setIdentity(full.userID, to: record)
    }

    /// An announcement as it is now.
    func storeAnnouncement(_ shown: AnnouncementRecord) throws {
        var record = shown
        if let old = try announcement(shown.id) {
            record.receivedAt = old.receivedAt
            for index in record.parts.indices {
                if let known = old.parts.first(where: { $0.id == record.parts[index].id }) { record.parts[index].keepContent(of: known) }
            }
        }
        try markListed(record.id)
        try setAnnouncement(record.id, to: record)
    }
}

extension PartRecord {
    /// Keeps what only this device knows, if it has the same content: the file, and what became of it.
    mutating func keepContent(of known: PartRecord) {
        guard let content, known.content == content, known.file != nil || known.usedAt != nil || known.transferStatus == .downloading else { return }
        (file, transferStatus, usedAt) = (known.file, known.transferStatus, known.usedAt)
    }
}

extension HistoryGoal {
    /// What is to be fetched of a conversation whose messages may have changed: those that are here, then those that were to be fetched before.
    init(_ policy: SyncPolicy, after old: SyncProgress?) {
        switch (old?.oldest, old?.goal) {
        case (_, .position(let position, let next)?): self = .position(position, then: next)
        case (let oldest?, let goal): self = .position(oldest, then: goal)
        case (nil, let goal): self = goal ?? HistoryGoal(policy)
        }
    }

    /// What a policy wants of a conversation with history.
    init(_ policy: SyncPolicy) {
        switch policy {
        case .completeHistory: self = .everything
        case .unreadOnly: self = .firstUnread
        case .partialHistory(let count): self = .count(count)
        }
    }
}
