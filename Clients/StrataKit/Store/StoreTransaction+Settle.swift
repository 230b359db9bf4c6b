// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import StrataModel

extension StoreTransaction {
    /// Applies the pending operations to all touched objects, writes the differences, and returns the changes to
    /// publish.
    func settle() throws -> [ObjectChange] {
        if hasLoaded {
            try finishOperations(
                in: Set(queue.operations.values.lazy.filter(\.isAnswered).compactMap(\.conversation)), open: nil)
        }
        var changes = ChangeCollector()
        var before = try shownConversations()
        // A merged distinct conversation stays the same object for the app, unless both were visible.
        for (old, new) in findings.merged where before[new] == nil { before[new] = before.removeValue(forKey: old) }
        try settleIdentities(&changes)
        let shown = try settleMessages()
        for id in conversationOrder { try settleConversation(id) }
        let after = try shownConversations()
        for id in conversationOrder {
            changes.addChange(
                before: before[id], after: after[id], wrap: { .conversation($0) },
                differences: PropertyDifferences.between
            ) { $0.isDeleted = true }
        }
        try collectMessageChanges(shown, into: &changes)
        try settleAnnouncements(&changes)
        try settleGoals()
        try saveOperations()
        try saveFailures()
        try saveProgress()
        return changes.batch
    }

    /// Returns the touched conversations that are visible, in their current state in the database.
    private func shownConversations() throws -> [ConversationID: Conversation] {
        Dictionary(try reader.visibleConversations(conversationOrder).map { ($0.id, $0) }) { first, _ in first }
    }

    // MARK: Messages

    /// Writes the touched messages whose visible state has changed.
    /// - Returns: the new visible states of those messages.
    private func settleMessages() throws -> [MessageID: MessageRecord?] {
        var changed: [MessageID: MessageRecord?] = [:]
        for id in messageOrder {
            guard let touched = messages[id] else { continue }
            let operations = queue.operations(on: id, in: touched.conversation)
            let shown = Overlay.message(touched.server, with: operations, me: me)
            if shown != touched.before {
                try writeMessage(shown, over: touched.before, id: id)
                changed[id] = .some(shown)
            }
            try saveServerMessage(touched, id: id, isPending: !operations.isEmpty)
        }
        return changed
    }

    /// Stores the server's state of a message separately while operations are pending, and removes it afterwards.
    private func saveServerMessage(_ touched: TouchedMessage, id: MessageID, isPending: Bool) throws {
        let wasPending = wasPending(id, in: touched.before?.conversation ?? touched.conversation)
        if isPending, let server = touched.server {
            guard !wasPending || server != touched.serverBefore else { return }
            try db.cachedStatement(
                sql: "INSERT OR REPLACE INTO message_server (id, conversation, position, record) VALUES (?, ?, ?, ?)"
            )
            .execute(arguments: [id.blob, server.conversation.blob, server.position ?? 0, try StoreCoding.json(server)])
        } else if wasPending {
            try db.cachedStatement(sql: "DELETE FROM message_server WHERE id = ?").execute(arguments: [id.blob])
        }
    }

