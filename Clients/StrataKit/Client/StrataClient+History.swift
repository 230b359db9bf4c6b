// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// The range of older messages to fetch.
public enum MessageSyncScope: Sendable, Hashable {
    /// All older messages.
    case all
    /// All messages back to the first unread one.
    case toFirstUnread
}

extension StrataClient {
    /// The number of changes that the server has not confirmed.
    public var pendingChangeCount: Int {
        get async { await engine?.pendingChangeCount ?? 0 }
    }

    func synchronize(
        _ id: ConversationID, _ goal: @Sendable @escaping (ConversationRecord, Int, SyncProgress) throws -> HistoryGoal
    ) async throws -> TransferProgress {
        let engine = try signedIn()
        guard await engine.isLive else {
            throw StrataError(.manualSyncFailedNoConnection, "The client is not connected.")
        }
        return try await engine.fetchHistory(of: id, goal)
    }
}

extension Conversation {
    /// Fetches older messages that are not on this device, newest first.
    ///
    /// The call returns immediately. The messages arrive as changes, followed by
    /// ``ClientEvent/conversationSyncFinished(_:)``.
    /// - Parameter count: the minimum number of messages to fetch; all if the conversation has fewer.
    /// - Returns: the progress of the fetch, which can also cancel it. Without a connection the fetch is deferred; it
    ///   continues after a restart of the app.
    /// - Throws:
    ///   - ``StrataError/Code/invalidArgument`` for 0
    ///   - ``StrataError/Code/manualSyncFailedNoConnection``
    ///   - ``StrataError/Code/manualSyncAlreadyInProgress``, with the progress of the running fetch
    ///   - ``StrataError/Code/manualSyncAlreadyFullySynced``
    @discardableResult
    public func synchronizeMoreMessages(atLeast count: Int) async throws -> TransferProgress {
        guard count > 0 else { throw StrataError(.invalidArgument, "count: must be greater than 0.") }
        return try await owner.get().synchronize(id) { _, known, _ in .count([known, count].clampedSum) }
    }

    /// Fetches all older messages, or those back to the first unread one.
    /// - Returns: the progress, as ``synchronizeMoreMessages(atLeast:)``. With ``MessageSyncScope/toFirstUnread`` it
    ///   counts unread messages only.
    /// - Throws: the errors of ``synchronizeMoreMessages(atLeast:)``; ``StrataError/Code/manualSyncNothingToSync`` if
    ///   no unread message is missing.
    @discardableResult
    public func synchronizeAllMessages(_ scope: MessageSyncScope) async throws -> TransferProgress {
        try await owner.get()
            .synchronize(id) { record, _, _ in
                switch scope {
                case .all: return .everything
                case .toFirstUnread:
                    guard record.unreadCount > 0 else {
                        throw StrataError(.manualSyncNothingToSync, "No message is unread.")
                    }
                    return .firstUnread
                }
            }
    }
}
