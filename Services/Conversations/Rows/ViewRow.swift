// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Postgres
import StrataModel
import SwiftProtobuf

/// The view columns of a row: a conversation as one user sees it, without identities.
struct ViewRow {
    let id: ConversationID
    let createdAt: StrataModel.Timestamp
    let isDistinct: Bool
    let position: Position
    let participants: [UserID]
    let isParticipant: Bool
    let messageCount: Int64
    let uncounted: Int64
    let hidden: Int64
    let lastMessage: MessageRow?
    let receiptPolicy: ReceiptPolicy
    /// The metadata tree. nil: it was not read, or is too large for the answer.
    let tree: ProtoTree?

    /// Reads a view. nil if the id is null.
    init?(_ row: Row, by columns: ViewColumns) throws(PostgresError) {
        guard let uuid = try row[optional: columns.id] else { return nil }
        id = ConversationID(rawValue: uuid)
        createdAt = StrataModel.Timestamp(try row[columns.createdAt])
        isDistinct = try row[columns.isDistinct]
        position = Position(try row[columns.position])
        participants = try row[columns.participants].map { UserID(trusted: $0) }
        isParticipant = try row[columns.isParticipant]
        messageCount = try row[columns.messageCount]
        uncounted = try row[columns.uncounted]
        hidden = try row[columns.hidden]
        lastMessage = try MessageRow(row, by: columns.lastMessage)
        receiptPolicy = ReceiptPolicy(try row[columns.receiptPolicy])
        if let paths = try row[optional: columns.paths], let values = try row[optional: columns.values] {
            tree = .with {
                $0.leaves = zip(paths, values)
                    .map { path, value in
                        .with {
                            $0.path = path
                            $0.value = value
                        }
                    }
            }
        } else {
            tree = nil
        }
    }

    var users: [UserID] { participants + (lastMessage?.users ?? []) }

    /// Returns the message for a caller, with the tree.
    func proto(_ identities: [UserID: BasicIdentity], epoch: String) -> ProtoConversationView {
        var proto = ProtoConversationView(view(identities, epoch: epoch))
        if let tree { proto.conversation.metadata = tree }
        return proto
    }

    /// Returns the view without the tree.
    func view(_ identities: [UserID: BasicIdentity], epoch: String) -> ConversationView {
        ConversationView(
            conversation: Conversation(
                id: id, createdAt: createdAt, isDistinct: isDistinct,
                participants: participants.map { identities[$0] ?? BasicIdentity(userID: $0) }, metadata: nil,
                position: position,
                epoch: epoch, receiptPolicy: receiptPolicy),
            isParticipant: isParticipant, lastMessage: lastMessage?.message(identities),
            counts: UserCounts(excluded: uncounted, hidden: hidden, position: position), messageCount: messageCount)
    }
}

/// The columns of the type `view_row`.
struct ViewColumns: ColumnSet {
    fileprivate let id: Column<UUID>
    fileprivate let createdAt: Column<PostgresTimestamp>
    fileprivate let isDistinct: Column<Bool>
    fileprivate let position: Column<Int64>
    fileprivate let participants: Column<[String]>
    fileprivate let isParticipant: Column<Bool>
    fileprivate let messageCount: Column<Int64>
    fileprivate let uncounted: Column<Int64>
    fileprivate let hidden: Column<Int64>
    fileprivate let lastMessage: MessageColumns
    fileprivate let receiptPolicy: Column<Int64>
    fileprivate let paths: Column<[String]>
    fileprivate let values: Column<[String]>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        id = try names.column("conversation_id")
        createdAt = try names.column("created_at")
        isDistinct = try names.column("is_distinct")
        position = try names.column("position")
        participants = try names.column("participants")
        isParticipant = try names.column("is_participant")
        messageCount = try names.column("message_count")
        uncounted = try names.column("uncounted")
        hidden = try names.column("hidden")
        lastMessage = try MessageColumns(lastInView: &names)
        receiptPolicy = try names.column("receipt_policy")
        paths = try names.column("paths")
        values = try names.column("vals")
    }
}

/// The conversion of refusing outcomes to failures.
enum Refusal {
    /// Throws the failure for an outcome that is not a success.
    static func check(_ outcome: String, what: String) throws(Failure) {
        switch outcome {
        case "not_found": throw .notFound(what)
        case "access_denied": throw .accessDenied("You are not a participant of this conversation any more.")
        case "busy": throw .unavailable
        case "deleted": throw Failure(.objectDeleted, "The \(what) has been deleted.")
        default: break
        }
    }
}
