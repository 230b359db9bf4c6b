// SPDX-License-Identifier: Apache-2.0
import Model

/// One conversation that a catch-up has brought up to `position`.
struct Attachment: Sendable {
    var id: ConversationID
    var position: Position
    /// What the fan-out had handed to the hubs when it was asked.
    var fanOutLast: Position
    var numbers: UserNumbers
    var messageCount: Int64
    var isHidden: Bool
}
