// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import StrataModel

/// A full listing of the server's objects. Objects that were on this device before and are not in any list no longer
/// exist on the server.
extension StoreTransaction {
    /// The kind of a listed object outside conversations. Conversations record the generation of their last listing in
    /// their progress row.
    private enum ListedKind: Int { case identity, announcement, block }

    /// Starts a full listing. Every object on this device may have changed or been deleted, and is compared with the
    /// lists.
    func beginListing(epoch: String?, timestamp: String?) throws {
        // The positions of these operations have no meaning any more.
        for var operation in queue.all where operation.isAnswered {
            operation.state = .answered(.init(conversation: 0, user: 0))
            queue.updateOperation(operation)
        }
        try db.cachedStatement(sql: "DELETE FROM listed").execute()
        cursor = SyncCursor(
            timestamp: timestamp, epoch: epoch, userPosition: 0, generation: cursor.generation + 1, listing: .init())
    }

    /// Records that a list or a packet contained a followed user.
    func markListed(_ user: UserID) throws { try markListed(.identity, id: Data(user.rawValue.utf8)) }
    /// Records that a list or a packet contained an announcement.
    func markListed(_ id: AnnouncementID) throws { try markListed(.announcement, id: id.blob) }

    /// Records that a list or a packet contained a blocked user.
    func markBlocked(_ user: UserID) throws { try markListed(.block, id: Data(user.rawValue.utf8)) }

    private func markListed(_ kind: ListedKind, id: Data) throws {
        guard cursor.listing != nil else { return }
        try db.cachedStatement(sql: "INSERT OR IGNORE INTO listed (kind, id) VALUES (?, ?)")
            .execute(arguments: [kind.rawValue, id])
    }

    /// Completes the list of conversations: removes the conversations that were not listed.
    func endConversations() throws {
        cursor.listing?.hasConversations = true
        let ids = try db.cachedStatement(sql: "SELECT id FROM conversation_sync WHERE generation < ?")
            .all([cursor.generation], in: db) { ConversationID(rawValue: $0[0]) }
        for id in ids where try progress(of: id)?.generation ?? .max < cursor.generation { try forgetConversation(id) }
        endListing()
    }

    /// Completes the list of followed users: unfollows those who were not listed.
    func endIdentities() throws {
        cursor.listing?.hasIdentities = true
        let unlisted = """
            SELECT user_id FROM identity
            WHERE is_followed AND user_id <> ? AND CAST(user_id AS BLOB) NOT IN (SELECT id FROM listed WHERE kind = ?)
            """
        let users = try db.cachedStatement(sql: unlisted)
            .all([me.rawValue, ListedKind.identity.rawValue], in: db) { UserID(trusted: $0[0]) }
        for user in users { try unfollowed(user) }
        // The query above misses users with a pending unfollow, because they are hidden from the app.
        for user in queue.users where try identity(user)?.isFollowed == true && !isListed(user) { try unfollowed(user) }
        hasLoaded = true
        endListing()
    }

    /// Completes the list of announcements: removes those that were not listed.
    func endAnnouncements() throws {
        cursor.listing?.hasAnnouncements = true
        let ids =
            try db.cachedStatement(
                sql: "SELECT id FROM announcement WHERE id NOT IN (SELECT id FROM listed WHERE kind = ?)"
            )
            .all([ListedKind.announcement.rawValue], in: db) { AnnouncementID(rawValue: $0[0]) }
        for id in ids { try setAnnouncement(id, to: nil) }
        endListing()
    }

    /// Completes the list of blocked users: unblocks those who were not listed.
    func endBlocks() throws {
        cursor.listing?.hasBlocks = true
        let shown = try db.cachedStatement(sql: "SELECT user_id FROM identity WHERE is_blocked")
            .all([], in: db) { UserID(trusted: $0[0]) }
        for user in Set(shown + queue.users) {
            guard var record = try identity(user), record.isBlocked == true, try !isListed(.block, user) else {
                continue
            }
            record.isBlocked = nil
            try setIdentity(user, to: record)
        }
        endListing()
    }

    private func endListing() { if cursor.listing?.isComplete == true { cursor.listing = nil } }

    private func isListed(_ user: UserID) throws -> Bool { try isListed(.identity, user) }

    private func isListed(_ kind: ListedKind, _ user: UserID) throws -> Bool {
        try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM listed WHERE kind = ? AND id = ?)")
            .one([kind.rawValue, Data(user.rawValue.utf8)], in: db) { $0[0] as Bool } ?? false
    }

    /// Records that the user no longer follows another user. The name and picture of a participant are kept.
    func unfollowed(_ user: UserID) throws {
        guard var record = try identity(user) else { return }
        record.isFollowed = false
        let isKept = try record.isBlocked == true || isParticipant(user)
        try setIdentity(user, to: isKept ? record : nil)
    }

    func isParticipant(_ user: UserID) throws -> Bool {
        if conversations.values.contains(where: { $0?.participants.contains(user) == true }) { return true }
        return try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM participant WHERE user_id = ?)")
            .one([user.rawValue], in: db) { $0[0] as Bool } ?? false
    }
}
