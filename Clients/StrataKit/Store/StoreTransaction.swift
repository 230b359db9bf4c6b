// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import StrataModel

/// One transaction of the store.
///
/// It collects the server's data and the user's changes in memory. It reads records "of the server" (``conversation(_:)``, ``message(_:in:)``) when
/// they are first needed. ``settle()`` applies the pending operations to the touched objects, writes the differences, and finds the changes to publish.
final class StoreTransaction {
    let db: Database
    let reader: StoreReader
    let me: UserID
    /// Microseconds since 1970, by this device's clock.
    let now: Int64
    var queue: OutgoingQueue
    var cursor: SyncCursor
    /// What the transaction found for the synchronization.
    var findings = SyncFindings()
    /// Whether lists have arrived, which may contain the effects of pending changes.
    var hasLoaded = false
    let policy: SyncPolicy
    /// Creates the ids of changes and conversations.
    let newID: () -> UUID

    private let queueBefore: OutgoingQueue
    private let cursorBefore: SyncCursor
    /// The server's state of each touched conversation. A nil value means that the server has told nothing of it, or that it was deleted.
    private(set) var conversations: [ConversationID: ConversationRecord?] = [:]
    private(set) var messages: [MessageID: TouchedMessage] = [:]
    private(set) var identities: [UserID: TouchedIdentity] = [:]
    private(set) var announcements: [AnnouncementID: (before: AnnouncementRecord?, now: AnnouncementRecord?)] = [:]
    private var progress: [ConversationID: (before: SyncProgress?, now: SyncProgress?)] = [:]
    /// The order in which objects were first touched, so that equal inputs give equal batches of changes.
    private(set) var conversationOrder: [ConversationID] = []
    private(set) var messageOrder: [MessageID] = []

    struct TouchedMessage {
        let before: MessageRecord?
        /// The server's state before this transaction.
        let serverBefore: MessageRecord?
        /// The server's state. Nil if the server has told nothing of the message, or if it was deleted.
        var server: MessageRecord?
        /// The conversation of the message, if it is known.
        var conversation: ConversationID
    }

    struct TouchedIdentity {
        let before: IdentityRecord?
        /// The server's state before this transaction.
        let serverBefore: IdentityRecord?
        /// The server's state. Nil if the server has told nothing.
        var server: IdentityRecord?
    }

    init(
        _ db: Database, reader: StoreReader, queue: OutgoingQueue, cursor: SyncCursor, policy: SyncPolicy, now: Int64, newID: @escaping () -> UUID
    ) {
        self.newID = newID
        self.policy = policy
        self.db = db
        self.reader = reader
        me = reader.me
        self.now = now
        self.queue = queue
        self.cursor = cursor
        queueBefore = queue
        cursorBefore = cursor
    }

    // MARK: Conversations

    /// The server's state of a conversation.
    func conversation(_ id: ConversationID) throws -> ConversationRecord? {
        if let known = conversations[id] { return known }
        let record =
            queueBefore.hasOperations(in: id)
            ? try serverRecord(ConversationRecord.self, from: "conversation_server", id: id.blob) : try reader.conversationRecord(id)
        conversations[id] = .some(record)
        conversationOrder.append(id)
        return record
    }

    /// Replaces the server's state of a conversation. Nil means that the conversation is gone.
    func setConversation(_ id: ConversationID, to record: ConversationRecord?) throws {
        _ = try conversation(id)
        conversations[id] = .some(record)
    }

    /// Marks the conversation to be computed again, because operations on it have changed.
    func touch(_ id: ConversationID) throws { _ = try conversation(id) }

    /// How far a conversation is synchronized.
    func progress(of id: ConversationID) throws -> SyncProgress? {
        if let known = progress[id] { return known.now }
        let stored = try db.cachedStatement(sql: "SELECT applied, oldest, goal, generation FROM conversation_sync WHERE id = ?")
            .one([id.blob], in: db) { row in
                let goal: String? = row[2]
                return SyncProgress(
                    applied: row[0], oldest: row[1], goal: goal.flatMap { try? StoreCoding.value(HistoryGoal.self, from: $0) }, generation: row[3])
            }
        progress[id] = (stored, stored)
        return stored
    }

    func setProgress(of id: ConversationID, _ value: SyncProgress?) throws {
        _ = try progress(of: id)
        progress[id]?.now = value
    }

    /// Changes how far a conversation is synchronized. An unknown conversation is ignored.
    func updateProgress(of id: ConversationID, _ update: (inout SyncProgress) -> Void) throws {
        guard var value = try progress(of: id) else { return }
        update(&value)
        try setProgress(of: id, value)
    }

    // MARK: Messages

    /// The server's state of a message.
    /// - Parameter conversation: the conversation of the message. Nil if it is not known.
    func message(_ id: MessageID, in conversation: ConversationID?) throws -> MessageRecord? { try touch(id, in: conversation)?.server }

    /// Replaces the server's state of a message. Nil means that the message is gone.
    func setMessage(_ id: MessageID, in conversation: ConversationID, to record: MessageRecord?) throws {
        _ = try touch(id, in: conversation)
        messages[id]?.server = record
        messages[id]?.conversation = record?.conversation ?? conversation
    }

    /// Moves an unsent message to another conversation.
    func move(_ id: MessageID, to conversation: ConversationID) { messages[id]?.conversation = conversation }

