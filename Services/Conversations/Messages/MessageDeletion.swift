// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Model
import Postgres

/// What the deletion of a message came to: for all, a change of the conversation; for one user, an entry of his own log.
struct MessageDeletion {
    let conversation: ConversationID
    /// Of the change, if it was deleted for all.
    let place: (position: Position, createdAt: Model.Timestamp)?
    /// Of the entry of the user's log, if it was deleted from his devices.
    let userPlace: (position: Position, createdAt: Model.Timestamp)?
    private let messageCount: Int64
    private let ordinal: Int64
    private let lastChanged: Bool
    private let last: MessageRow?
    private let numbers: [UserID: UserNumbers]
    private let overrides: [(user: UserID, last: MessageRow?)]

    /// - Throws: the refusal, or an error of decoding.
    init(_ rows: Rows) throws {
        guard let first = rows.first else { throw Failure(.internalServerError, "Something went wrong on our side.") }
        var cursor = RowCursor(first)
        try Refusal.check(try cursor.next(), what: "message")
        conversation = ConversationID(rawValue: try cursor.next())
        let position = try cursor.optional(Int64.self)
        let createdAt = try cursor.optionalTime()
        messageCount = try cursor.optional() ?? 0
        ordinal = try cursor.optional() ?? 0
        lastChanged = try cursor.optional() ?? false
        let users = try cursor.optional([String].self)?.map { UserID(trusted: $0) } ?? []
        let (uncounted, hidden) = (try cursor.optional([Int64].self) ?? [], try cursor.optional([Int64].self) ?? [])
        let userPosition = try cursor.optional(Int64.self)
        let userTime = try cursor.optionalTime()
        cursor.skip(1)
        last = try MessageRow(&cursor)
        place = position.flatMap { position in createdAt.map { (Position(position), $0) } }
        userPlace = userPosition.flatMap { position in userTime.map { (Position(position), $0) } }
        numbers = place.map { userNumbers(users, uncounted, hidden, at: $0.position) } ?? [:]
        overrides = try rows.dropFirst()
            .map { row in
                var cursor = RowCursor(row, at: 12)
                return (try cursor.user(), try MessageRow(&cursor))
            }
    }

    /// Everybody whose message is shown as the last one now.
    var senders: [UserID] { Array(Set(([last] + overrides.map(\.last)).compactMap { $0?.sender })) }

    func change(of message: MessageID, by caller: Caller, _ identities: [UserID: BasicIdentity]) -> Change? {
        guard let place else { return nil }
        var shown: [UserID: Message?] = [:]
        for (user, last) in overrides { shown[user] = .some(last?.message(identities)) }
        return caller.change(
            conversation, at: place.position, place.createdAt, messageCount: messageCount, numbers: numbers,
            .messageDeleted(
                id: message, ordinal: ordinal,
                lastMessage: Change.LastMessage(changed: lastChanged, message: last?.message(identities), overrides: shown)))
    }
}
