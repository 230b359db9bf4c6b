// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import StrataModel

/// Changes by the user. Each method validates a change, merges it with unsent changes and appends it to the queue. If a
/// method throws, the transaction is rolled back.
extension StoreTransaction {
    // MARK: Conversations

    /// Returns the distinct conversation of exactly these participants on this device, whether visible or a draft. A
    /// conversation with a pending deletion is excluded.
    func distinctConversation(of participants: [UserID]) throws -> (id: ConversationID, isVisible: Bool)? {
        let lines = participants.map(\.rawValue).joined(separator: "\n")
        return
            try db.cachedStatement(
                sql: "SELECT id, is_visible FROM conversation WHERE participants = ? AND is_distinct"
            )
            .all([lines], in: db) { (id: ConversationID(rawValue: $0[0]), isVisible: $0[1]) }
            .first { $0.isVisible || draft(of: $0.id) != nil }
    }

    /// Creates a conversation that stays on this device until its first message is sent.
    /// - Throws: ``StrataError/Code/distinctConversationExists``,
    ///   ``StrataError/Code/distinctDeletedConversationExists``, ``StrataError/Code/participantsContainBlockedUser``.
    func newConversation(_ new: LocalChange.NewConversation) throws -> ConversationID {
        try checkBlocked(new)
        guard new.isDistinct else { return try createDraft(new) }
        if let known = try distinctConversation(of: new.participants) {
            throw StrataError(
                .distinctConversationExists, "These participants have the distinct conversation \(known.id.layerID).",
                existing: known.id)
        }
        if let deleted = try deletedDistinctConversation(of: new.participants) {
            throw StrataError(
                .distinctDeletedConversationExists, "The distinct conversation \(deleted.layerID) is being deleted.")
        }
        return try createDraft(new)
    }

    /// Throws if the only other participant is blocked. No message would reach either of the two.
    func checkBlocked(_ new: LocalChange.NewConversation) throws {
        let others = new.participants.filter { $0 != me }
        guard others.count == 1, try reader.identityRecord(others[0])?.isBlocked == true else { return }
        throw StrataError(.participantsContainBlockedUser, "The user \(others[0].layerID) is blocked.")
    }

    /// Returns the distinct conversation of exactly these participants whose deletion the server has not confirmed.
    private func deletedDistinctConversation(of participants: [UserID]) throws -> ConversationID? {
        for operation in queue.all where operation.isOverlay {
            guard case .deleteConversation(_, _, leaves: false) = operation.change, let id = operation.conversation
            else { continue }
            if let record = try conversation(id), record.isDistinct, record.participants == participants { return id }
        }
        return nil
    }

    /// Creates a conversation that stays on this device until its first message is sent.
    func createDraft(_ new: LocalChange.NewConversation) throws -> ConversationID {
        let id = ConversationID(rawValue: newID())
        try enqueue(.createConversation(new), in: id, state: .draft)
        return id
    }

    /// Returns the visible state of a conversation that is about to be changed.
    /// - Parameter needsMembership: true if only participants may make the change.
    func conversationToChange(_ id: ConversationID, needsMembership: Bool = true) throws -> ConversationRecord {
        try touch(id)
        let record = try shown(id)
        guard let record, record.isVisible || draft(of: id) != nil else {
            throw StrataError(.conversationDeleted, "The conversation \(id.layerID) is not on this device.")
        }
        guard !needsMembership || !record.participants.isEmpty else {
            throw StrataError(.userNotAParticipant, "The user is not a participant of \(id.layerID).")
        }
        return record
    }

    /// Returns a conversation with its pending operations applied; nil if it does not exist.
    private func shown(_ id: ConversationID) throws -> ConversationRecord? {
        try Overlay.conversation(
            try conversation(id), with: queue.operations(in: id), applied: try progress(of: id)?.applied ?? 0, me: me,
            newest: try newestPosition(in: id)
        ) { message in
            try self.message(message, in: id)
                .flatMap { record in
                    record.position.map { Overlay.KnownMessage(position: $0, isUnread: record.isUnread) }
                }
        }
    }

    /// Returns the creation of a conversation that is still a draft; otherwise nil.
    private func draft(of id: ConversationID) -> QueuedOperation? {
        queue.operations(in: id).first { if case .createConversation = $0.change { $0.state == .draft } else { false } }
    }

    // MARK: Messages

    /// Sends a message. The first message of a new conversation makes it visible, and creates it on the server.
    func sendMessage(_ message: LocalChange.NewMessage, in id: ConversationID) throws {
        let conversation = try conversationToChange(id)
        guard conversation.participants.count <= Limits.participants else { throw Self.tooManyParticipants }
        if queue.operations(on: message.id, in: id)
            .contains(where: { if case .sendMessage = $0.change { true } else { false } })
        {
            throw StrataError(.invalidMessage, "The message \(message.id.layerID) was sent before.")
        }
        if try touch(message.id, in: id)?.server != nil {
            throw StrataError(.invalidMessage, "The message \(message.id.layerID) was sent before.")
        }
        if let draft = draft(of: id) { try setState(.waiting, of: draft) }
        try enqueue(.sendMessage(message), in: id)
    }