    private func writeMessage(_ record: MessageRecord?, over old: MessageRecord?, id: MessageID) throws {
        guard let record else {
            try db.cachedStatement(sql: "DELETE FROM message WHERE id = ?").execute(arguments: [id.blob])
            try db.cachedStatement(sql: "DELETE FROM part WHERE message = ?").execute(arguments: [id.blob])
            return
        }
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO message
                (id, conversation, ordering, position, sender, sender_name, sent_at, received_at, updated_at,
                 is_unread, is_sent, failure, statuses)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        )
        .execute(arguments: [
            id.blob, record.conversation.blob, record.ordering, record.position, record.sender?.rawValue,
            record.senderName, record.sentAt,
            record.receivedAt, record.updatedAt, record.isUnread, record.isSent,
            try record.failure.map { try StoreCoding.json($0) },
            record.statusLines,
        ])
        if record.parts != old?.parts { try writeParts(record.parts, of: id.rawValue, isNew: old == nil) }
    }

    private func writeParts(_ parts: [PartRecord], of owner: UUID, isNew: Bool) throws {
        if !isNew { try db.cachedStatement(sql: "DELETE FROM part WHERE message = ?").execute(arguments: [owner.data]) }
        let insert = try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO part
                (message, idx, id, mime_type, body, size, content, download_url, download_expires, transfer_status,
                 file, used_at, updated_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        for (index, part) in parts.enumerated() {
            try insert.execute(arguments: [
                owner.data, index, part.id.data, part.mimeType, part.body, part.size, part.content?.blob,
                part.downloadURL, part.downloadExpires,
                part.transferStatus.rawValue, part.file, part.usedAt, part.updatedAt,
            ])
        }
    }

    private func collectMessageChanges(_ shown: [MessageID: MessageRecord?], into changes: inout ChangeCollector) throws
    {
        for id in messageOrder {
            guard let now = shown[id], let touched = messages[id] else { continue }
            try changes.addChange(
                before: touched.before.map { try reader.message($0) }, after: now.map { try reader.message($0) },
                wrap: { .message($0) },
                differences: PropertyDifferences.between
            ) { $0.isDeleted = true }
        }
    }

    // MARK: Conversations

    private func settleConversation(_ id: ConversationID) throws {
        let server = conversations[id] ?? nil
        let operations = queue.operations(in: id)
        let shown = try Overlay.conversation(
            server, with: operations, applied: try progress(of: id)?.applied ?? 0, me: me,
            newest: try newestPosition(in: id)
        ) { message in
            try self.message(message, in: id)
                .flatMap { record in
                    record.position.map { Overlay.KnownMessage(position: $0, isUnread: record.isUnread) }
                }
        }
        try writeConversation(shown, id: id)
        try saveServerConversation(id, server: server, isPending: !operations.isEmpty)
    }

    /// Returns the newest position of a visible message. Only a pending deletion of the conversation needs it, because
    /// messages that stay visible are newer than the deletion. nil otherwise.
    func newestPosition(in id: ConversationID) throws -> Int64? {
        guard !queue.deletions(of: id).isEmpty else { return nil }
        return try db.cachedStatement(sql: "SELECT MAX(position) FROM message WHERE conversation = ?")
            .one([id.blob], in: db) { $0[0] as Int64? }
            ?? nil
    }

    private func writeConversation(_ record: ConversationRecord?, id: ConversationID) throws {
        guard let record else {
            try db.cachedStatement(sql: "DELETE FROM conversation WHERE id = ?").execute(arguments: [id.blob])
            return
        }
        let last =
            try db.cachedStatement(
                sql:
                    "SELECT id, sent_at, received_at FROM message WHERE conversation = ? ORDER BY ordering DESC LIMIT 1"
            )
            .one([id.blob], in: db) { (id: $0[0] as Data, sentAt: $0[1] as Int64, receivedAt: $0[2] as Int64) }
        let oldLines = try db.cachedStatement(sql: "SELECT participants FROM conversation WHERE id = ?")
            .one([id.blob], in: db) { $0[0] as String }
        try db.cachedStatement(
            sql: """
                INSERT INTO conversation
                (id, created_at, participants, is_distinct, delivery_receipts, read_receipts, metadata, unread_count,
                 total_count, is_visible, has_unread, last_message, last_sent_at, last_received_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET
                created_at = excluded.created_at, participants = excluded.participants,
                is_distinct = excluded.is_distinct, delivery_receipts = excluded.delivery_receipts,
                read_receipts = excluded.read_receipts, metadata = excluded.metadata,
                unread_count = excluded.unread_count, total_count = excluded.total_count,
                is_visible = excluded.is_visible, has_unread = excluded.has_unread,
                last_message = excluded.last_message, last_sent_at = excluded.last_sent_at,
                last_received_at = excluded.last_received_at
                """
        )
        .execute(arguments: [
            id.blob, record.createdAt, record.participantLines, record.isDistinct, record.deliveryReceipts,
            record.readReceipts,
            StoreCoding.text(record.metadata), record.unreadCount, record.totalCount, record.isVisible,
            try reader.hasUnread(id), last?.id,
            last?.sentAt, last?.receivedAt,
        ])
        if oldLines != record.participantLines { try writeParticipants(record.participants, of: id) }
    }

    private func writeParticipants(_ participants: [UserID], of id: ConversationID) throws {
        try db.cachedStatement(sql: "DELETE FROM participant WHERE conversation = ?").execute(arguments: [id.blob])
        let insert = try db.cachedStatement(sql: "INSERT INTO participant (user_id, conversation) VALUES (?, ?)")
        for user in participants { try insert.execute(arguments: [user.rawValue, id.blob]) }
    }

    /// Stores the server's state of a conversation separately while operations are pending, and removes it afterwards.
    private func saveServerConversation(_ id: ConversationID, server: ConversationRecord?, isPending: Bool) throws {
        if isPending, let server {
            try db.cachedStatement(sql: "INSERT OR REPLACE INTO conversation_server (id, record) VALUES (?, ?)")
                .execute(arguments: [id.blob, try StoreCoding.json(server)])
        } else if wasPending(id) {
            try db.cachedStatement(sql: "DELETE FROM conversation_server WHERE id = ?").execute(arguments: [id.blob])
        }
    }

    // MARK: Identities and announcements

    private func settleIdentities(_ changes: inout ChangeCollector) throws {
        for (user, touched) in identities.sorted(by: { $0.key < $1.key }) {
            let operations = queue.operations(on: user)
            let shown = Overlay.identity(
                touched.server, with: operations, of: user,
                isParticipant: operations.isEmpty ? false : try isParticipant(user))
            try saveServerIdentity(touched, user: user, isPending: !operations.isEmpty)
            guard shown != touched.before else { continue }
            try writeIdentity(shown, user: user)
            changes.addChange(
                before: touched.before.map(StoreReader.identity), after: shown.map(StoreReader.identity),
                wrap: { .identity($0) },
                differences: PropertyDifferences.between
            ) { _ in }
        }
    }

    /// Stores the server's state of an identity separately while operations are pending, and removes it afterwards.
    private func saveServerIdentity(_ touched: TouchedIdentity, user: UserID, isPending: Bool) throws {
        if isPending, let server = touched.server {
            guard !wasPending(user) || server != touched.serverBefore else { return }
            try db.cachedStatement(sql: "INSERT OR REPLACE INTO identity_server (user_id, record) VALUES (?, ?)")
                .execute(arguments: [user.rawValue, try StoreCoding.json(server)])
        } else if wasPending(user) {
            try db.cachedStatement(sql: "DELETE FROM identity_server WHERE user_id = ?")
                .execute(arguments: [user.rawValue])
        }
    }

    private func writeIdentity(_ record: IdentityRecord?, user: UserID) throws {
        guard let record else {
            try db.cachedStatement(sql: "DELETE FROM identity WHERE user_id = ?").execute(arguments: [user.rawValue])
            return
        }
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO identity
                (user_id, display_name, first_name, last_name, email_address, phone_number, avatar_url, public_key,
                 metadata, is_followed, is_full, presence_status, last_seen_at, is_blocked)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        )
        .execute(arguments: [
            user.rawValue, record.displayName, record.firstName, record.lastName, record.emailAddress,
            record.phoneNumber, record.avatarURL,
            record.publicKey, StoreCoding.text(record.metadata), record.isFollowed, record.isFull,
            record.presenceStatus, record.lastSeenAt,
            record.isBlocked ?? false,
        ])
    }

    private func settleAnnouncements(_ changes: inout ChangeCollector) throws {
        for id in announcements.keys.sorted(by: { $0.description < $1.description }) {
            guard let value = announcements[id] else { continue }
            let before = try reader.shownAnnouncement(id)
            try writeAnnouncement(value.now, id: id, isNew: value.before == nil)
            changes.addChange(
                before: before, after: try reader.shownAnnouncement(id), wrap: { .announcement($0) },
                differences: PropertyDifferences.between
            ) { $0.isDeleted = true }
        }
    }

    private func writeAnnouncement(_ record: AnnouncementRecord?, id: AnnouncementID, isNew: Bool) throws {
        guard let record else {
            try db.cachedStatement(sql: "DELETE FROM announcement WHERE id = ?").execute(arguments: [id.blob])
            try db.cachedStatement(sql: "DELETE FROM part WHERE message = ?").execute(arguments: [id.blob])
            return
        }
        let pending = queue.withoutConversation.map(\.change)
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO announcement
                (id, position, sender, sender_name, sent_at, received_at, is_unread, is_visible, server_unread)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        )
        .execute(arguments: [
            id.blob, record.position, record.sender?.rawValue, record.senderName, record.sentAt, record.receivedAt,
            record.isUnread && !pending.contains(.markAnnouncementRead(id)), !pending.contains(.deleteAnnouncement(id)),
            record.isUnread,
        ])
        try writeParts(record.parts, of: id.rawValue, isNew: isNew)
    }

    // MARK: Operations and progress

    private func saveOperations() throws {
        for sequence in queue.takeUnsaved().sorted() {
            if let operation = queue.operations[sequence] {
                try db.cachedStatement(sql: "INSERT OR REPLACE INTO operation (sequence, id, record) VALUES (?, ?, ?)")
                    .execute(arguments: [sequence, operation.id.data, try StoreCoding.json(operation)])
            } else {
                try db.cachedStatement(sql: "DELETE FROM operation WHERE sequence = ?").execute(arguments: [sequence])
            }
        }
    }

    /// Stores failures until the app confirms them, because the process may end before it has handled the event. Only
    /// the newest ``keptFailures`` are kept.
    private func saveFailures() throws {
        guard !findings.failures.isEmpty else { return }
        for failure in findings.failures {
            try db.cachedStatement(sql: "INSERT INTO failure (id, record) VALUES (?, ?)")
                .execute(arguments: [failure.id.data, try StoreCoding.json(StoredFailure(failure))])
        }
        try db.cachedStatement(sql: "DELETE FROM failure WHERE sequence <= (SELECT max(sequence) FROM failure) - ?")
            .execute(arguments: [Self.keptFailures])
    }

    /// The maximum number of stored failures; see ``StrataClient/unconfirmedFailures()``.
    private static let keptFailures = 1000

    private func saveProgress() throws {
        for (id, value) in changedProgress {
            guard let value else {
                try db.cachedStatement(sql: "DELETE FROM conversation_sync WHERE id = ?").execute(arguments: [id.blob])
                continue
            }
            try db.cachedStatement(
                sql: """
                    INSERT OR REPLACE INTO conversation_sync (id, applied, oldest, goal, generation)
                    VALUES (?, ?, ?, ?, ?)
                    """
            )
            .execute(arguments: [
                id.blob, value.applied, value.oldest, try value.goal.map { try StoreCoding.json($0) }, value.generation,
            ])
        }
        guard hasCursorChanged else { return }
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO state (key, value) VALUES ('cursor', ?)")
            .execute(arguments: [try StoreCoding.json(cursor)])
    }
}
