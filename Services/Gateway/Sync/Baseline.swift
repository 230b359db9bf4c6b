// SPDX-License-Identifier: Apache-2.0
import Model

/// Where a user stands in one conversation's log.
struct BaselineEntry: Sendable {
    let id: ConversationID
    /// The last change he may see.
    let position: Position
    /// What lies after this one happened since the time asked for.
    let after: Position
    let numbers: UserNumbers
    let messageCount: Int64
    let isParticipant: Bool
    /// When the oldest owed change was made.
    let oldestAt: Timestamp?
}

/// Where a user stands in all of his logs.
struct Baseline: Sendable {
    let entries: [BaselineEntry]
    let userPosition: Position
    let userAfter: Position
    let asOf: Timestamp
    /// False: the log does not reach back as far as asked.
    let isComplete: Bool
}