    /// Deletes a message. A message that was never sent is removed immediately.
    func deleteMessage(_ id: MessageID, mode: DeletionMode) throws {
        guard let touched = try touch(id, in: nil), touched.before != nil else {
            throw StrataError(.messageDeleted, "The message \(id.layerID) is not on this device.")
        }
        let conversation = touched.conversation
        let sends = queue.operations(on: id, in: conversation)
            .filter { if case .sendMessage = $0.change { true } else { false } }
        if let send = sends.first, send.state == .waiting || send.failure != nil {
            return try withdraw(send, in: conversation)
        }
        let record = try conversationToChange(conversation, needsMembership: false)
        guard mode == .myDevices || !record.participants.isEmpty else {
            throw StrataError(.userNotAParticipant, "Only participants can delete a message for all.")
        }
        try enqueue(.deleteMessage(id, mode), in: conversation)
    }

    /// Removes an unsent message. If it was the first message of a new conversation without other pending changes, the
    /// conversation becomes a draft again.
    private func withdraw(_ send: QueuedOperation, in id: ConversationID) throws {
        try removeOperation(send)
        guard let creation = unsentCreation(of: id), queue.operations(in: id) == [creation] else { return }
        try setState(.draft, of: creation)
    }

    /// Marks messages on this device as read.
    /// - Returns: the number of messages that were unread.
    func markRead(_ ids: [MessageID], in id: ConversationID) throws -> Int {
        guard !ids.isEmpty else { return 0 }
        _ = try conversationToChange(id, needsMembership: false)
        var seen: Set<MessageID> = []
        let unread = try ids.filter { try seen.insert($0).inserted && isUnread($0, in: id) }
        guard !unread.isEmpty else { return 0 }
        var rest = unread[...]
        if let last = queue.operations(in: id)
            .last(where: { if case .markRead = $0.change { $0.state == .waiting } else { false } }),
            case .markRead(let known) = last.change
        {
            let room = Self.receiptsPerRequest - known.count
            try replace(last, by: .markRead(known + rest.prefix(room)))
            rest = rest.dropFirst(room)
        }
        while !rest.isEmpty {
            try enqueue(.markRead(Array(rest.prefix(Self.receiptsPerRequest))), in: id)
            rest = rest.dropFirst(Self.receiptsPerRequest)
        }
        return unread.count
    }

    func unreadMessages(in id: ConversationID) throws -> [MessageID] {
        try db.cachedStatement(sql: "SELECT id FROM message WHERE conversation = ? AND is_unread ORDER BY ordering")
            .all([id.blob], in: db) { MessageID(rawValue: $0[0]) }
    }

    func unreadMessages() throws -> [ConversationID: [MessageID]] {
        let all =
            try db.cachedStatement(
                sql: """
                    SELECT m.conversation, m.id FROM message m
                    JOIN conversation c ON c.id = m.conversation AND c.is_visible
                    WHERE m.is_unread ORDER BY m.ordering
                    """
            )
            .all([], in: db) { (ConversationID(rawValue: $0[0]), MessageID(rawValue: $0[1])) }
        return Dictionary(grouping: all, by: \.0).mapValues { $0.map(\.1) }
    }

    /// Returns true if the message is shown as unread.
    /// - Throws: `messageDeleted` if the message is not on this device; `objectNotSent` if the server does not have it.
    private func isUnread(_ id: MessageID, in conversation: ConversationID) throws -> Bool {
        let server = try touch(id, in: conversation)?.server
        guard let shown = Overlay.message(server, with: queue.operations(on: id, in: conversation), me: me),
            shown.conversation == conversation
        else {
            throw StrataError(
                .messageDeleted, "The message \(id.layerID) of \(conversation.layerID) is not on this device.")
        }
        guard shown.isSent else {
            throw StrataError(.objectNotSent, "The message \(id.layerID) has not reached the server.")
        }
        return shown.isUnread
    }

    // MARK: Metadata

