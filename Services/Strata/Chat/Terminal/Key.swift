// SPDX-License-Identifier: Apache-2.0

enum Key: Hashable, Sendable {
    /// What was typed or pasted. It may contain control characters if it was pasted.
    case text(String)
    /// A letter with Ctrl, in lower case.
    case control(Character)
    case enter, tab, escape, backspace, delete
    case left, right, up, down, home, end, pageUp, pageDown
    /// F1.
    case help
}
