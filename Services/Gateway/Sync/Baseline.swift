// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// Where a user stands in one conversation's log.
package struct BaselineEntry: Sendable {
    package let id: ConversationID
    /// The last change that the user may see.
    package let position: Position
    /// What lies after this one happened since the time asked for.
    package let after: Position
    package let numbers: UserNumbers
    package let messageCount: Int64
    package let isParticipant: Bool
    /// When the oldest owed change was made.
    package let oldestAt: Timestamp?

    package init(
        id: ConversationID, position: Position, after: Position, numbers: UserNumbers, messageCount: Int64, isParticipant: Bool, oldestAt: Timestamp?
    ) {
        self.id = id
        self.position = position
        self.after = after
        self.numbers = numbers
        self.messageCount = messageCount
        self.isParticipant = isParticipant
        self.oldestAt = oldestAt
    }
}

/// Where a user stands in all of the user's logs.
package struct Baseline: Sendable {
    package let entries: [BaselineEntry]
    package let userPosition: Position
    package let userAfter: Position
    package let asOf: Timestamp
    /// False: the log does not reach back as far as asked.
    package let isComplete: Bool
    /// Of the database that this was read from; empty if it was not asked for, or the service did not say.
    package var epoch = ""

    package init(
        entries: [BaselineEntry], userPosition: Position, userAfter: Position, asOf: Timestamp, isComplete: Bool, epoch: String = ""
    ) {
        self.entries = entries
        self.userPosition = userPosition
        self.userAfter = userAfter
        self.asOf = asOf
        self.isComplete = isComplete
        self.epoch = epoch
    }
}

/// From where on a user is owed what is in their logs.
package enum BaselineOrigin: Sendable {
    /// A time that the client named, less the margin.
    case replay(since: Timestamp)
    /// So long ago, by the database's clock, but not before the session was made.
    /// - orSince: the same as far as the gateway knows it, for a service of an older version.
    case recent(Duration, notBefore: Timestamp, orSince: Timestamp)
}
