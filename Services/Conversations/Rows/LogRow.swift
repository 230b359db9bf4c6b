// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Postgres
import StrataModel

/// A result row of `read_logs` and `read_changes`: a change of a conversation, an entry of a user's log, a user's
/// counts, or information about the answer.
struct LogRow {
    enum Entry: Int64 {
        case header = 0, change, userChange, counts, skipped, override
    }

    let entry: Entry
    let app: AppID?
    let conversation: ConversationID?
    let position: Position
    let kind: Int64
    /// The user who made the change. nil: the app's own server.
    let actor: UserID?
    let origin: Change.Origin?
    let messageID: MessageID?
    let ordinal: Int64
    let messageCount: Int64
    let operations: String?
    let createdAt: StrataModel.Timestamp
    let user: UserID?
    /// The meaning depends on the entry:
    /// - header: the answer reaches the heads of all logs.
    /// - user change, of a hidden conversation: the conversation is hidden as a whole.
    /// - counts: the user takes part in the conversation.
    let flag: Bool
    let uncounted: Int64
    let hidden: Int64
    /// In an entry with counts: true if the conversation is on the user's list.
    let isListed: Bool
    /// The conversation's present state, for kinds 1 and 2.
    let conversationCreatedAt: StrataModel.Timestamp?
    let isDistinct: Bool
    let receiptPolicy: ReceiptPolicy
    let conversationPosition: Position
    let participants: [UserID]
    let message: MessageRow?

    init(_ row: Row, by columns: LogColumns) throws {
        guard let entry = Entry(rawValue: try row[columns.entry]) else {
            throw Failure(.internalServerError, "An internal error occurred.")
        }
        self.entry = entry
        app = try row[optional: columns.app].map { AppID(rawValue: $0) }
        conversation = try row[optional: columns.conversation].map { ConversationID(rawValue: $0) }
        position = Position(try row[optional: columns.position] ?? 0)
        kind = try row[optional: columns.kind] ?? 0
        actor = try row[optional: columns.actor].flatMap { $0.isEmpty ? nil : UserID(trusted: $0) }
        let connection = try row[optional: columns.originConnection]
        let request = try row[optional: columns.originRequest]
        origin = connection.flatMap { connection in
            request.map { Change.Origin(connection: UInt64(bitPattern: connection), request: UInt64(bitPattern: $0)) }
        }
        messageID = try row[optional: columns.messageID].map { MessageID(rawValue: $0) }
        ordinal = try row[optional: columns.ordinal] ?? 0
        messageCount = try row[optional: columns.messageCount] ?? 0
        operations = try row[optional: columns.operations]
        createdAt =
            try row[optional: columns.createdAt].map { StrataModel.Timestamp($0) }
            ?? StrataModel.Timestamp(microseconds: 0)
        user = try row[optional: columns.user].map { UserID(trusted: $0) }
        flag = try row[optional: columns.flag] ?? false
        uncounted = try row[optional: columns.uncounted] ?? 0
        hidden = try row[optional: columns.hidden] ?? 0
        isListed = try row[optional: columns.isListed] ?? false
        conversationCreatedAt = try row[optional: columns.conversationCreatedAt].map { StrataModel.Timestamp($0) }
        isDistinct = try row[optional: columns.isDistinct] ?? false
        receiptPolicy = ReceiptPolicy(try row[optional: columns.receiptPolicy] ?? 0)
        conversationPosition = Position(try row[optional: columns.conversationPosition] ?? 0)
        participants = try row[optional: columns.participants]?.map { UserID(trusted: $0) } ?? []
        let hasMessage = try row[optional: columns.hasMessage] ?? false
        message = hasMessage ? try MessageRow(row, by: columns.message) : nil
    }

    /// The users whose identities the row needs.
    var users: [UserID] {
        var users = participants
        if let message { users += message.users }
        if kind == 2, let operations = try? OperationsJSON.decode(operations, as: ParticipantsOperations.self) {
            users += operations.added.map { UserID(trusted: $0) }
        }
        return users
    }

    var counts: UserCounts { UserCounts(excluded: uncounted, hidden: hidden, position: position) }
}

