// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Postgres
import StrataModel

/// Converts entries of a user's own log to the published changes, with the present state of the objects concerned.
struct UserChanges: Sendable {
    private let support: ServiceContext
    private let announcements: Announcements

    init(_ support: ServiceContext) {
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
        let isPartial: Bool?
        let blocked: [String]?
        let unblocked: [String]?
        let isBlocked: Bool?

        enum CodingKeys: String, CodingKey {
            case user, status, blocked, unblocked
            case isBlocked = "is_blocked"
            case conversation = "conversation_id"
            case message = "message_id"
            case upTo = "up_to"
            case announcement = "announcement_id"
            case isPartial = "is_partial"
        }
    }

    /// The users and conversations that a page of entries refers to. They are read together, because many entries may
    /// refer to the same ones.
    struct People {
        /// The position of the last entry about following each user, if the entry still holds.
        fileprivate var currentFollowEntries: [UserID: Position] = [:]
        fileprivate var identities: [UserID: Identity] = [:]
        /// The conversations of deleted messages, if the user has left them.
        fileprivate var left: [ConversationID: ConversationView] = [:]
    }

    /// Reads the data that ``change(_:of:with:)`` needs for these entries: one statement for following and one for
    /// identities.
    func people(in rows: [LogRow], of caller: Caller) async throws -> People {
        var people = People()
        var (last, shown): ([UserID: LogRow], Set<UserID>) = ([:], [])
        for row in rows where (4...6).contains(row.kind) {
            let user = user(in: try OperationsJSON.decode(row.operations), of: caller)
            if row.kind == 4 {
                shown.insert(user)
            } else if last[user].map({ $0.position < row.position }) ?? true {
                last[user] = row
            }
        }
        let followed = try await support.followed(Array(last.keys), by: caller)
        for (user, row) in last where followed.contains(user) == (row.kind == 5) {
            people.currentFollowEntries[user] = row.position
            if row.kind == 5 { shown.insert(user) }
        }
        for id in Set(rows.filter { $0.kind == 20 }.compactMap(\.conversation)) {
            guard let view = try await support.view(of: id, for: caller)
            else { continue }
            if !view.isParticipant { people.left[id] = view }
        }
        if !shown.isEmpty {
            people.identities = try await support.directory.full(
                Array(shown), in: caller.app, deadline: caller.deadline)
        }
        return people
    }

    /// Returns the change of an entry. If its object does not exist any longer, the change is obsolete. It keeps its
    /// position, so that no gap appears in the log.
    func change(_ row: LogRow, of caller: Caller, with people: People) async throws -> UserChange {
        let operations: Operations = try OperationsJSON.decode(row.operations)
        return UserChange(
            appID: caller.app, user: caller.user, position: row.position, createdAt: row.createdAt,
            content: try await content(of: row, operations: operations, for: caller, with: people) ?? .obsolete)
    }

    private func user(in operations: Operations, of caller: Caller) -> UserID {
        operations.user.map { UserID(trusted: $0) } ?? caller.user
    }

    private func content(
        of row: LogRow, operations: Operations, for caller: Caller, with people: People
    ) async throws -> UserChange.Content? {
        switch row.kind {
        case 1...3: return try await conversationContent(of: row, operations: operations, for: caller)
        case 4...6: return identityContent(of: row, user: user(in: operations, of: caller), with: people)
        case 7...9: return try await announcementContent(of: row.kind, operations: operations, for: caller)
        case 20:
            guard let message = row.messageID, let id = row.conversation else { return nil }
            return .messageDeleted(message, in: id, view: people.left[id])
        case 21: return row.conversation.map { .conversationDeleted($0) }
        case 22:
            return .blocksChanged(
                blocked: operations.blocked?.map { UserID(trusted: $0) } ?? [],
                unblocked: operations.unblocked?.map { UserID(trusted: $0) } ?? [])
        case 23:
            return operations.user.map { .blockedBy(UserID(trusted: $0), isBlocked: operations.isBlocked ?? false) }
        default: return nil
        }
    }

    private func conversationContent(
        of row: LogRow, operations: Operations, for caller: Caller
    ) async throws -> UserChange.Content? {
        guard let id = operations.conversation.map({ ConversationID(rawValue: $0) }) else { return nil }
        let upTo = Position(operations.upTo ?? 0)
        if row.kind == 1, row.flag || operations.isPartial != true {
            return .conversationHidden(id, upTo: upTo, wholly: row.flag)
        }
        let view = try await support.view(of: id, for: caller)
        if row.kind == 1 {
            return view.map { .messagesHidden(upTo: upTo, view: $0) }
                ?? .conversationHidden(id, upTo: upTo, wholly: true)
        }
        if row.kind == 2 { return .conversationShown(view) }
        return operations.message.map { .messageHidden(MessageID(rawValue: $0), view: view) }
    }

    private func identityContent(of row: LogRow, user: UserID, with people: People) -> UserChange.Content? {
        // After repeated follows and unfollows, only the last entry shows the present state. It may be the only one
        // that a client reads.
        if row.kind != 4, people.currentFollowEntries[user] != row.position { return nil }
        if row.kind == 6 { return .unfollowed(user) }
        return people.identities[user].map { row.kind == 4 ? .identityChanged($0) : .followed($0) }
    }

    private func announcementContent(
        of kind: Int64, operations: Operations, for caller: Caller
    ) async throws -> UserChange.Content? {
        guard let id = operations.announcement.map({ AnnouncementID(rawValue: $0) }) else { return nil }
        switch kind {
        case 7: return try await announcements.find(id, for: caller).map { .announced($0) }
        case 8: return .announcementStatus(id, RecipientStatus(rawValue: operations.status ?? 0) ?? .delivered)
        default: return .announcementDeleted(id)
        }
    }
}
