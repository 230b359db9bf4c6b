// SPDX-License-Identifier: Apache-2.0
import Model

/// One page of a conversation's log.
struct ChangePage: Sendable {
    var changes: [Change]
    var head: Position
    var numbers: [UserID: UserNumbers]
}
