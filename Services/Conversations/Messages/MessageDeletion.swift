// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Mutations
import Postgres
import StrataModel

/// The effects of a message's deletion: for all, a change of the conversation; for one user, an entry in the user's own
/// log.
struct MessageDeletion {
    let conversation: ConversationID
    /// Notices for the former participants who saw the message, if it was deleted for all.
    let former: [UserNotice]
    private let row: DeleteMessage.Row
    private let overrides: [(user: UserID, last: MessageRow?)]

    /// - Throws: the refusal, or a decoding error.
    init(_ written: WriteResult<DeleteMessage.Row>, in app: AppID) throws {
        row = written.row
        try Refusal.check(row.outcome ?? "", what: "message")
        guard let conversation = row.conversationID else { throw Failure.unexpected }
        self.conversation = conversation
        former = row.former.notices(in: app)
        overrides = written.rows.dropFirst().compactMap { row in row.overrideUser.map { ($0, row.message) } }
    }

    /// The position and time of the conversation's change. nil: the message was not deleted for all.
    var place: LogPlace? { row.place }
    /// The position and time of the entry in the user's own log. nil: the message was not deleted from the user's
    /// devices.
    var userPlace: LogPlace? { row.userPlace }

    /// The users in the messages that are now shown as the last one.
    var senders: [UserID] { Array(Set(([row.message] + overrides.map(\.last)).flatMap { $0?.users ?? [] })) }

    func change(of message: MessageID, by caller: Caller, _ identities: [UserID: BasicIdentity]) -> Change? {
        guard let place else { return nil }
        var shown: [UserID: Message?] = [:]
        for (user, last) in overrides { shown[user] = .some(last?.message(identities)) }
        return caller.change(
            in: conversation, at: place.position, createdAt: place.createdAt,
            messageCount: row.messageCount ?? 0, counts: row.counts.counts(at: place.position),
            content: .messageDeleted(
                id: message, ordinal: row.ordinal ?? 0,
                lastMessage: Change.LastMessage(
                    changed: row.lastChanged ?? false, message: row.message?.message(identities), overrides: shown)),
            hiddenFrom: row.hiddenFrom ?? [])
    }
}