    /// Changes metadata. The change of an unsent conversation is merged into its creation. Unsent changes that this
    /// change overwrites are dropped.
    func patchMetadata(_ steps: [LocalChange.MetadataStep], in id: ConversationID) throws {
        let conversation = try conversationToChange(id)
        let effective = steps.filter { step in
            var metadata = conversation.metadata
            metadata.applyMetadataStep(step)
            return metadata != conversation.metadata || steps.count > 1
        }
        guard !effective.isEmpty else { return }
        if let creation = unsentCreation(of: id), case .createConversation(var new) = creation.change {
            for step in effective { new.metadata.applyMetadataStep(step) }
            return try replace(creation, by: .createConversation(new))
        }
        let texts = try textsBelowChanges(of: id)
        let covering = effective.filter { $0.values != nil || !$0.groups.contains(where: texts.contains) }
        var merged = effective
        for operation in queue.operations(in: id).reversed() where operation.state == .waiting {
            guard case .patchMetadata(let known) = operation.change else { continue }
            let kept = known.filter { old in !covering.contains { $0.covers(old) } }
            if operation.sequence == queue.operations(in: id).last(where: { !$0.change.isReceipt })?.sequence {
                merged = kept + merged
                try removeOperation(operation)
            } else if kept.isEmpty {
                try removeOperation(operation)
            } else if kept.count < known.count {
                try replace(operation, by: .patchMetadata(kept))
            }
        }
        try enqueue(.patchMetadata(merged), in: id)
    }

    /// Returns the paths of texts that are set on the server or by pending changes. An unsent change below such a path
    /// removes its text, so a later deletion of that change's text must not drop the change.
    private func textsBelowChanges(of id: ConversationID) throws -> Set<String> {
        var texts = Set((try conversation(id)?.metadata ?? [:]).keys)
        for operation in queue.operations(in: id) {
            guard case .patchMetadata(let steps) = operation.change else { continue }
            for step in steps { texts.formUnion((step.values ?? [:]).keys) }
        }
        return texts
    }

    /// Returns the steps that replace all metadata with these values. They delete the other keys known to this device.
    /// Keys that another user sets at the same time stay.
    func replacingSteps(_ values: [String: String], in id: ConversationID) throws -> [LocalChange.MetadataStep] {
        let known = try conversationToChange(id).metadata
        let gone = known.keys.filter { values[$0] == nil }.sorted()
            .map { LocalChange.MetadataStep(path: $0, values: nil) }
        return gone
            + values.sorted { $0.key < $1.key }
            .map { LocalChange.MetadataStep(path: $0.key, values: [$0.key: $0.value]) }
    }

    /// Returns the creation of a conversation if no request for it has been sent; otherwise nil.
    private func unsentCreation(of id: ConversationID) -> QueuedOperation? {
        queue.operations(in: id)
            .first { operation in
                if case .createConversation = operation.change {
                    operation.state == .draft || operation.state == .waiting
                } else {
                    false
                }
            }
    }

    // MARK: Participants

    func changeParticipants(_ steps: [LocalChange.ParticipantStep], in id: ConversationID) throws {
        let conversation = try conversationToChange(id)
        var participants = Set(conversation.participants)
        for step in steps {
            if step.isAdded {
                participants.insert(step.user)
            } else if participants.remove(step.user) == nil {
                throw StrataError(.participantNotAParticipant, "\(step.user) is not a participant of \(id.layerID).")
            }
        }
        guard participants.count <= Limits.participants else { throw Self.tooManyParticipants }
        guard participants != Set(conversation.participants) else { return }
        if let draft = draft(of: id), case .createConversation(var new) = draft.change {
            new.participants = participants.sorted()
            return try replace(draft, by: .createConversation(new))
        }
        try enqueueParticipants(steps, shown: conversation.participants, in: id)
    }

    /// Queues a change of participants, and drops unsent changes of the same users. If the participants are already
    /// correct, nothing is queued.
    private func enqueueParticipants(
        _ steps: [LocalChange.ParticipantStep], shown: [UserID], in id: ConversationID
    ) throws {
        var left = steps.filter { shown.contains($0.user) != $0.isAdded }
        for operation in queue.operations(in: id) where operation.state == .waiting {
            guard case .changeParticipants(let known) = operation.change else { continue }
            let kept = known.filter { old in !left.contains { $0.user == old.user } }
            guard kept.count < known.count else { continue }
            left.removeAll { step in known.contains { $0.user == step.user && $0.isAdded != step.isAdded } }
            if kept.isEmpty {
                try removeOperation(operation)
            } else {
                try replace(operation, by: .changeParticipants(kept))
            }
        }
        if !left.isEmpty { try enqueue(.changeParticipants(left), in: id) }
    }

    static var tooManyParticipants: StrataError {
        StrataError(.tooManyParticipants, "A conversation has at most \(Limits.participants) participants.")
    }

    // MARK: Deletion

