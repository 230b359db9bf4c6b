// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import Postgres
import StrataModel

/// The columns of a batch of receipts that became one change: parallel arrays with one element for each receipt.
struct ReceiptChange: Decodable {
    private let position: Position
    private let createdAt: StrataModel.Timestamp
    private let messageCount: Int64
    private let users: [UserID]
    private let messages: [MessageID]
    private let ordinals: [Int64]
    private let statuses: [Int64]
    private let senders: [UserID]
    private let audiences: [Int64]
    /// User ids, joined by line feeds.
    private let hiddenFroms: [String]
    private let counts: ChangedCounts

    func change(
        of conversation: ConversationID, in app: AppID, origin: Change.Origin? = nil
    ) throws(PostgresError) -> Change {
        Change(
            appID: app, conversationID: conversation, position: position, createdAt: createdAt, actor: users.first,
            origin: origin, messageCount: messageCount, counts: counts.counts(at: position),
            content: .receipts(try receipts))
    }

    private var receipts: [Change.Receipt] {
        get throws(PostgresError) {
            guard
                [messages.count, ordinals.count, statuses.count, senders.count, audiences.count, hiddenFroms.count]
                    .allSatisfy({ $0 == users.count })
            else {
                throw PostgresError(
                    code: .decoding, column: "users", reason: "has another number of elements than what belongs to it")
            }
            return users.indices.map { index in
                Change.Receipt(
                    user: users[index], messageID: messages[index], ordinal: ordinals[index],
                    status: RecipientStatus(rawValue: Int(statuses[index])) ?? .delivered,
                    sender: senders[index].isAppServer ? nil : senders[index],
                    audience: Change.Receipt.Audience(rawValue: Int(audiences[index])) ?? .senderAndReader,
                    hiddenFrom: hiddenFroms[index].split(separator: "\n").map { UserID(trusted: String($0)) })
            }
        }
    }
}
