// SPDX-License-Identifier: Apache-2.0

/// Reads keys from the bytes that a terminal sends. Bytes may arrive in any portions; what is not complete is kept for the next call.
struct KeyReader: Hashable, Sendable {
    /// A longer escape sequence is no key of any terminal.
    private static let sequenceLimit = 64
    /// Of one paste, in bytes. What is beyond is dropped.
    static let pasteLimit = 65_536

    private var pending: [UInt8] = []
    /// The text of a paste that has not ended yet.
    private var paste: [UInt8]?

    /// Whether an Escape has come of which only time can tell whether it is the key or begins a sequence; see ``flush()``.
    var isUndecided: Bool { paste == nil && pending.first == 0x1B }

    mutating func read(_ bytes: some Sequence<UInt8>) -> [Key] {
        pending += bytes
        var keys: [Key] = []
        while !pending.isEmpty {
            guard let step = paste == nil ? nextKey() : nextOfPaste() else { break }
            pending.removeFirst(step.length)
            if let key = step.key { keys.append(key) }
        }
        return keys
    }

    /// To be called when nothing has come for a moment: terminals send a sequence at once, so an Escape that stands alone is the key.
    mutating func flush() -> [Key] {
        guard isUndecided else { return [] }
        let isAlone = pending.count == 1
        pending = []
        return isAlone ? [.escape] : []
    }

    /// What is at the beginning of the bytes: how long it is, and the key, if it is one.
    private typealias Step = (length: Int, key: Key?)

    /// - Returns: nil if more bytes are needed.
    private mutating func nextKey() -> Step? {
        switch pending[0] {
        case 0x1B: nextSequence()
        case 0x0D, 0x0A: (1, .enter)
        case 0x09: (1, .tab)
        case 0x08, 0x7F: (1, .backspace)
        case let byte where byte >= 1 && byte <= 0x1A: (1, .control(Character(Unicode.Scalar(byte + 0x60))))
        case let byte where byte < 0x20: (1, nil)
        default: nextCharacter()
        }
    }

    /// One scalar of UTF-8. Bytes that are none become U+FFFD.
    private func nextCharacter() -> Step? {
        let length =
            switch pending[0] {
            case 0x20..<0x80: 1
            case 0xC2..<0xE0: 2
            case 0xE0..<0xF0: 3
            case 0xF0..<0xF5: 4
            default: 0
            }
        let continuation = pending.dropFirst().prefix(max(length - 1, 0))
        guard length > 0, continuation.allSatisfy({ $0 & 0xC0 == 0x80 }) else { return (1, .text("\u{FFFD}")) }
        guard pending.count >= length else { return nil }
        guard let text = String(validating: pending.prefix(length), as: UTF8.self) else { return (1, .text("\u{FFFD}")) }
        return (length, .text(text))
    }

    // MARK: Escape sequences

    private mutating func nextSequence() -> Step? {
        guard pending.count > 1 else { return nil }
        switch pending[1] {
        case UInt8(ascii: "["): return nextControlSequence()
        case UInt8(ascii: "O"):
            guard pending.count > 2 else { return nil }
            return (3, Self.keys[pending[2]])
        case 0x1B: return (1, .escape)
        // A key with Alt, which means nothing here.
        default: return (2, nil)
        }
    }

    /// `ESC [`, parameters, and a final byte.
    private mutating func nextControlSequence() -> Step? {
        let body = pending.dropFirst(2)
        guard let end = body.firstIndex(where: { !(0x20...0x3F).contains($0) }) else {
            return pending.count > Self.sequenceLimit ? (pending.count, nil) : nil
        }
        let parameters = String(decoding: body[..<end], as: UTF8.self)
        switch pending[end] {
        case UInt8(ascii: "~"):
            if parameters == Self.pasteBegin { paste = [] }
            return (end + 1, Self.numbered[parameters])
        // The console of Linux: `ESC [ [ A` is F1.
        case UInt8(ascii: "[") where parameters.isEmpty:
            guard pending.count > end + 1 else { return nil }
            return (end + 2, pending[end + 1] == UInt8(ascii: "A") ? .help : nil)
        case let final: return (end + 1, Self.keys[final])
        }
    }

    /// By the final byte. Parameters are modifiers such as Shift, which change nothing.
    private static let keys: [UInt8: Key] = [
        UInt8(ascii: "A"): .up, UInt8(ascii: "B"): .down, UInt8(ascii: "C"): .right, UInt8(ascii: "D"): .left, UInt8(ascii: "H"): .home,
        UInt8(ascii: "F"): .end, UInt8(ascii: "P"): .help, UInt8(ascii: "M"): .enter,
    ]
    private static let numbered: [String: Key] = [
        "1": .home, "3": .delete, "4": .end, "5": .pageUp, "6": .pageDown, "7": .home, "8": .end, "11": .help,
    ]

    // MARK: Pastes

    /// Terminals put what is pasted between two sequences, so that a line feed in it is not taken for the Enter key.
    private static let pasteBegin = "200"
    private static let pasteEnd = Array("\u{1B}[201~".utf8)

    private mutating func nextOfPaste() -> Step? {
        let candidate = pending.prefix(Self.pasteEnd.count)
        if candidate.elementsEqual(Self.pasteEnd) {
            let text = String(decoding: paste ?? [], as: UTF8.self)
            paste = nil
            return (Self.pasteEnd.count, .text(text))
        }
        if Self.pasteEnd.starts(with: candidate) { return nil }
        if let count = paste?.count, count < Self.pasteLimit { paste?.append(pending[0]) }
        return (1, nil)
    }
}
