// SPDX-License-Identifier: Apache-2.0

enum Key: Hashable, Sendable {
    /// Typed or pasted text. Pasted text may contain control characters.
    case text(String)
    /// A letter with Ctrl, in lower case.
    case control(Character)
    case enter, tab, escape, backspace, delete
    case left, right, up, down, home, end, pageUp, pageDown
    /// The F1 key.
    case help
}