    /// Reads a message once, so that it will be computed again.
    /// - Returns: nil if neither the message nor its conversation is known.
    @discardableResult
    func touch(_ id: MessageID, in conversation: ConversationID?) throws -> TouchedMessage? {
        if let known = messages[id] { return known }
        let before = try reader.messageRecord(id)
        guard let conversation = try before?.conversation ?? serverConversation(of: id) ?? conversation else { return nil }
        // The conversation is computed again with its messages.
        try touch(conversation)
        let isPending = !queueBefore.operations(on: id, in: conversation).isEmpty
        let server = isPending ? try serverRecord(MessageRecord.self, from: "message_server", id: id.blob) : before
        let touched = TouchedMessage(before: before, serverBefore: server, server: server, conversation: conversation)
        messages[id] = touched
        messageOrder.append(id)
        return touched
    }

    private func serverConversation(of message: MessageID) throws -> ConversationID? {
        // Without pending operations that table is empty.
        guard !queueBefore.isEmpty else { return nil }
        return try db.cachedStatement(sql: "SELECT conversation FROM message_server WHERE id = ?")
            .one([message.blob], in: db) { ConversationID(rawValue: $0[0]) }
    }

    /// The ids of the server's messages in a conversation, from one position to another, including those that this transaction has
    /// added. None if the last position is below the first.
    func messageIDs(in conversation: ConversationID, from first: Int64 = 0, through last: Int64 = .max) throws -> [MessageID] {
        guard first <= last else { return [] }
        let arguments: StatementArguments = [conversation.blob, first, last, conversation.blob, first, last]
        let stored =
            try db.cachedStatement(
                sql: """
                    SELECT id FROM message WHERE conversation = ? AND ordering BETWEEN ? AND ? AND position IS NOT NULL
                    UNION SELECT id FROM message_server WHERE conversation = ? AND position BETWEEN ? AND ?
                    """
            )
            .all(arguments, in: db) { MessageID(rawValue: $0[0]) }
        let added = messages.values.filter { $0.conversation == conversation }
            .compactMap { touched in touched.server.flatMap { $0.position.map { first...last ~= $0 } == true ? $0.id : nil } }
        return added.isEmpty ? stored : Array(Set(stored).union(added))
    }

    // MARK: Identities and announcements

    /// The server's state of a user.
    func identity(_ user: UserID) throws -> IdentityRecord? {
        if let known = identities[user] { return known.server }
        let before = try reader.identityRecord(user)
        let server = wasPending(user) ? try serverRecord(IdentityRecord.self, from: "identity_server", column: "user_id", id: user.rawValue) : before
        identities[user] = TouchedIdentity(before: before, serverBefore: server, server: server)
        return server
    }

    /// Replaces the server's state of a user. Nil means that the server no longer tells of the user.
    func setIdentity(_ user: UserID, to record: IdentityRecord?) throws {
        _ = try identity(user)
        identities[user]?.server = record
    }

    func announcement(_ id: AnnouncementID) throws -> AnnouncementRecord? {
        if let known = announcements[id] { return known.now }
        var record = try reader.announcementRecord(id)
        if record != nil {
            record?.isUnread =
                try db.cachedStatement(sql: "SELECT server_unread FROM announcement WHERE id = ?").one([id.blob], in: db) { $0[0] as Bool } ?? false
        }
        announcements[id] = (record, record)
        return record
    }

    func setAnnouncement(_ id: AnnouncementID, to record: AnnouncementRecord?) throws {
        _ = try announcement(id)
        announcements[id]?.now = record
    }

    // MARK: What settling needs

    private func serverRecord<Record: Decodable>(
        _ type: Record.Type, from table: String, column: String = "id", id: some DatabaseValueConvertible
    ) throws -> Record? {
        try db.cachedStatement(sql: "SELECT record FROM \(table) WHERE \(column) = ?").one([id], in: db) { $0[0] as String }
            .map { try StoreCoding.value(type, from: $0) }
    }

    /// Whether a conversation had pending operations before this transaction. Then the server's state is in a separate table.
    func wasPending(_ id: ConversationID) -> Bool { queueBefore.hasOperations(in: id) }
    func wasPending(_ id: MessageID, in conversation: ConversationID) -> Bool { !queueBefore.operations(on: id, in: conversation).isEmpty }
    func wasPending(_ user: UserID) -> Bool { !queueBefore.operations(on: user).isEmpty }

    var hasCursorChanged: Bool { cursor != cursorBefore }

    /// The rows of `conversation_sync` to write.
    var changedProgress: [(ConversationID, SyncProgress?)] {
        progress.compactMap { id, value in value.before == value.now ? nil : (id, value.now) }
    }
}

/// What a transaction found that the synchronization must handle.
struct SyncFindings: Sendable, Hashable {
    /// The conversations that are not on this device and for which changes arrived.
    var unknownConversations: Set<ConversationID> = []
    /// The conversations whose older messages are to be fetched, in the order of their newest messages.
    var historyWanted: [ConversationID] = []
    /// Whether there are new changes to send.
    var hasNewOperations = false
    /// Whether a conversation of another epoch was shown, which means that the database was restored.
    var epochHasChanged = false
    /// Operations that the server has refused.
    var failures: [OperationFailure] = []
    /// Distinct conversations that another user had created before.
    var merged: [ConversationID: ConversationID] = [:]
}
