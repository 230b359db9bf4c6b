// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// How far one conversation is synchronized.
struct SyncProgress: Hashable, Sendable {
    /// The change up to which the object is applied.
    var applied: Int64
    /// All messages from this position on are on this device. Nil if not even the newest message is known to be here.
    var oldest: Int64?
    /// Which older messages are still to be fetched. Nil if none.
    var goal: HistoryGoal?
    /// The listing that showed the conversation last. During a listing, a conversation with an older number may no longer exist on the server.
    var generation: Int64
}

/// Which older messages of a conversation are to be fetched. The store keeps it, so that the fetch continues after a restart.
indirect enum HistoryGoal: Codable, Hashable, Sendable {
    /// Fetch until this many messages are on this device.
    case count(Int)
    /// Fetch until the first unread message is on this device.
    case firstUnread
    /// Fetch until all messages are on this device.
    case everything
    /// Fetch down to this position again, because messages on this device may have changed or gone meanwhile. Then continue with the earlier goal.
    case position(Int64, then: HistoryGoal?)

    var next: HistoryGoal? { if case .position(_, let next) = self { next } else { nil } }
}

/// How far the synchronization as a whole is; one row of the store.
struct SyncCursor: Codable, Hashable, Sendable {
    /// The time of the last applied packet. A replay tells what happened since then.
    var timestamp: String?
    /// The epoch of the database that the positions belong to.
    var epoch: String?
    /// The last position of the user's own log that was applied.
    var userPosition: Int64 = 0
    /// The number of the last listing that began.
    var generation: Int64 = 0
    /// What remains to be loaded of that listing. Nil if it is complete.
    var listing: Listing?

    struct Listing: Codable, Hashable, Sendable {
        /// Where the list of conversations continues. Nil to start from the beginning.
        var nextConversations: String?
        var hasConversations = false
        var nextIdentities: String?
        var hasIdentities = false
        var nextAnnouncements: String?
        var hasAnnouncements = false
        var nextBlocks: String?
        /// Nil in listings that began before there was this list.
        var hasBlocks: Bool?

        var isComplete: Bool { hasConversations && hasIdentities && hasAnnouncements && hasBlocks == true }
    }
}
