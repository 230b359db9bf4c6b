// SPDX-License-Identifier: Apache-2.0

/// A parser of the keys in a terminal's byte stream. Bytes may arrive in any portions; an incomplete sequence is kept
/// for the next call.
struct KeyReader: Hashable, Sendable {
    /// The maximum length of an escape sequence. No terminal has a longer one.
    private static let sequenceLimit = 64
    /// The maximum size of one paste, in bytes. More is dropped.
    static let pasteLimit = 65_536

    private var pending: [UInt8] = []
    /// The text of a paste that has not ended yet.
    private var paste: [UInt8]?

    /// True if an Escape arrived that may be the key or begin a sequence. Only a pause decides; see ``flush()``.
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

    /// Ends an incomplete sequence. Call it after a pause: terminals send a sequence at once, so a single Escape is the
    /// key.
    mutating func flush() -> [Key] {
        guard isUndecided else { return [] }
        let isAlone = pending.count == 1
        pending = []
        return isAlone ? [.escape] : []
    }

    /// The next element of the input: its length in bytes, and the key if it is one.
    private typealias Step = (length: Int, key: Key?)

    /// Returns the next element; nil if more bytes are needed.
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

    /// Returns one UTF-8 scalar. Invalid bytes become U+FFFD.
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
        guard let text = String(validating: pending.prefix(length), as: UTF8.self) else {
            return (1, .text("\u{FFFD}"))
        }
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
        // A key with Alt, which has no function here.
        default: return (2, nil)
        }
    }

    /// Parses `ESC [`, parameters, and a final byte.
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
        // The Linux console sends `ESC [ [ A` for F1.
        case UInt8(ascii: "[") where parameters.isEmpty:
            guard pending.count > end + 1 else { return nil }
            return (end + 2, pending[end + 1] == UInt8(ascii: "A") ? .help : nil)
        case let final: return (end + 1, Self.keys[final])
        }
    }

    /// The keys by their final byte. Parameters are modifiers such as Shift, which are ignored.
    private static let keys: [UInt8: Key] = [
        UInt8(ascii: "A"): .up, UInt8(ascii: "B"): .down, UInt8(ascii: "C"): .right, UInt8(ascii: "D"): .left,
        UInt8(ascii: "H"): .home,
        UInt8(ascii: "F"): .end, UInt8(ascii: "P"): .help, UInt8(ascii: "M"): .enter,
    ]
    private static let numbered: [String: Key] = [
        "1": .home, "3": .delete, "4": .end, "5": .pageUp, "6": .pageDown, "7": .home, "8": .end, "11": .help,
    ]

    // MARK: Pastes

    /// The parameter of the sequence before a paste. Terminals enclose a paste in two sequences, so that its line feeds
    /// differ from the Enter key.
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
