// SPDX-License-Identifier: Apache-2.0

/// A tokenizer for Swift sources: words, punctuation and string literals without comments. This suffices to find
/// attributes and their arguments.
///
/// Regular expression literals that contain a quotation mark are not supported.
struct SwiftTokens {
    enum Token: Hashable {
        case word(String)
        case mark(Unicode.Scalar)
        /// The value of a string literal; nil if it contains an interpolation, whose value is only known at run time.
        case text(String?)
    }

    /// An unterminated literal or comment.
    struct Unterminated: Error, Hashable {
        let line: Int
    }

    private let bytes: [UInt8]
    private var place = 0

    /// Returns all tokens of a source.
    /// - Throws: ``Unterminated``.
    static func all(of source: String) throws(Unterminated) -> [Token] {
        var tokens = SwiftTokens(bytes: Array(source.utf8))
        var all: [Token] = []
        while let token = try tokens.next() { all.append(token) }
        return all
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private mutating func next() throws(Unterminated) -> Token? {
        try skipSpaceAndComments()
        guard let byte = byte() else { return nil }
        if let hashes = hashesBeforeQuote() { return try literal(hashes: hashes) }
        if byte == UInt8(ascii: "`") { return try quotedName() }
        guard Self.isWord(byte) else {
            place += 1
            return .mark(Unicode.Scalar(byte))
        }
        let start = place
        while let byte = self.byte(), Self.isWord(byte) { place += 1 }
        return .word(String(decoding: bytes[start..<place], as: UTF8.self))
    }

    private mutating func quotedName() throws(Unterminated) -> Token {
        let start = place
        place += 1
        while let byte = byte(), byte != UInt8(ascii: "`"), byte != UInt8(ascii: "\n") { place += 1 }
        guard has("`") else { throw unterminated(from: start) }
        place += 1
        return .word(String(decoding: bytes[start + 1..<place - 1], as: UTF8.self))
    }

    private mutating func skipSpaceAndComments() throws(Unterminated) {
        while let byte = byte() {
            if byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\t")
                || byte == UInt8(ascii: "\r")
            {
                place += 1
            } else if has("//") {
                while let byte = self.byte(), byte != UInt8(ascii: "\n") { place += 1 }
            } else if has("/*") {
                try skipBlockComment()
            } else {
                return
            }
        }
    }

    private mutating func skipBlockComment() throws(Unterminated) {
        let start = place
        var depth = 0
        repeat {
            if has("/*") {
                depth += 1
                place += 2
            } else if has("*/") {
                depth -= 1
                place += 2
            } else if place < bytes.count {
                place += 1
            } else {
                throw unterminated(from: start)
            }
        } while depth > 0
    }

    /// Returns the number of `#` characters before the quotation mark of a literal that starts here; nil if none does.
    private func hashesBeforeQuote() -> Int? {
        var hashes = 0
        while byte(hashes) == UInt8(ascii: "#") { hashes += 1 }
        return byte(hashes) == UInt8(ascii: "\"") ? hashes : nil
    }

    private mutating func literal(hashes: Int) throws(Unterminated) -> Token {
        let start = place
        let mark = String(repeating: "#", count: hashes)
        place += hashes
        let quotes = has("\"\"\"") ? "\"\"\"" : "\""
        place += quotes.utf8.count
        var content: [UInt8] = []
        var isPlain = true
        while !has(quotes + mark) {
            guard let byte = byte(), byte != UInt8(ascii: "\n") || quotes.utf8.count > 1 else {
                throw unterminated(from: start)
            }
            guard has("\\" + mark) else {
                content.append(byte)
                place += 1
                continue
            }
            place += 1 + hashes
            if self.byte() == UInt8(ascii: "(") {
                isPlain = false
                try skipParentheses(from: start)
            } else {
                // Other escape sequences do not occur in names of tests; only an escaped character itself does.
                if let escaped = self.byte() { content.append(escaped) }
                place += 1
            }
        }
        place += quotes.utf8.count + hashes
        return .text(isPlain ? String(decoding: content, as: UTF8.self) : nil)
    }

    private mutating func skipParentheses(from start: Int) throws(Unterminated) {
        var depth = 0
        repeat {
            guard let token = try next() else { throw unterminated(from: start) }
            if token == .mark("(") { depth += 1 }
            if token == .mark(")") { depth -= 1 }
        } while depth > 0
    }

    private func byte(_ offset: Int = 0) -> UInt8? { place + offset < bytes.count ? bytes[place + offset] : nil }
    private func has(_ text: String) -> Bool { bytes[min(place, bytes.count)...].starts(with: text.utf8) }

    private func unterminated(from start: Int) -> Unterminated {
        Unterminated(line: bytes[..<start].count { $0 == UInt8(ascii: "\n") } + 1)
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "_"), 0x80...:
            true
        default: false
        }
    }
}
