// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// Where a user stands in one conversation's log.
struct BaselineEntry: Sendable {
    let id: ConversationID
    /// The last change that the user may see.
    let position: Position
    /// What lies after this one happened since the time asked for.
    let after: Position
    let numbers: UserNumbers
    let messageCount: Int64
    let isParticipant: Bool
    /// When the oldest owed change was made.
    let oldestAt: Timestamp?
}

/// Where a user stands in all of the user's logs.
struct Baseline: Sendable {
    let entries: [BaselineEntry]
    let userPosition: Position
    let userAfter: Position
    let asOf: Timestamp
    /// False: the log does not reach back as far as asked.
    let isComplete: Bool
    /// Of the database that this was read from; empty if it was not asked for, or the service did not say.
    var epoch = ""
}

/// From where on a user is owed what is in their logs.
enum BaselineOrigin: Sendable {
    /// A time that the client named, less the margin.
    case replay(since: Timestamp)
    /// So long ago, by the database's clock, but not before the session was made.
    /// - orSince: the same as far as the gateway knows it, for a service of an older version.
    case recent(Duration, notBefore: Timestamp, orSince: Timestamp)
}
