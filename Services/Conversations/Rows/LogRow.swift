// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Postgres
import StrataModel

/// A result row of `read_logs` and `read_changes`: a change of a conversation, an entry of a user's log, a user's
/// counts, or information about the answer.
struct LogRow: Decodable {
    enum Entry: Int64, Decodable {
        case header = 0, change, userChange, counts, skipped, override
    }

    struct Origin: Decodable {
        let connection: Int64
        let request: Int64
    }

    let entry: Entry
    let app: AppID?
    let conversation: ConversationID?
    private let storedPosition: Position?
    private let storedKind: Int64?
    /// The user who made the change. Empty: the app's own server.
    private let actor: UserID?
    private let origin: Origin?
    let messageID: MessageID?
    private let ordinal: Int64?
    private let storedCount: Int64?
    let operations: String?
    private let storedTime: StrataModel.Timestamp?
    let user: UserID?
    private let storedFlag: Bool?
    private let uncounted: Int64?
    private let hidden: Int64?
    /// In an entry with counts: true if the conversation is on the user's list.
    let isListed: Bool?
    /// The conversation's present state, for kinds 1 and 2.
    private let conversationCreatedAt: StrataModel.Timestamp?
    private let isDistinct: Bool?
    private let receiptPolicy: ReceiptPolicy?
    private let conversationPosition: Position?
    private let storedParticipants: [UserID]?
    let message: MessageRow?

    private enum CodingKeys: String, CodingKey {
        case app = "appID"
        case conversation = "conversationID"
        case storedPosition = "position"
        case storedKind = "kind"
        case origin = "origin_"
        case storedCount = "messageCount"
        case storedTime = "createdAt"
        case user = "userID"
        case storedFlag = "flag"
        case storedParticipants = "participants"
        case message = "m_"
        case entry, actor, messageID, ordinal, operations, uncounted, hidden, isListed, conversationCreatedAt
        case isDistinct, receiptPolicy, conversationPosition
    }

    var position: Position { storedPosition ?? .zero }
    var kind: Int64 { storedKind ?? 0 }
    var messageCount: Int64 { storedCount ?? 0 }
    var createdAt: StrataModel.Timestamp { storedTime ?? StrataModel.Timestamp(microseconds: 0) }
    /// The meaning depends on the entry:
    /// - header: the answer reaches the heads of all logs.
    /// - user change, of a hidden conversation: the conversation is hidden as a whole.
    /// - counts: the user takes part in the conversation.
    var flag: Bool { storedFlag ?? false }
    var participants: [UserID] { storedParticipants ?? [] }
    var counts: UserCounts { UserCounts(excluded: uncounted ?? 0, hidden: hidden ?? 0, position: position) }

    /// The users whose identities the row needs.
    var users: [UserID] {
        var users = participants
        if let message { users += message.users }
        if kind == 2, let operations = try? OperationsJSON.decode(operations, as: ParticipantsOperations.self) {
            users += operations.added.map { UserID(trusted: $0) }
        }
        return users
    }
}

extension LogRow.Entry: PostgresDecodable {
    static var columnTypes: [UInt32] { Int64.columnTypes }

    static func decode(_ field: borrowing PostgresField) -> Self? {
        Int64.decode(field).flatMap { Self(rawValue: $0) }
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
            appID: app, conversationID: conversation, position: position, createdAt: createdAt,
            actor: actor.flatMap { $0.isAppServer ? nil : $0 },
            origin: origin.map {
                Change.Origin(connection: UInt64(bitPattern: $0.connection), request: UInt64(bitPattern: $0.request))
            },
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
                id: id, createdAt: $0, isDistinct: isDistinct ?? false, participants: participants.map(named),
                metadata: nil, position: conversationPosition ?? .zero, epoch: epoch,
                receiptPolicy: receiptPolicy ?? [])
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
        case 5: return .messageCreated(id: try requiredMessageID(), ordinal: ordinal ?? 0, message?.message(identities))
        case 6:
            let operations: DeletedOperations = try OperationsJSON.decode(operations)
            return .messageDeleted(
                id: try requiredMessageID(), ordinal: ordinal ?? 0,
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
                id: try requiredMessageID(), ordinal: ordinal ?? 0, operations.edits.map(\.edit),
                message?.message(identities))
        default: throw Failure(.internalServerError, "An internal error occurred.")
        }
    }

    private func requiredMessageID() throws -> MessageID {
        guard let messageID else { throw Failure(.internalServerError, "An internal error occurred.") }
        return messageID
    }
}