/// The columns of the type `log_row`.
struct LogColumns: ColumnSet {
    fileprivate let entry: Column<Int64>
    fileprivate let app: Column<UUID>
    fileprivate let conversation: Column<UUID>
    fileprivate let position: Column<Int64>
    fileprivate let kind: Column<Int64>
    fileprivate let actor: Column<String>
    fileprivate let originConnection: Column<Int64>
    fileprivate let originRequest: Column<Int64>
    fileprivate let messageID: Column<UUID>
    fileprivate let ordinal: Column<Int64>
    fileprivate let messageCount: Column<Int64>
    fileprivate let operations: Column<String>
    fileprivate let createdAt: Column<PostgresTimestamp>
    fileprivate let user: Column<String>
    fileprivate let flag: Column<Bool>
    fileprivate let uncounted: Column<Int64>
    fileprivate let hidden: Column<Int64>
    fileprivate let isListed: Column<Bool>
    fileprivate let conversationCreatedAt: Column<PostgresTimestamp>
    fileprivate let isDistinct: Column<Bool>
    fileprivate let receiptPolicy: Column<Int64>
    fileprivate let conversationPosition: Column<Int64>
    fileprivate let participants: Column<[String]>
    fileprivate let hasMessage: Column<Bool>
    fileprivate let message: MessageColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        entry = try names.column("entry")
        app = try names.column("app_id")
        conversation = try names.column("conversation_id")
        position = try names.column("position")
        kind = try names.column("kind")
        actor = try names.column("actor")
        originConnection = try names.column("origin_connection")
        originRequest = try names.column("origin_request")
        messageID = try names.column("message_id")
        ordinal = try names.column("ordinal")
        messageCount = try names.column("message_count")
        operations = try names.column("operations")
        createdAt = try names.column("created_at")
        user = try names.column("user_id")
        flag = try names.column("flag")
        uncounted = try names.column("uncounted")
        hidden = try names.column("hidden")
        isListed = try names.column("is_listed")
        conversationCreatedAt = try names.column("conversation_created_at")
        isDistinct = try names.column("is_distinct")
        receiptPolicy = try names.column("receipt_policy")
        conversationPosition = try names.column("conversation_position")
        participants = try names.column("participants")
        hasMessage = try names.column("m_present")
        message = try MessageColumns(&names, prefix: "m_")
    }
}

/// The `operations` of a change of participants.
struct ParticipantsOperations: Decodable {
    let added: [String]
    let removed: [String]
    let distinctCleared: Bool

    enum CodingKeys: String, CodingKey {
        case added, removed
        case distinctCleared = "distinct_cleared"
    }
}

private struct EffectsOperations: Decodable {
    let effects: [[String?]]
}

private struct DeletedOperations: Decodable {
    let lastChanged: Bool
    enum CodingKeys: String, CodingKey { case lastChanged = "last_changed" }
}

/// The users from whom a block hides the message. Only changes of messages have them in their `operations`.
private struct HiddenOperations: Decodable {
    let users: [String]?
    enum CodingKeys: String, CodingKey { case users = "hidden_from" }
}

private struct ReceiptOperation: Decodable {
    let user: String
    let messageID: UUID
    let ordinal: Int64
    let status: Int
    let sender: String
    let audience: Int
    let hiddenFrom: [String]?

    enum CodingKeys: String, CodingKey {
        case user, ordinal, status, sender, audience
        case hiddenFrom = "hidden_from"
        case messageID = "message_id"
    }
}

/// The edits of a change of parts, as stored in the log.
struct PartsOperations: Codable {
    struct Edit: Codable {
        /// 0 added, 1 changed, 2 removed, 3 all replaced.
        let kind: Int
        var part: UUID?
        var index: Int?
    }
    let edits: [Edit]
}

extension PartsOperations.Edit {
    init(_ edit: Change.PartEdit) {
        switch edit {
        case .added(let id): self.init(kind: 0, part: id)
        case .changed(let id): self.init(kind: 1, part: id)
        case .removed(let id, let index): self.init(kind: 2, part: id, index: index)
        case .allReplaced: self.init(kind: 3)
        }
    }

    var edit: Change.PartEdit {
        switch (kind, part) {
        case (0, let id?): .added(id)
        case (1, let id?): .changed(id)
        case (2, let id?): .removed(id, index: index ?? 0)
        default: .allReplaced
        }
    }
}

private struct AllReadOperations: Decodable {
    let user: String
    let upTo: Int64
    let told: [String]?
    enum CodingKeys: String, CodingKey {
        case user, told
        case upTo = "up_to"
    }
}

