// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Model
import Postgres

/// One row of what `read_logs` and `read_changes` return: a change of a conversation, an entry of a user's log, numbers, or a note.
struct LogRow {
    enum Entry: Int64 {
        case header = 0, change, userChange, numbers, skipped, override
    }

    let entry: Entry
    let app: AppID?
    let conversation: ConversationID?
    let position: Position
    let kind: Int64
    let actor: UserID?
    let origin: Change.Origin?
    let messageID: MessageID?
    let ordinal: Int64
    let messageCount: Int64
    let operations: String?
    let createdAt: Model.Timestamp
    let user: UserID?
    /// Of the header: nothing is left beyond these rows. Of an entry about a hidden conversation: it is hidden as a whole. Of
    /// numbers: the user takes part in the conversation.
    let flag: Bool
    let uncounted: Int64
    let hidden: Int64
    /// Of numbers: the conversation is on the user's list.
    let isListed: Bool
    /// The conversation as it is now, with kinds 1 and 2.
    let conversationCreatedAt: Model.Timestamp?
    let isDistinct: Bool
    let receiptPolicy: ReceiptPolicy
    let conversationPosition: Position
    let participants: [UserID]
    let message: MessageRow?

    init(_ row: Row) throws {
        var cursor = RowCursor(row)
        guard let entry = Entry(rawValue: try cursor.next()) else { throw Failure(.internalServerError, "Something went wrong on our side.") }
        self.entry = entry
        app = try cursor.optional(UUID.self).map { AppID(rawValue: $0) }
        conversation = try cursor.optional(UUID.self).map { ConversationID(rawValue: $0) }
        position = Position(try cursor.optional() ?? 0)
        kind = try cursor.optional() ?? 0
        actor = try cursor.optional(String.self).map { UserID(trusted: $0) }
        let connection = try cursor.optional(Int64.self)
        let request = try cursor.optional(Int64.self)
        origin = connection.flatMap { connection in
            request.map { Change.Origin(connection: UInt64(bitPattern: connection), request: UInt64(bitPattern: $0)) }
        }
        messageID = try cursor.optional(UUID.self).map { MessageID(rawValue: $0) }
        ordinal = try cursor.optional() ?? 0
        messageCount = try cursor.optional() ?? 0
        operations = try cursor.optional()
        createdAt = try cursor.optionalTime() ?? Model.Timestamp(microseconds: 0)
        user = try cursor.optional(String.self).map { UserID(trusted: $0) }
        flag = try cursor.optional() ?? false
        uncounted = try cursor.optional() ?? 0
        hidden = try cursor.optional() ?? 0
        isListed = try cursor.optional() ?? false
        conversationCreatedAt = try cursor.optionalTime()
        isDistinct = try cursor.optional() ?? false
        receiptPolicy = ReceiptPolicy(try cursor.optional() ?? 0)
        conversationPosition = Position(try cursor.optional() ?? 0)
        participants = try cursor.optional([String].self)?.map { UserID(trusted: $0) } ?? []
        let hasMessage = try cursor.optional(Bool.self) ?? false
        message = hasMessage ? try MessageRow(&cursor) : nil
    }

    /// Everybody whose name is shown with it.
    var users: [UserID] {
        var users = participants
        if let message { users.append(message.sender) }
        if kind == 2, let operations = try? OperationsJSON.decode(operations, as: ParticipantsOperations.self) {
            users += operations.added.map { UserID(trusted: $0) }
        }
        return users
    }

    /// The numbers in it, true at its position.
    var numbers: UserNumbers { UserNumbers(uncounted: uncounted, hidden: hidden, position: position) }
}

/// The `operations` of the kinds of change that have some.
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

private struct ReceiptOperation: Decodable {
    let user: String
    let messageID: UUID
    let ordinal: Int64
    let status: Int
    let sender: String
    let audience: Int

    enum CodingKeys: String, CodingKey {
        case user, ordinal, status, sender, audience
        case messageID = "message_id"
    }
}

/// The edits of a change of parts, as the log keeps them.
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
    /// The change, as it was published but for the bodies, which are as they are now.
    /// - Parameter overrides: of kind 6: users who see another last message than the others.
    func change(_ identities: [UserID: BasicIdentity], epoch: String, overrides: [UserID: Message?] = [:]) throws -> Change {
        guard let app, let conversation, let actor else { throw Failure(.internalServerError, "Something went wrong on our side.") }
        return Change(
            appID: app, conversationID: conversation, position: position, createdAt: createdAt, actor: actor, origin: origin,
            messageCount: messageCount, numbers: [:], content: try content(conversation, identities, epoch, overrides))
    }

    private func content(
        _ id: ConversationID, _ identities: [UserID: BasicIdentity], _ epoch: String, _ overrides: [UserID: Message?]
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
                added: operations.added.map { named(UserID(trusted: $0)) }, removed: operations.removed.map { UserID(trusted: $0) },
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
                    changed: operations.lastChanged, message: operations.lastChanged ? message?.message(identities) : nil, overrides: overrides))
        case 7:
            let operations: [ReceiptOperation] = try OperationsJSON.decode(operations)
            return .receipts(
                operations.map {
                    Change.Receipt(
                        user: UserID(trusted: $0.user), messageID: MessageID(rawValue: $0.messageID), ordinal: $0.ordinal,
                        status: RecipientStatus(rawValue: $0.status) ?? .delivered, sender: UserID(trusted: $0.sender),
                        audience: Change.Receipt.Audience(rawValue: $0.audience) ?? .senderAndReader)
                })
        case 8:
            let operations: AllReadOperations = try OperationsJSON.decode(operations)
            return .allRead(
                user: UserID(trusted: operations.user), upTo: Position(operations.upTo), toldTo: operations.told?.map { UserID(trusted: $0) })
        case 9:
            let operations: PartsOperations = try OperationsJSON.decode(operations)
            return .partsChanged(id: try requiredMessageID(), ordinal: ordinal, operations.edits.map(\.edit), message?.message(identities))
        default: throw Failure(.internalServerError, "Something went wrong on our side.")
        }
    }

    private func requiredMessageID() throws -> MessageID {
        guard let messageID else { throw Failure(.internalServerError, "Something went wrong on our side.") }
        return messageID
    }
}
