// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// The older messages to fetch.
public enum MessageSyncScope: Sendable, Hashable {
    /// All older messages.
    case all
    /// The messages back to the first unread one.
    case toFirstUnread
}

extension StrataClient {
    /// The number of changes that wait to be sent, or to be confirmed by the server.
    public var pendingChangeCount: Int {
        get async { await engine?.pendingChangeCount ?? 0 }
    }

    func synchronize(
        _ id: ConversationID, _ goal: @Sendable @escaping (ConversationRecord, Int, SyncProgress) throws -> HistoryGoal
    ) async throws -> TransferProgress {
        let engine = try signedIn()
        guard await engine.isLive else { throw StrataError(.manualSyncFailedNoConnection, "There is no connection.") }
        return try await engine.fetchHistory(of: id, goal)
    }
}

extension Conversation {
    /// Fetches older messages than are on this device, newest first. Returns at once; the messages come as changes, and
    /// ``ClientEvent/conversationSyncFinished(_:)`` follows when all have come.
    /// - Parameter count: at least so many; if there are fewer, all.
    /// - Returns: how many of them have come. The fetch can be cancelled by it; without a connection it waits, and goes on after a restart of the app.
    /// - Throws: ``StrataError/Code/invalidArgument`` for 0, ``StrataError/Code/manualSyncFailedNoConnection``,
    ///   ``StrataError/Code/manualSyncAlreadyInProgress`` with the progress of the fetch that is going on, ``StrataError/Code/manualSyncAlreadyFullySynced``.
    @discardableResult
    public func synchronizeMoreMessages(atLeast count: Int) async throws -> TransferProgress {
        guard count > 0 else { throw StrataError(.invalidArgument, "count: must be greater than 0.") }
        return try await owner.get().synchronize(id) { _, known, _ in .count([known, count].clampedSum) }
    }

    /// Fetches all older messages, or those back to the first unread one.
    /// - Returns: as ``synchronizeMoreMessages(atLeast:)``; with ``MessageSyncScope/toFirstUnread`` it counts the unread messages only.
    /// - Throws: as ``synchronizeMoreMessages(atLeast:)``, and ``StrataError/Code/manualSyncNothingToSync`` if no unread message is missing.
    @discardableResult
    public func synchronizeAllMessages(_ scope: MessageSyncScope) async throws -> TransferProgress {
        try await owner.get()
            .synchronize(id) { record, _, _ in
                switch scope {
                case .all: return .everything
                case .toFirstUnread:
                    guard record.unreadCount > 0 else { throw StrataError(.manualSyncNothingToSync, "No message is unread.") }
                    return .firstUnread
                }
            }
    }
}
