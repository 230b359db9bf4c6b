// SPDX-License-Identifier: Apache-2.0
package import StrataModel

/// One page of a conversation's log.
package struct ChangePage: Sendable {
    package var changes: [Change]
    package var head: Position
    package var numbers: [UserID: UserNumbers]

    package init(changes: [Change], head: Position, numbers: [UserID: UserNumbers]) {
        self.changes = changes
        self.head = head
        self.numbers = numbers
    }
}
