// SPDX-License-Identifier: Apache-2.0

struct InputLine: Hashable, Sendable {
    private(set) var before = ""
    private(set) var after = ""

    var text: String { before + after }
    var isEmpty: Bool { before.isEmpty && after.isEmpty }

    /// Inserts text at the cursor. Line breaks and other control characters become spaces, because the input is a
    /// single line.
    mutating func insert(_ text: String) {
        before += String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
    }

    /// Edits the text or moves the cursor.
    /// - Returns: False for other keys.
    mutating func press(_ key: Key) -> Bool {
        switch key {
        case .text(let text): insert(text)
        case .backspace: if !before.isEmpty { before.removeLast() }
        case .delete: if !after.isEmpty { after.removeFirst() }
        case .left: if let character = before.popLast() { after.insert(character, at: after.startIndex) }
        case .right: if !after.isEmpty { before.append(after.removeFirst()) }
        case .home, .control("a"): (before, after) = ("", text)
        case .end, .control("e"): (before, after) = (text, "")
        case .control("u"): before = ""
        case .control("k"): after = ""
        case .control("w"): removeWord()
        default: return false
        }
        return true
    }

    mutating func clear() { self = InputLine() }

    private mutating func removeWord() {
        while before.last == " " { before.removeLast() }
        while let last = before.last, last != " " { before.removeLast() }
    }
}
