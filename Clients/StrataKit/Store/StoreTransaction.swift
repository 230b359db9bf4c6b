// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import StrataModel

/// A transaction of the store.
///
/// A transaction collects the server's data and the user's changes in memory. It reads the server's state of an object
/// (``conversation(_:)``, ``message(_:in:)``) at its first use. ``settle()`` applies the pending operations to the
/// touched objects, writes the differences, and determines the changes to publish.
final class StoreTransaction {
    let db: Database
    let reader: StoreReader
    let me: UserID
    /// The time of the transaction in microseconds since 1970, by this device's clock.
    let now: Int64
    var queue: OutgoingQueue
    var cursor: SyncCursor
    var findings = SyncFindings()
    /// True if lists have been stored, which may contain the effects of pending changes.
    var hasLoaded = false
    let policy: SyncPolicy
    let newID: () -> UUID

    private let queueBefore: OutgoingQueue
    private let cursorBefore: SyncCursor
    /// The server's state of each touched conversation. nil: unknown to the server, or deleted.
    private(set) var conversations: [ConversationID: ConversationRecord?] = [:]
    private(set) var messages: [MessageID: TouchedMessage] = [:]
    private(set) var identities: [UserID: TouchedIdentity] = [:]
    private(set) var announcements: [AnnouncementID: (before: AnnouncementRecord?, now: AnnouncementRecord?)] = [:]
    private var progress: [ConversationID: (before: SyncProgress?, now: SyncProgress?)] = [:]
    /// The order of first access, so that equal inputs produce equal batches of changes.
    private(set) var conversationOrder: [ConversationID] = []
    private(set) var messageOrder: [MessageID] = []

    struct TouchedMessage {
        let before: MessageRecord?
        let serverBefore: MessageRecord?
        /// The server's state; nil: unknown to the server, or deleted.
        var server: MessageRecord?
        var conversation: ConversationID
    }

    struct TouchedIdentity {
        let before: IdentityRecord?
        let serverBefore: IdentityRecord?
        /// The server's state; nil if there is none.
        var server: IdentityRecord?
    }

