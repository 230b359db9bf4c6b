// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Postgres
import StrataModel

/// The columns of a batch of receipts that became one change: parallel arrays with one element for each receipt. All
/// are null if the receipts have no effect.
struct ReceiptChangeColumns: ColumnSet {
    private let position: Column<Int64>
    private let createdAt: Column<PostgresTimestamp>
    private let messageCount: Column<Int64>
    private let users: Column<[String]>
    private let messages: Column<[UUID]>
    private let ordinals: Column<[Int64]>
    private let statuses: Column<[Int64]>
    private let senders: Column<[String]>
    private let audiences: Column<[Int64]>
    /// User ids, joined by line feeds.
    private let hiddenFroms: Column<[String]>
    private let counts: UserCountsColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        position = try names.column("position")
        createdAt = try names.column("created_at")
        messageCount = try names.column("message_count")
        users = try names.column("users")
        messages = try names.column("messages")
        ordinals = try names.column("ordinals")
        statuses = try names.column("statuses")
        senders = try names.column("senders")
        audiences = try names.column("audiences")
        hiddenFroms = try names.column("hidden_froms")
        counts = try UserCountsColumns(&names)
    }

    /// Returns the change in a row. nil if the receipts have no effect.
    func change(
        in row: Row, of conversation: ConversationID, in app: AppID, origin: Change.Origin? = nil
    ) throws(PostgresError) -> Change? {
        guard let position = try row[optional: position].map({ Position($0) }) else { return nil }
        let receipts = try receipts(in: row)
        return Change(
            appID: app, conversationID: conversation, position: position,
            createdAt: StrataModel.Timestamp(try row[createdAt]),
            actor: receipts.first?.user, origin: origin, messageCount: try row[messageCount],
            counts: try counts.counts(in: row, at: position), content: .receipts(receipts))
    }

    private func receipts(in row: Row) throws(PostgresError) -> [Change.Receipt] {
        let (users, messages, ordinals) = (try row[users], try row[messages], try row[ordinals])
        let (statuses, senders, audiences) = (try row[statuses], try row[senders], try row[audiences])
        let hiddenFroms = try row[hiddenFroms]
        guard
            [messages.count, ordinals.count, statuses.count, senders.count, audiences.count, hiddenFroms.count]
                .allSatisfy({ $0 == users.count })
        else {
            throw PostgresError(
                code: .decoding, column: "users", reason: "has another number of elements than what belongs to it")
        }
        return users.indices.map { index in
            Change.Receipt(
                user: UserID(trusted: users[index]), messageID: MessageID(rawValue: messages[index]),
                ordinal: ordinals[index],
                status: RecipientStatus(rawValue: Int(statuses[index])) ?? .delivered,
                sender: senders[index].isEmpty ? nil : UserID(trusted: senders[index]),
                audience: Change.Receipt.Audience(rawValue: Int(audiences[index])) ?? .senderAndReader,
                hiddenFrom: hiddenFroms[index].split(separator: "\n").map { UserID(trusted: String($0)) })
        }
    }
}

/// The result columns of ``GiveGatheredReceipts``: an outcome for each receipt, and the change.
struct ReceiptsGiveColumns: ColumnSet {
    let outcomes: Column<[String]>
    let change: ReceiptChangeColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcomes = try names.column("results")
        change = try ReceiptChangeColumns(&names)
    }
}

/// The result columns of ``GiveReceipts``.
struct BulkReceiptColumns: ColumnSet {
    let outcome: Column<String>
    let ignored: Column<[UUID]>
    let change: ReceiptChangeColumns

    init(_ names: inout ColumnNames) throws(PostgresError) {
        outcome = try names.column("outcome")
        ignored = try names.column("ignored")
        change = try ReceiptChangeColumns(&names)
    }
}

/// The result columns of ``SeenMessages``.
struct MessagesSeenColumns: ColumnSet {
    let message: Column<UUID>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        message = try names.column("id")
    }
}
