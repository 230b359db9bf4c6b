// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import ProtocolClient
import StrataModel

/// Stores the answers to loads. Afterwards, the caller reapplies the packets that arrived during the load.
extension StoreTransaction {
    /// Stores a page of the list of conversations, each with its newest messages.
    /// - Parameter next: the start of the next page; nil after the last page.
    func storeConversationPage(_ json: JSONValue, next: String?) throws {
        for object in json.array ?? [] {
            guard let shown = WireObjects.conversation(object, now: now) else { continue }
            try storeConversation(shown)
            guard let messages = object["messages"].array else { continue }
            try storeMessages(
                .array(messages), of: shown.record.id, below: nil, hasMore: messages.count < shown.record.totalCount)
        }
        guard cursor.listing != nil else { return }
        cursor.listing?.nextConversations = next
        if next == nil { try endConversations() }
        hasLoaded = true
    }

    /// Stores messages of one conversation, newest first and without gaps.
    /// - Parameters:
    ///   - position: the list starts below this position; nil: with the newest message.
    ///   - hasMore: false if the list reaches the conversation's first message.
    /// - Returns: true if the list contained a message or reached its end, false if it contained nothing new.
    @discardableResult
    func storeMessages(
        _ json: JSONValue, of conversation: ConversationID, below position: Int64?, hasMore: Bool
    ) throws -> Bool {
        let shown = (json.array ?? []).compactMap { WireObjects.message($0, now: now) }
            .filter { $0.record.conversation == conversation }
        let positions = shown.compactMap(\.record.position)
        guard let first = hasMore ? positions.min() : 0 else { return false }
        let listed = Set(shown.map(\.record.id))
        let last = position.map { $0 - 1 } ?? .max
        for id in try messageIDs(in: conversation, from: first, through: last) where !listed.contains(id) {
            try setMessage(id, in: conversation, to: nil)
        }
        for message in shown { try replace(message) }
        try updateProgress(of: conversation) { $0.oldest = min($0.oldest ?? .max, first) }
        try touch(conversation)
        return true
    }

    /// Stores a page of older messages. With ``HistoryGoal/firstUnread``, messages before the first unread one are
    /// discarded.
    /// - Returns: true if the page contained a message or was the last page.
    @discardableResult
    func storeHistoryPage(
        _ json: JSONValue, of conversation: ConversationID, below position: Int64?, hasMore: Bool
    ) throws -> Bool {
        var page = json.array ?? []
        var hasMore = hasMore
        if let progress = try progress(of: conversation), progress.goal == .firstUnread,
            let record = try self.conversation(conversation)
        {
            var missing = try record.unreadCount - unreadCount(in: conversation, from: progress.oldest ?? .max)
            let end = page.firstIndex { message in
                if message["is_unread"].bool == true { missing -= 1 }
                return missing <= 0
            }
            if let end, end < page.count - 1 {
                page = Array(page[...end])
                hasMore = true
            }
        }
        return try storeMessages(.array(page), of: conversation, below: position, hasMore: hasMore)
    }

    private func unreadCount(in id: ConversationID, from position: Int64) throws -> Int {
        try messageIDs(in: id, from: position).count { try message($0, in: id)?.isUnread == true }
    }

    /// Returns the number of messages to request in the next page of older messages.
    func historyPageSize(in id: ConversationID) throws -> Int {
        guard let progress = try progress(of: id), case .count(let wanted)? = progress.goal else {
            return Limits.pageSize
        }
        let known = try knownCount(in: id, from: progress.oldest ?? .max)
        return min(max(1, wanted - known), Limits.pageSize)
    }

    /// Stores one conversation, loaded by its id. nil: the server does not show it to this user.
    func storeConversation(_ json: JSONValue?, id: ConversationID) throws {
        if let json, let shown = WireObjects.conversation(json, now: now) {
            try storeConversation(shown)
        } else if json == nil {
            try forgetConversation(id)
        }
    }

