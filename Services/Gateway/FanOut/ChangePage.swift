// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// One page of a conversation's log.
package struct ChangePage: Sendable {
    package var changes: [Change]
    package var head: Position
    package var counts: [UserID: UserCounts]

    package init(changes: [Change], head: Position, counts: [UserID: UserCounts]) {
        self.changes = changes
        self.head = head
        self.counts = counts
    }
}
