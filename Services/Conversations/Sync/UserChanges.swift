// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Model
import Postgres

/// Turns entries of a user's own log back into what was announced, with what they are about as it is now.
struct UserChanges: Sendable {
    private let support: CallSupport
    private let announcements: Announcements

    init(_ support: CallSupport) {
        self.support = support
        announcements = Announcements(support)
    }

    private struct Operations: Decodable {
        let conversation: UUID?
        let message: UUID?
        let upTo: Int64?
        let user: String?
        let announcement: UUID?
        let status: Int?

        enum CodingKeys: String, CodingKey {
            case user, status
            case conversation = "conversation_id"
            case message = "message_id"
            case upTo = "up_to"
            case announcement = "announcement_id"
        }
    }

    /// What is gone meanwhile is obsolete: its entry still has a position, which must not look lost.
    func change(_ row: LogRow, of caller: Caller) async throws -> UserChange {
        let operations: Operations = try OperationsJSON.decode(row.operations)
        return UserChange(
            appID: caller.app, user: caller.user, position: row.position, createdAt: row.createdAt,
            content: try await content(row, operations, caller) ?? .obsolete)
    }

    private func content(_ row: LogRow, _ operations: Operations, _ caller: Caller) async throws -> UserChange.Content? {
        switch row.kind {
        case 1...3: return try await conversationContent(row, operations, caller)
        case 4...6: return try await identityContent(row.kind, operations, caller)
        case 7...9: return try await announcementContent(row.kind, operations, caller)
        default: return nil
        }
    }

    private func conversationContent(_ row: LogRow, _ operations: Operations, _ caller: Caller) async throws -> UserChange.Content? {
        guard let id = operations.conversation.map({ ConversationID(rawValue: $0) }) else { return nil }
        if row.kind == 1 { return .conversationHidden(id, upTo: Position(operations.upTo ?? 0), wholly: row.flag) }
        let view = try await support.view(of: id, for: caller.user, in: caller.app, deadline: caller.deadline)
        if row.kind == 2 { return .conversationShown(view) }
        return operations.message.map { .messageHidden(MessageID(rawValue: $0), view: view) }
    }

    private func identityContent(_ kind: Int64, _ operations: Operations, _ caller: Caller) async throws -> UserChange.Content? {
        let user = operations.user.map { UserID(trusted: $0) } ?? caller.user
        // Followed and unfollowed in turn: what holds now is told by the last entry, which may be all that a client must know.
        if kind != 4, try await support.isFollowed(user, by: caller) != (kind == 5) { return nil }
        if kind == 6 { return .unfollowed(user) }
        guard let identity = try await support.directory.full([user], in: caller.app, deadline: caller.deadline)[user] else { return nil }
        return kind == 4 ? .identityChanged(identity) : .followed(identity)
    }

    private func announcementContent(_ kind: Int64, _ operations: Operations, _ caller: Caller) async throws -> UserChange.Content? {
        guard let id = operations.announcement.map({ AnnouncementID(rawValue: $0) }) else { return nil }
        switch kind {
        case 7: return try await announcements.find(id, for: caller).map { .announced($0) }
        case 8: return .announcementStatus(id, RecipientStatus(rawValue: operations.status ?? 0) ?? .delivered)
        default: return .announcementDeleted(id)
        }
    }
}
