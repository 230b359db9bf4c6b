// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Mutations
import Postgres
import StrataModel

/// The effects of a message's deletion: for all, a change of the conversation; for one user, an entry in the user's own
/// log.
struct MessageDeletion {
    let conversation: ConversationID
    /// The position and time of the conversation's change. nil: the message was not deleted for all.
    let place: (position: Position, createdAt: StrataModel.Timestamp)?
    /// The position and time of the entry in the user's own log. nil: the message was not deleted from the user's
    /// devices.
    let userPlace: (position: Position, createdAt: StrataModel.Timestamp)?
    /// Notices for the former participants who saw the message, if it was deleted for all.
    let former: [UserNotice]
    private let messageCount: Int64
    private let ordinal: Int64
    private let lastChanged: Bool
    private let last: MessageRow?
    private let counts: [UserID: UserCounts]
    private let overrides: [(user: UserID, last: MessageRow?)]
    private let hiddenFrom: [UserID]

    /// - Throws: the refusal, or a decoding error.
    init(_ written: WriteResult, in app: AppID) throws {
        let (row, columns) = (written.rows[0], try written.columns(of: DeleteMessage.self))
        try Refusal.check(try row[columns.outcome], what: "message")
        conversation = ConversationID(rawValue: try row[columns.conversation])
        let position = try row[optional: columns.position]
        let createdAt = try row[optional: columns.createdAt].map { StrataModel.Timestamp($0) }
        messageCount = try row[optional: columns.messageCount] ?? 0
        ordinal = try row[optional: columns.ordinal] ?? 0
        lastChanged = try row[optional: columns.lastChanged] ?? false
        let userPosition = try row[optional: columns.userPosition]
        let userTime = try row[optional: columns.userCreatedAt].map { StrataModel.Timestamp($0) }
        last = try MessageRow(row, by: columns.message)
        former = try columns.former.notices(row, in: app)
        hiddenFrom = try row[optional: columns.hiddenFrom]?.map { UserID(trusted: $0) } ?? []
        place = position.flatMap { position in createdAt.map { (Position(position), $0) } }
        userPlace = userPosition.flatMap { position in userTime.map { (Position(position), $0) } }
        counts = try place.map { try columns.counts.counts(in: row, at: $0.position) } ?? [:]
        overrides = try written.rows.dropFirst()
            .map { row in (UserID(trusted: try row[columns.overrideUser]), try MessageRow(row, by: columns.message)) }
    }

    /// The users in the messages that are now shown as the last one.
    var senders: [UserID] { Array(Set(([last] + overrides.map(\.last)).flatMap { $0?.users ?? [] })) }

    func change(of message: MessageID, by caller: Caller, _ identities: [UserID: BasicIdentity]) -> Change? {
        guard let place else { return nil }
        var shown: [UserID: Message?] = [:]
        for (user, last) in overrides { shown[user] = .some(last?.message(identities)) }
        return caller.change(
            in: conversation, at: place.position, createdAt: place.createdAt, messageCount: messageCount,
            counts: counts,
            content: .messageDeleted(
                id: message, ordinal: ordinal,
                lastMessage: Change.LastMessage(
                    changed: lastChanged, message: last?.message(identities), overrides: shown)),
            hiddenFrom: hiddenFrom)
    }
}
