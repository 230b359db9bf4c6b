// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// The point at which a socket joins a conversation. The catch-up has sent everything up to `position`; live changes
/// follow.
package struct JoinPoint: Sendable {
    package var id: ConversationID
    package var position: Position
    /// The last position that the fan-out had passed to the registries when the catch-up asked for it.
    package var fanOutLast: Position
    package var counts: UserCounts
    package var messageCount: Int64
    package var isHidden: Bool

    package init(
        id: ConversationID, position: Position, fanOutLast: Position, counts: UserCounts, messageCount: Int64,
        isHidden: Bool
    ) {
        self.id = id
        self.position = position
        self.fanOutLast = fanOutLast
        self.counts = counts
        self.messageCount = messageCount
        self.isHidden = isHidden
    }
}
