// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// How far one conversation is synchronized.
struct SyncProgress: Hashable, Sendable {
    /// The change up to which the object is applied.
    var applied: Int64
    /// All messages from this position on are on this device; nil: not even the newest is known to be.
    var oldest: Int64?
    /// Which older messages are still to be fetched; nil: none.
    var goal: HistoryGoal?
    /// The listing that showed the conversation last. During a listing, what has an older number may be gone from the server.
    var generation: Int64
}

/// Which older messages of a conversation are to be fetched. Kept in the store, so that a restart goes on with it.
indirect enum HistoryGoal: Codable, Hashable, Sendable {
    /// Until so many are on this device.
    case count(Int)
    /// Until the first unread one is.
    case firstUnread
    /// Until all are.
    case everything
    /// Down to this position: messages that are on this device, but may have changed or gone meanwhile. Then what was to be fetched before.
    case position(Int64, then: HistoryGoal?)

    /// The goal after this one.
    var next: HistoryGoal? { if case .position(_, let next) = self { next } else { nil } }
}

/// How far the synchronization as a whole is; one row of the store.
struct SyncCursor: Codable, Hashable, Sendable {
    /// The time in the last packet that was applied. What happened since then is told by a replay.
    var timestamp: String?
    /// Of the database that the positions belong to.
    var epoch: String?
    /// The last position of the user's own log that was applied.
    var userPosition: Int64 = 0
    /// Of the last listing that began.
    var generation: Int64 = 0
    /// What of that listing is still to be loaded; nil: it is complete.
    var listing: Listing?

    /// The lists of a load from the beginning.
    struct Listing: Codable, Hashable, Sendable {
        /// Where the list of conversations goes on; nil: from the beginning.
        var nextConversations: String?
        var hasConversations = false
        var nextIdentities: String?
        var hasIdentities = false
        var nextAnnouncements: String?
        var hasAnnouncements = false

        var isComplete: Bool { hasConversations && hasIdentities && hasAnnouncements }
    }
}
