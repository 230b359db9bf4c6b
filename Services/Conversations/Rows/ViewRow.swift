// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Model
import Postgres

/// The VIEW columns of a result: a conversation as one user sees it, without names and without metadata.
struct ViewRow {
    let id: ConversationID
    let createdAt: Model.Timestamp
    let isDistinct: Bool
    let position: Position
    let participants: [UserID]
    let isParticipant: Bool
    let messageCount: Int64
    let uncounted: Int64
    let hidden: Int64
    let lastMessage: MessageRow?
    let receiptPolicy: ReceiptPolicy

    /// How many columns it takes.
    static let columns = 20

    /// Nil if there is no conversation: its id is null.
    init?(_ cursor: inout RowCursor) throws {
        guard let uuid = try cursor.optional(UUID.self) else {
            cursor.skip(ViewRow.columns - 1)
            return nil
        }
        id = ConversationID(rawValue: uuid)
        createdAt = try cursor.time()
        isDistinct = try cursor.next()
        position = try cursor.position()
        participants = try cursor.users()
        isParticipant = try cursor.next()
        messageCount = try cursor.next()
        uncounted = try cursor.next()
        hidden = try cursor.next()
        lastMessage = try MessageRow(lastIn: id, &cursor)
        receiptPolicy = ReceiptPolicy(try cursor.row.get(cursor.column - 1, as: Int64.self))
    }

    /// Everybody who is named.
    var users: [UserID] { participants + (lastMessage.map { [$0.sender] } ?? []) }

    func view(_ identities: [UserID: BasicIdentity], metadata: MetadataTree? = nil, epoch: String) -> ConversationView {
        ConversationView(
            conversation: Conversation(
                id: id, createdAt: createdAt, isDistinct: isDistinct,
                participants: participants.map { identities[$0] ?? BasicIdentity(userID: $0) }, metadata: metadata, position: position,
                epoch: epoch, receiptPolicy: receiptPolicy),
            isParticipant: isParticipant, lastMessage: lastMessage?.message(identities),
            numbers: UserNumbers(uncounted: uncounted, hidden: hidden, position: position), messageCount: messageCount)
    }
}

/// The answer of a write that has no further columns.
enum Refusal {
    /// - Throws: what a client is told for an outcome that is no success.
    static func check(_ outcome: String, what: String) throws(Failure) {
        switch outcome {
        case "not_found": throw .notFound(what)
        case "access_denied": throw .accessDenied("You are not a participant of this conversation any more.")
        case "busy": throw .unavailable
        default: break
        }
    }
}