    init(
        _ db: Database, reader: StoreReader, queue: OutgoingQueue, cursor: SyncCursor, policy: SyncPolicy, now: Int64,
        newID: @escaping () -> UUID
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

    /// Returns the server's state of a conversation.
    func conversation(_ id: ConversationID) throws -> ConversationRecord? {
        if let known = conversations[id] { return known }
        let record =
            queueBefore.hasOperations(in: id)
            ? try serverRecord(ConversationRecord.self, from: "conversation_server", id: id.blob)
            : try reader.conversationRecord(id)
        conversations[id] = .some(record)
        conversationOrder.append(id)
        return record
    }

    /// Replaces the server's state of a conversation; nil removes it.
    func setConversation(_ id: ConversationID, to record: ConversationRecord?) throws {
        _ = try conversation(id)
        conversations[id] = .some(record)
    }

    /// Marks a conversation for recomputation, because its operations have changed.
    func touch(_ id: ConversationID) throws { _ = try conversation(id) }

    func progress(of id: ConversationID) throws -> SyncProgress? {
        if let known = progress[id] { return known.now }
        let stored =
            try db.cachedStatement(sql: "SELECT applied, oldest, goal, generation FROM conversation_sync WHERE id = ?")
            .one([id.blob], in: db) { row in
                let goal: String? = row[2]
                return SyncProgress(
                    applied: row[0], oldest: row[1],
                    goal: goal.flatMap { try? StoreCoding.value(HistoryGoal.self, from: $0) }, generation: row[3])
            }
        progress[id] = (stored, stored)
        return stored
    }

    func setProgress(of id: ConversationID, _ value: SyncProgress?) throws {
        _ = try progress(of: id)
        progress[id]?.now = value
    }

    /// Updates the synchronization progress of a conversation. Unknown conversations are ignored.
    func updateProgress(of id: ConversationID, _ update: (inout SyncProgress) -> Void) throws {
        guard var value = try progress(of: id) else { return }
        update(&value)
        try setProgress(of: id, value)
    }

    // MARK: Messages

    /// Returns the server's state of a message.
    /// - Parameter conversation: the conversation of the message; nil if unknown.
    func message(_ id: MessageID, in conversation: ConversationID?) throws -> MessageRecord? {
        try touch(id, in: conversation)?.server
    }

    /// Replaces the server's state of a message; nil removes it.
    func setMessage(_ id: MessageID, in conversation: ConversationID, to record: MessageRecord?) throws {
        _ = try touch(id, in: conversation)
        messages[id]?.server = record
        messages[id]?.conversation = record?.conversation ?? conversation
    }

    /// Changes the conversation of a touched message.
    func move(_ id: MessageID, to conversation: ConversationID) { messages[id]?.conversation = conversation }

    /// Loads a message and marks it for recomputation.
    /// - Returns: nil if neither the message nor its conversation is known.
    @discardableResult
    func touch(_ id: MessageID, in conversation: ConversationID?) throws -> TouchedMessage? {
        if let known = messages[id] { return known }
        let before = try reader.messageRecord(id)
        guard let conversation = try before?.conversation ?? serverConversation(of: id) ?? conversation else {
            return nil
        }
        // Changes of messages affect their conversation.
        try touch(conversation)
        let isPending = !queueBefore.operations(on: id, in: conversation).isEmpty
        let server = isPending ? try serverRecord(MessageRecord.self, from: "message_server", id: id.blob) : before
        let touched = TouchedMessage(before: before, serverBefore: server, server: server, conversation: conversation)
        messages[id] = touched
        messageOrder.append(id)
        return touched
    }

    private func serverConversation(of message: MessageID) throws -> ConversationID? {
        // Without pending operations, the table `message_server` is empty.
        guard !queueBefore.isEmpty else { return nil }
        return try db.cachedStatement(sql: "SELECT conversation FROM message_server WHERE id = ?")
            .one([message.blob], in: db) { ConversationID(rawValue: $0[0]) }
    }

    /// Returns the ids of the server's messages in a conversation and range of positions, including those added by this
    /// transaction. The result is empty if `last` is less than `first`.
    func messageIDs(
        in conversation: ConversationID, from first: Int64 = 0, through last: Int64 = .max
    ) throws -> [MessageID] {
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
            .compactMap { touched in
                touched.server.flatMap { $0.position.map { first...last ~= $0 } == true ? $0.id : nil }
            }
        return added.isEmpty ? stored : Array(Set(stored).union(added))
    }

    // MARK: Identities and announcements

    /// Returns the server's state of an identity.
    func identity(_ user: UserID) throws -> IdentityRecord? {
        if let known = identities[user] { return known.server }
        let before = try reader.identityRecord(user)
        let server =
            wasPending(user)
            ? try serverRecord(IdentityRecord.self, from: "identity_server", column: "user_id", id: user.rawValue)
            : before
        identities[user] = TouchedIdentity(before: before, serverBefore: server, server: server)
        return server
    }

    /// Replaces the server's state of an identity; nil removes it.
    func setIdentity(_ user: UserID, to record: IdentityRecord?) throws {
        _ = try identity(user)
        identities[user]?.server = record
    }

    /// Returns the server's state of an announcement.
    func announcement(_ id: AnnouncementID) throws -> AnnouncementRecord? {
        if let known = announcements[id] { return known.now }
        var record = try reader.announcementRecord(id)
        if record != nil {
            record?.isUnread =
                try db.cachedStatement(sql: "SELECT server_unread FROM announcement WHERE id = ?")
                .one([id.blob], in: db) { $0[0] as Bool } ?? false
        }
        announcements[id] = (record, record)
        return record
    }

    /// Replaces the server's state of an announcement; nil removes it.
    func setAnnouncement(_ id: AnnouncementID, to record: AnnouncementRecord?) throws {
        _ = try announcement(id)
        announcements[id]?.now = record
    }

    // MARK: State before the transaction

    /// Returns the server's state that was stored separately because operations were pending; nil if the server has no
    /// such object.
    private func serverRecord<Record: Decodable>(
        _ type: Record.Type, from table: String, column: String = "id", id: some DatabaseValueConvertible
    ) throws -> Record? {
        try db.cachedStatement(sql: "SELECT record FROM \(table) WHERE \(column) = ?")
            .one([id], in: db) { $0[0] as String }
            .map { try StoreCoding.value(type, from: $0) }
    }

    /// Returns true if a conversation had pending operations before this transaction. Its server state is then in a
    /// separate table.
    func wasPending(_ id: ConversationID) -> Bool { queueBefore.hasOperations(in: id) }
    func wasPending(_ id: MessageID, in conversation: ConversationID) -> Bool {
        !queueBefore.operations(on: id, in: conversation).isEmpty
    }
    func wasPending(_ user: UserID) -> Bool { !queueBefore.operations(on: user).isEmpty }

    var hasCursorChanged: Bool { cursor != cursorBefore }

    var changedProgress: [(ConversationID, SyncProgress?)] {
        progress.compactMap { id, value in value.before == value.now ? nil : (id, value.now) }
    }
}

/// The findings of a transaction that the sync engine must handle.
struct SyncFindings: Sendable, Hashable {
    /// Conversations that received changes but are not on this device.
    var unknownConversations: Set<ConversationID> = []
    /// Conversations that need older messages, newest message first.
    var historyWanted: [ConversationID] = []
    var hasNewOperations = false
    /// True if a conversation had a different epoch, which means that the database was restored.
    var epochHasChanged = false
    var failures: [OperationFailure] = []
    /// Distinct conversations that another user had created earlier: their local ids, and the ids of the existing
    /// conversations.
    var merged: [ConversationID: ConversationID] = [:]
}