    func storeIdentityPage(_ json: JSONValue, next: String?) throws {
        for object in json.array ?? [] {
            if let identity = WireObjects.identity(object) { try storeFullIdentity(identity, isFollowed: true) }
        }
        guard cursor.listing != nil else { return }
        cursor.listing?.nextIdentities = next
        if next == nil { try endIdentities() }
    }

    func storeAnnouncementPage(_ json: JSONValue, next: String?) throws {
        for object in json.array ?? [] {
            if let announcement = WireObjects.announcement(object, now: now) { try storeAnnouncement(announcement) }
        }
        guard cursor.listing != nil else { return }
        cursor.listing?.nextAnnouncements = next
        if next == nil { try endAnnouncements() }
    }

    func storeBlockPage(_ json: JSONValue, next: String?) throws {
        for object in json.array ?? [] {
            guard let basic = WireObjects.basicIdentity(object) else { continue }
            try storeBasicIdentity(basic)
            try setBlockedByServer(true, basic.userID)
        }
        guard cursor.listing != nil else { return }
        cursor.listing?.nextBlocks = next
        if next == nil { try endBlocks() }
    }

    /// Stores the server's state of a block. A block of an unknown user creates a minimal identity.
    func setBlockedByServer(_ isBlocked: Bool, _ user: UserID) throws {
        guard var record = try identity(user) ?? (isBlocked ? IdentityRecord(userID: user) : nil) else { return }
        record.isBlocked = isBlocked ? true : nil
        if isBlocked { try markBlocked(user) }
        try setIdentity(user, to: record)
    }

    /// Begins the list again with its first page. Loads of single conversations have no list, so they are ignored.
    func restart(list load: SyncLoad) {
        switch load {
        case .conversations: cursor.listing?.nextConversations = nil
        case .identities: cursor.listing?.nextIdentities = nil
        case .announcements: cursor.listing?.nextAnnouncements = nil
        case .blocks: cursor.listing?.nextBlocks = nil
        case .conversation, .history: break
        }
    }

    /// Sets a goal to fetch older messages, on request of the app.
    /// - Parameter goal: receives the visible state of the conversation, the number of its newest messages that are on
    ///   this device without gaps, and its progress.
    func setHistoryGoal(
        of id: ConversationID, _ goal: (ConversationRecord, Int, SyncProgress) throws -> HistoryGoal
    ) throws {
        guard let record = try reader.conversationRecord(id), record.isVisible, let progress = try progress(of: id)
        else {
            throw StrataError(.conversationDeleted, "The conversation \(id.layerID) is not on this device.")
        }
        guard progress.goal == nil else {
            throw StrataError(.manualSyncAlreadyInProgress, "Messages of \(id.layerID) are being fetched.")
        }
        let known = try knownCount(in: id, from: progress.oldest ?? .max)
        guard progress.oldest != 0, known < (try conversation(id)?.totalCount ?? 0) else {
            throw StrataError(.manualSyncAlreadyFullySynced, "All messages of \(id.layerID) are on this device.")
        }
        let wanted = try goal(record, known, progress)
        if wanted == .firstUnread, try isReached(wanted, progress: progress, in: id) {
            throw StrataError(.manualSyncNothingToSync, "No unread message of \(id.layerID) is missing on this device.")
        }
        try updateProgress(of: id) { $0.goal = wanted }
        try touch(id)
    }

    func hasHistoryGoal(of id: ConversationID) throws -> Bool { try progress(of: id)?.goal != nil }

    /// Returns the number of messages still to be fetched, according to the conversation's counts. For
    /// ``HistoryGoal/firstUnread`` only unread messages are counted, because the server does not report the number of
    /// other messages between them.
    func missingMessages(of id: ConversationID) throws -> Int {
        guard let progress = try progress(of: id), let goal = progress.goal, let record = try conversation(id) else {
            return 0
        }
        return try missingMessages(for: goal, record, from: progress.oldest ?? .max)
    }