extension LogRow {
    /// Returns the published change, with the objects' present state instead of their former one.
    /// - Parameter overrides: for kind 6, the users who see another last message than the others.
    func change(
        _ identities: [UserID: BasicIdentity], epoch: String, overrides: [UserID: Message?] = [:]
    ) throws -> Change {
        guard let app, let conversation else {
            throw Failure(.internalServerError, "An internal error occurred.")
        }
        return Change(
            appID: app, conversationID: conversation, position: position, createdAt: createdAt, actor: actor,
            origin: origin,
            messageCount: messageCount, counts: [:],
            content: try content(of: conversation, naming: identities, epoch: epoch, overrides: overrides),
            hiddenFrom: try hiddenFrom)
    }

    private var hiddenFrom: [UserID] {
        get throws {
            guard [5, 6, 9].contains(kind), operations != nil else { return [] }
            let operations: HiddenOperations = try OperationsJSON.decode(operations)
            return operations.users?.map { UserID(trusted: $0) } ?? []
        }
    }

    static func receipts(in operations: String) throws -> Change.Content {
        let operations: [ReceiptOperation] = try OperationsJSON.decode(operations)
        return .receipts(
            operations.map {
                Change.Receipt(
                    user: UserID(trusted: $0.user), messageID: MessageID(rawValue: $0.messageID), ordinal: $0.ordinal,
                    status: RecipientStatus(rawValue: $0.status) ?? .delivered,
                    sender: $0.sender.isEmpty ? nil : UserID(trusted: $0.sender),
                    audience: Change.Receipt.Audience(rawValue: $0.audience) ?? .senderAndReader,
                    hiddenFrom: $0.hiddenFrom?.map { UserID(trusted: $0) } ?? [])
            })
    }

    private func content(
        of id: ConversationID, naming identities: [UserID: BasicIdentity], epoch: String, overrides: [UserID: Message?]
    ) throws -> Change.Content {
        func named(_ user: UserID) -> BasicIdentity { identities[user] ?? BasicIdentity(userID: user) }
        let body = conversationCreatedAt.map {
            Conversation(
                id: id, createdAt: $0, isDistinct: isDistinct, participants: participants.map(named), metadata: nil,
                position: conversationPosition, epoch: epoch, receiptPolicy: receiptPolicy)
        }
        switch kind {
        case 1: return .conversationCreated(body)
        case 2:
            let operations: ParticipantsOperations = try OperationsJSON.decode(operations)
            return .participantsChanged(
                added: operations.added.map { named(UserID(trusted: $0)) },
                removed: operations.removed.map { UserID(trusted: $0) },
                distinctCleared: operations.distinctCleared, conversation: operations.added.isEmpty ? nil : body)
        case 3:
            let operations: EffectsOperations = try OperationsJSON.decode(operations)
            return .metadataChanged(
                operations.effects.compactMap { pair in
                    guard pair.count == 2, let path = pair[0] else { return nil }
                    return MetadataEffect(path: MetadataPath(trusted: path), value: pair[1])
                })
        case 4: return .conversationDeleted
        case 5: return .messageCreated(id: try requiredMessageID(), ordinal: ordinal, message?.message(identities))
        case 6:
            let operations: DeletedOperations = try OperationsJSON.decode(operations)
            return .messageDeleted(
                id: try requiredMessageID(), ordinal: ordinal,
                lastMessage: Change.LastMessage(
                    changed: operations.lastChanged,
                    message: operations.lastChanged ? message?.message(identities) : nil, overrides: overrides))
        case 7: return try Self.receipts(in: operations ?? "[]")
        case 8:
            let operations: AllReadOperations = try OperationsJSON.decode(operations)
            return .allRead(
                user: UserID(trusted: operations.user), upTo: Position(operations.upTo),
                audience: operations.told?.map { UserID(trusted: $0) })
        case 9:
            let operations: PartsOperations = try OperationsJSON.decode(operations)
            return .partsChanged(
                id: try requiredMessageID(), ordinal: ordinal, operations.edits.map(\.edit),
                message?.message(identities))
        default: throw Failure(.internalServerError, "An internal error occurred.")
        }
    }

    private func requiredMessageID() throws -> MessageID {
        guard let messageID else { throw Failure(.internalServerError, "An internal error occurred.") }
        return messageID
    }
}
