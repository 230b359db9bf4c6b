// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// Where a socket joins one conversation: the catch-up has brought it up to `position`, and live changes go on from there.
package struct JoinPoint: Sendable {
    package var id: ConversationID
    package var position: Position
    /// What the fan-out had handed to the registries when it was asked.
    package var fanOutLast: Position
    package var numbers: UserNumbers
    package var messageCount: Int64
    package var isHidden: Bool

    package init(id: ConversationID, position: Position, fanOutLast: Position, numbers: UserNumbers, messageCount: Int64, isHidden: Bool) {
        self.id = id
        self.position = position
        self.fanOutLast = fanOutLast
        self.numbers = numbers
        self.messageCount = messageCount
        self.isHidden = isHidden
    }
}