    private func missingMessages(for goal: HistoryGoal, _ record: ConversationRecord, from oldest: Int64) throws -> Int
    {
        switch goal {
        case .everything: return max(0, record.totalCount - (try knownCount(in: record.id, from: oldest)))
        case .count(let wanted):
            return max(0, min(wanted, record.totalCount) - (try knownCount(in: record.id, from: oldest)))
        case .firstUnread: return max(0, record.unreadCount - (try unreadCount(in: record.id, from: oldest)))
        case .position(_, let next): return try next.map { try missingMessages(for: $0, record, from: oldest) } ?? 0
        }
    }

    /// Returns the number of the server's messages on this device from a position on, including those that the user is
    /// deleting.
    private func knownCount(in id: ConversationID, from position: Int64) throws -> Int {
        let count = """
            SELECT COUNT(*) FROM (
                SELECT id FROM message WHERE conversation = ? AND ordering >= ? AND position IS NOT NULL
                UNION SELECT id FROM message_server WHERE conversation = ? AND position >= ?)
            """
        return try db.cachedStatement(sql: count).one([id.blob, position, id.blob, position], in: db) { $0[0] } ?? 0
    }

    /// Returns the message below which the next page of older messages starts; nil: start with the newest message.
    func historyStart(in id: ConversationID) throws -> (message: MessageID, position: Int64)? {
        guard let oldest = try progress(of: id)?.oldest else { return nil }
        return
            try db.cachedStatement(
                sql: """
                    SELECT id, position FROM (
                        SELECT id, position FROM message
                        WHERE conversation = ? AND ordering >= ? AND position IS NOT NULL
                        UNION SELECT id, position FROM message_server WHERE conversation = ? AND position >= ?)
                    ORDER BY position LIMIT 1
                    """
            )
            .one([id.blob, oldest, id.blob, oldest], in: db) { (MessageID(rawValue: $0[0]), $0[1]) }
    }

    /// Returns the conversations with a history goal, newest message first.
    func conversationsWithGoals() throws -> [ConversationID] {
        try db.cachedStatement(
            sql: """
                SELECT s.id FROM conversation_sync s LEFT JOIN conversation c ON c.id = s.id
                WHERE s.goal IS NOT NULL ORDER BY c.last_sent_at DESC
                """
        )
        .all([], in: db) { ConversationID(rawValue: $0[0]) }
    }

    /// Determines which touched conversations still need older messages.
    func settleGoals() throws {
        var wanted: [(id: ConversationID, newest: Int64)] = []
        for id in conversationOrder where try advanceGoal(of: id) {
            let newest = try db.cachedStatement(sql: "SELECT last_sent_at FROM conversation WHERE id = ?")
                .one([id.blob], in: db) { $0[0] as Int64? }
            wanted.append((id, (newest ?? nil) ?? .min))
        }
        findings.historyWanted = wanted.sorted { $0.newest > $1.newest }.map(\.id)
    }

    /// Replaces a reached goal with the goal that follows it.
    /// - Returns: true if the conversation has a goal that is not reached.
    private func advanceGoal(of id: ConversationID) throws -> Bool {
        while let progress = try progress(of: id), let goal = progress.goal {
            guard try isReached(goal, progress: progress, in: id) else { return true }
            try updateProgress(of: id) { $0.goal = goal.next }
        }
        return false
    }

    private func isReached(_ goal: HistoryGoal, progress: SyncProgress, in id: ConversationID) throws -> Bool {
        guard let oldest = progress.oldest, let record = try conversation(id) else { return false }
        guard oldest > 0 else { return true }
        switch goal {
        case .everything: return try knownCount(in: id, from: oldest) >= record.totalCount
        case .count(let wanted): return try knownCount(in: id, from: oldest) >= min(wanted, record.totalCount)
        case .firstUnread:
            let unread =
                try db.cachedStatement(
                    sql: "SELECT COUNT(*) FROM message WHERE conversation = ? AND ordering >= ? AND is_unread"
                )
                .one([id.blob, oldest], in: db) { $0[0] as Int }
            return try unread ?? 0 >= reader.conversationRecord(id)?.unreadCount ?? 0
        case .position(let position, _): return oldest <= position
        }
    }
}
