// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import Postgres
import StrataModel
import SwiftProtobuf

/// The columns of the type `view_row`: a conversation as one user sees it, without identities.
struct ViewRow: Decodable {
    let id: ConversationID
    let createdAt: StrataModel.Timestamp
    private let isDistinct: Bool
    private let position: Position
    private let participants: [UserID]
    private let isParticipant: Bool
    private let messageCount: Int64
    private let uncounted: Int64
    private let hidden: Int64
    private let lastMessage: MessageContent?
    private let receiptPolicy: ReceiptPolicy
    private let paths: [String]?
    private let values: [String]?

    private enum CodingKeys: String, CodingKey {
        case id = "conversationID"
        case lastMessage = "last_"
        case values = "vals"
        case createdAt, isDistinct, position, participants, isParticipant, messageCount, uncounted, hidden
        case receiptPolicy, paths
    }

    /// The metadata tree. nil: it was not read, or is too large for the answer.
    var tree: ProtoTree? {
        guard let paths, let values else { return nil }
        return .with {
            $0.leaves = zip(paths, values)
                .map { path, value in
                    .with {
                        $0.path = path
                        $0.value = value
                    }
                }
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
            isParticipant: isParticipant, lastMessage: lastMessage?.message(in: id, receiptPolicy, identities),
            counts: UserCounts(excluded: uncounted, hidden: hidden, position: position), messageCount: messageCount)
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
