// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import StrataModel

/// One transaction of the store.
///
/// It collects what the server said, and what the user changed, in memory: records "of the server" (``conversation(_:)``, ``message(_:in:)``) are read when
/// they are first needed. ``settle()`` applies the pending operations to what was touched, writes what differs, and finds the changes to publish.
final class StoreTransaction {
    let db: Database
    let reader: StoreReader
    let me: UserID
    /// Microseconds since 1970, by this device's clock.
    let now: Int64
    var queue: OutgoingQueue
    var cursor: SyncCursor
    /// What was found out on the way, for the synchronization.
    var findings = SyncFindings()
    /// Lists have come: they may contain what pending changes did.
    var hasLoaded = false
    let policy: SyncPolicy
    /// Gives the ids of changes and conversations.
    let newID: () -> UUID

    private let queueBefore: OutgoingQueue
    private let cursorBefore: SyncCursor
    /// What the server said of a conversation that was touched; nil inside: nothing, or that it was deleted.
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
        /// What the server said before this transaction.
        let serverBefore: MessageRecord?
        /// What the server said; nil: nothing, or that it was deleted.
        var server: MessageRecord?
        /// Which conversation it is in, as far as is known.
        var conversation: ConversationID
    }

    struct TouchedIdentity {
        let before: IdentityRecord?
        /// What the server said before this transaction.
        let serverBefore: IdentityRecord?
        /// What the server said; nil: nothing.
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

    /// What the server said of a conversation.
    func conversation(_ id: ConversationID) throws -> ConversationRecord? {
        if let known = conversations[id] { return known }
        let record =
            queueBefore.hasOperations(in: id)
            ? try serverRecord(ConversationRecord.self, from: "conversation_server", id: id.blob) : try reader.conversationRecord(id)
        conversations[id] = .some(record)
        conversationOrder.append(id)
        return record
    }

    /// Replaces what the server said of a conversation; nil: it is gone.
    func setConversation(_ id: ConversationID, to record: ConversationRecord?) throws {
        _ = try conversation(id)
        conversations[id] = .some(record)
    }

    /// Has the conversation shown anew, since operations on it have changed.
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

    /// Changes how far a conversation is synchronized; nothing happens for one that is not known.
    func updateProgress(of id: ConversationID, _ update: (inout SyncProgress) -> Void) throws {
        guard var value = try progress(of: id) else { return }
        update(&value)
        try setProgress(of: id, value)
    }

    // MARK: Messages

    /// What the server said of a message.
    /// - Parameter conversation: the one it is in; nil if that is not known.
    func message(_ id: MessageID, in conversation: ConversationID?) throws -> MessageRecord? { try touch(id, in: conversation)?.server }

    /// Replaces what the server said of a message; nil: it is gone.
    func setMessage(_ id: MessageID, in conversation: ConversationID, to record: MessageRecord?) throws {
        _ = try touch(id, in: conversation)
        messages[id]?.server = record
        messages[id]?.conversation = record?.conversation ?? conversation
    }

    /// A message that was not sent belongs to another conversation now.
    func move(_ id: MessageID, to conversation: ConversationID) { messages[id]?.conversation = conversation }

    /// Reads a message once, so that it will be shown anew.
    /// - Returns: nil if neither the message nor its conversation is known.
    @discardableResult
    func touch(_ id: MessageID, in conversation: ConversationID?) throws -> TouchedMessage? {
        if let known = messages[id] { return known }
        let before = try reader.messageRecord(id)
        guard let conversation = try before?.conversation ?? serverConversation(of: id) ?? conversation else { return nil }
        // The conversation is shown anew with its messages.
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

    /// The ids of the messages of a conversation that the server has told of, from one position to another, those among them that this transaction has
    /// added.
    func messageIDs(in conversation: ConversationID, from first: Int64 = 0, through last: Int64 = .max) throws -> [MessageID] {
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

    /// What the server said of a user.
    func identity(_ user: UserID) throws -> IdentityRecord? {
        if let known = identities[user] { return known.server }
        let before = try reader.identityRecord(user)
        let server = wasPending(user) ? try serverRecord(IdentityRecord.self, from: "identity_server", column: "user_id", id: user.rawValue) : before
        identities[user] = TouchedIdentity(before: before, serverBefore: server, server: server)
        return server
    }

    /// Replaces what the server said of a user; nil: it tells nothing of them any more.
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

    /// Whether pending operations stood on a conversation before this transaction: then what the server said is in a table of its own.
    func wasPending(_ id: ConversationID) -> Bool { queueBefore.hasOperations(in: id) }
    func wasPending(_ id: MessageID, in conversation: ConversationID) -> Bool { !queueBefore.operations(on: id, in: conversation).isEmpty }
    func wasPending(_ user: UserID) -> Bool { !queueBefore.operations(on: user).isEmpty }

    var hasCursorChanged: Bool { cursor != cursorBefore }

    /// The rows of `conversation_sync` to be written.
    var changedProgress: [(ConversationID, SyncProgress?)] {
        progress.compactMap { id, value in value.before == value.now ? nil : (id, value.now) }
    }
}

/// What a transaction found that the synchronization has to see to.
struct SyncFindings: Sendable, Hashable {
    /// Changes of conversations came that this device does not have.
    var unknownConversations: Set<ConversationID> = []
    /// Older messages of these are to be fetched, those with the newest messages first.
    var historyWanted: [ConversationID] = []
    /// There is something new to send.
    var hasNewOperations = false
    /// A conversation of another epoch was shown: the database was restored.
    var epochHasChanged = false
    /// Operations that ended by being refused.
    var failures: [OperationFailure] = []
    /// Distinct conversations that turned out to be another's.
    var merged: [ConversationID: ConversationID] = [:]
}
