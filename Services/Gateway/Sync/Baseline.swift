// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// The range of one conversation's log that a catch-up has to send to a user.
package struct BaselineEntry: Sendable {
    package let id: ConversationID
    /// The last change that the user may see.
    package let position: Position
    /// The position to read after. Later changes happened since the requested time.
    package let after: Position
    package let counts: UserCounts
    package let messageCount: Int64
    package let isParticipant: Bool
    /// The time of the oldest change between ``after`` and ``position``.
    package let oldestAt: Timestamp?

    package init(
        id: ConversationID, position: Position, after: Position, counts: UserCounts, messageCount: Int64,
        isParticipant: Bool, oldestAt: Timestamp?
    ) {
        self.id = id
        self.position = position
        self.after = after
        self.counts = counts
        self.messageCount = messageCount
        self.isParticipant = isParticipant
        self.oldestAt = oldestAt
    }
}

/// The ranges of all logs of a user that a catch-up has to send.
package struct Baseline: Sendable {
    package let entries: [BaselineEntry]
    package let userPosition: Position
    package let userAfter: Position
    package let asOf: Timestamp
    /// False if the log does not reach back to the requested time.
    package let isComplete: Bool
    /// The epoch of the app, for the client. Empty if it was not requested, or if the service did not send it.
    package var epoch = ""
    /// The epoch of the database that answered. It differs if the app was moved from another database.
    package var databaseEpoch: String

    package init(
        entries: [BaselineEntry], userPosition: Position, userAfter: Position, asOf: Timestamp, isComplete: Bool,
        epoch: String = "", databaseEpoch: String? = nil
    ) {
        self.entries = entries
        self.userPosition = userPosition
        self.userAfter = userAfter
        self.asOf = asOf
        self.isComplete = isComplete
        self.epoch = epoch
        self.databaseEpoch = databaseEpoch ?? epoch
    }
}

/// The time from which changes in a user's logs have to be sent.
package enum BaselineOrigin: Sendable {
    /// The time that the client named, minus ``CatchUpTiming/replayMargin``.
    case replay(since: Timestamp)
    /// An age by the database's clock. The resulting time is at least the session's creation.
    /// - orSince: the same time as far as the gateway knows it, for a service of an older version.
    case recent(Duration, notBefore: Timestamp, orSince: Timestamp)
}
