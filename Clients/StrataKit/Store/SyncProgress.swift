// SPDX-License-Identifier: Apache-2.0
import StrataModel

struct SyncProgress: Hashable, Sendable {
    /// The position of the last applied change of the conversation.
    var applied: Int64
    /// The position from which on all messages are on this device; nil: not even the newest message is known to be.
    var oldest: Int64?
    /// The goal for older messages; nil if none are to be fetched.
    var goal: HistoryGoal?
    /// The generation of the last listing that contained the conversation. During a listing, a conversation with an
    /// older generation may no longer exist on the server.
    var generation: Int64
}

/// The older messages of a conversation that are to be fetched. The goal is stored, so that the fetch continues after a
/// restart.
indirect enum HistoryGoal: Codable, Hashable, Sendable {
    case count(Int)
    case firstUnread
    case everything
    /// Fetch all messages down to this position again, because messages on this device may have changed or been
    /// deleted. Then continue with the previous goal.
    case position(Int64, then: HistoryGoal?)

    var next: HistoryGoal? { if case .position(_, let next) = self { next } else { nil } }
}

/// The progress of the whole synchronization, stored as one row.
struct SyncCursor: Codable, Hashable, Sendable {
    /// The time of the last applied packet, from which the next replay starts.
    var timestamp: String?
    var epoch: String?
    /// The last applied position of the user's own log.
    var userPosition: Int64 = 0
    /// The generation of the last listing that started.
    var generation: Int64 = 0
    /// The remaining loads of the current listing; nil if it is complete.
    var listing: Listing?

    struct Listing: Codable, Hashable, Sendable {
        /// The start of the next page of conversations; nil: the first page.
        var nextConversations: String?
        var hasConversations = false
        var nextIdentities: String?
        var hasIdentities = false
        var nextAnnouncements: String?
        var hasAnnouncements = false
        var nextBlocks: String?
        /// nil in stored listings that predate this list.
        var hasBlocks: Bool?

        var isComplete: Bool { hasConversations && hasIdentities && hasAnnouncements && hasBlocks == true }
    }
}