    /// Deletes a conversation. A conversation that was never sent is removed immediately, with all its pending changes.
    func deleteConversation(_ id: ConversationID, mode: DeletionMode, leaves: Bool = false) throws {
        try touch(id)
        guard let record = try shown(id), record.isVisible || draft(of: id) != nil else {
            throw StrataError(.conversationAlreadyDeleted, "The conversation \(id.layerID) is not on this device.")
        }
        guard mode == .myDevices && !leaves || !record.participants.isEmpty else {
            throw StrataError(.userNotAParticipant, "Only participants can leave a conversation or delete it for all.")
        }
        let isUnsent = unsentCreation(of: id) != nil
        for operation in queue.operations(in: id)
        where isUnsent || operation.state == .waiting || operation.failure != nil {
            try removeOperation(operation)
        }
        if isUnsent { return }
        // Delete messages in flight separately: their positions will be above the limit of the conversation's deletion.
        for case .sendMessage(let message) in queue.operations(in: id).filter(\.isUnanswered).map(\.change)
        where mode == .myDevices {
            try enqueue(.deleteMessage(message.id, mode), in: id)
        }
        // Position 1 is the creation of the conversation.
        try enqueue(.deleteConversation(mode, upTo: try progress(of: id)?.applied ?? 1, leaves: leaves), in: id)
    }

    // MARK: People

    /// Follows users. Their identities exist immediately, and are completed when the server sends them.
    func follow(_ users: [UserID]) throws {
        let wanted = try users.filter { try $0 != me && isNeeded($0, isFollowed: true) }
        if !wanted.isEmpty { try enqueue(.follow(wanted)) }
    }

    /// Stops following users. Participants of the user's conversations stay followed.
    func unfollow(_ users: [UserID]) throws {
        for user in users where try user != me && !isParticipant(user) && isNeeded(user, isFollowed: false) {
            try enqueue(.unfollow([user]))
        }
    }

    /// Drops the opposite change if it is unsent.
    /// - Returns: true if the change must be sent to the server.
    private func isNeeded(_ user: UserID, isFollowed: Bool) throws -> Bool {
        let pending = queue.operations(on: user).filter(\.change.isAboutFollowing)
        guard let last = pending.last else { return true }
        guard last.change.isFollowing != isFollowed else { return false }
        guard last.state == .waiting else { return true }
        let others = last.change.users.filter { $0 != user }
        if others.isEmpty {
            try removeOperation(last)
        } else {
            try replace(last, by: isFollowed ? .unfollow(others) : .follow(others))
        }
        guard let earlier = pending.dropLast().last else {
            return try identity(user)?.isFollowed ?? false != isFollowed
        }
        return earlier.change.isFollowing != isFollowed
    }

    /// Blocks or unblocks users. Unsent opposite changes are dropped.
    func setBlocked(_ isBlocked: Bool, _ users: [UserID]) throws {
        for user in users where user != me {
            let pending = queue.operations(on: user).filter(\.change.isAboutBlocking)
            let server = try identity(user)?.isBlocked ?? false
            guard let last = pending.last else {
                if server != isBlocked { try enqueue(isBlocked ? .block(user) : .unblock(user)) }
                continue
            }
            guard (last.change == .block(user)) != isBlocked else { continue }
            if last.state == .waiting {
                try removeOperation(last)
                let before = pending.dropLast().last.map { $0.change == .block(user) } ?? server
                if before == isBlocked { continue }
            }
            try enqueue(isBlocked ? .block(user) : .unblock(user))
        }
    }

    // MARK: Announcements

    /// Marks an announcement as read.
    /// - Returns: true if the announcement was unread.
    func markAnnouncementRead(_ id: AnnouncementID) throws -> Bool {
        guard let record = try announcement(id) else {
            throw StrataError(.messageDeleted, "The announcement \(id.layerID) is not on this device.")
        }
        guard record.isUnread, !queue.withoutConversation.contains(where: { $0.change == .markAnnouncementRead(id) })
        else { return false }
        try enqueue(.markAnnouncementRead(id))
        return true
    }

    func deleteAnnouncement(_ id: AnnouncementID) throws {
        guard try announcement(id) != nil else {
            throw StrataError(.messageDeleted, "The announcement \(id.layerID) is not on this device.")
        }
        guard !queue.withoutConversation.contains(where: { $0.change == .deleteAnnouncement(id) }) else { return }
        try enqueue(.deleteAnnouncement(id))
    }
}

extension LocalChange {
    fileprivate var isFollowing: Bool { if case .follow = self { true } else { false } }

    fileprivate var isAboutFollowing: Bool {
        switch self {
        case .follow, .unfollow: true
        default: false
        }
    }

    fileprivate var isAboutBlocking: Bool {
        switch self {
        case .block, .unblock: true
        default: false
        }
    }
}

extension LocalChange.MetadataStep {
    /// Returns true if this step replaces an earlier one, because it changes the same path or a path above it.
    func covers(_ old: LocalChange.MetadataStep) -> Bool {
        path.isEmpty || old.path == path || old.path.utf8.starts(with: "\(path).".utf8)
    }

    var groups: [String] {
        path.utf8.indices.filter { path.utf8[$0] == UInt8(ascii: ".") }.map { String(path[..<$0]) }
    }
}
