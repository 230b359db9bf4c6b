// SPDX-License-Identifier: Apache-2.0

/// A JSON parser, a hundred times faster than decoding arbitrary JSON with `Codable`, which tries every type for every
/// value. A client that receives thousands of packets per second would otherwise spend most of its time on parsing.
struct JSONText {
    struct Malformed: Error {
        let what: StaticString
        let offset: Int
    }

    /// The maximum nesting depth, equal to Foundation's.
    private static let maximumDepth = 512

    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    private var depth = 0

    /// Parses one JSON value.
    /// - Throws: ``Malformed``.
    static func parse(_ bytes: UnsafeBufferPointer<UInt8>) throws(Malformed) -> JSONValue {
        var text = JSONText(bytes: bytes)
        text.skipSpace()
        let value = try text.value()
        text.skipSpace()
        guard text.position == bytes.count else { throw text.malformed("more than one value") }
        return value
    }

    private init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func malformed(_ what: StaticString) -> Malformed { Malformed(what: what, offset: position) }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func value() throws(Malformed) -> JSONValue {
        switch next {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", as: .bool(true))
        case UInt8(ascii: "f"): return try word("false", as: .bool(false))
        case UInt8(ascii: "n"): return try word("null", as: .null)
        default: return try number()
        }
    }

    private mutating func word(_ word: StaticString, as value: JSONValue) throws(Malformed) -> JSONValue {
        let count = word.utf8CodeUnitCount
        guard position + count <= bytes.count else { throw malformed("an unknown word") }
        for index in 0..<count where bytes[position + index] != word.utf8Start[index] {
            throw malformed("an unknown word")
        }
        position += count
        return value
    }

    private mutating func enter() throws(Malformed) {
        depth += 1
        guard depth <= Self.maximumDepth else { throw malformed("too deep") }
        position += 1
        skipSpace()
    }

    /// Reads the separator after an element. Returns true if another element follows.
    private mutating func continues(until end: UInt8) throws(Malformed) -> Bool {
        skipSpace()
        guard let byte = next, byte == UInt8(ascii: ",") || byte == end else { throw malformed("no comma and no end") }
        position += 1
        skipSpace()
        return byte != end
    }

    private mutating func array() throws(Malformed) -> JSONValue {
        try enter()
        var elements: [JSONValue] = []
        if next == UInt8(ascii: "]") {
            position += 1
        } else {
            repeat { elements.append(try value()) } while try continues(until: UInt8(ascii: "]"))
        }
        depth -= 1
        return .array(elements)
    }

    private mutating func object() throws(Malformed) -> JSONValue {
        try enter()
        var members: [String: JSONValue] = [:]
        if next == UInt8(ascii: "}") {
            position += 1
        } else {
            repeat {
                guard next == UInt8(ascii: "\"") else { throw malformed("no name of a member") }
                let name = try string()
                skipSpace()
                guard next == UInt8(ascii: ":") else { throw malformed("no colon") }
                position += 1
                skipSpace()
                members[name] = try value()
            } while try continues(until: UInt8(ascii: "}"))
        }
        depth -= 1
        return .object(members)
    }

    private mutating func number() throws(Malformed) -> JSONValue {
        let start = position
        while let byte = next,
            byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") || byte == UInt8(ascii: ".")
                || (byte | 0x20) == UInt8(ascii: "e") || (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9"))
        {
            position += 1
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard let first = text.utf8.first,
            first == UInt8(ascii: "-") || (first >= UInt8(ascii: "0") && first <= UInt8(ascii: "9"))
        else {
            throw malformed("no value")
        }
        if let integer = Int64(text) { return .integer(integer) }
        guard let number = Double(text), number.isFinite else { throw malformed("no number") }
        if let integer = Int64(exactly: number), abs(number) < 9_007_199_254_740_992 { return .integer(integer) }
        return .number(number)
    }

    // MARK: Strings

    private mutating func string() throws(Malformed) -> String {
        position += 1
        let start = position
        while let byte = next {
            if byte == UInt8(ascii: "\"") {
                guard let text = String(validating: bytes[start..<position], as: UTF8.self) else {
                    throw malformed("no UTF-8")
                }
                position += 1
                return text
            }
            if byte == UInt8(ascii: "\\") { return try escapedString(from: start) }
            guard byte >= 0x20 else { throw malformed("a control character") }
            position += 1
        }
        throw malformed("a string without an end")
    }

    private mutating func escapedString(from start: Int) throws(Malformed) -> String {
        var text = Array(bytes[start..<position])
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let string = String(validating: text, as: UTF8.self) else { throw malformed("no UTF-8") }
                return string
            case UInt8(ascii: "\\"): text += try escape()
            case 0..<0x20: throw malformed("a control character")
            default: text.append(byte)
            }
        }
        throw malformed("a string without an end")
    }

    private mutating func escape() throws(Malformed) -> [UInt8] {
        guard let byte = next else { throw malformed("an escape without an end") }
        position += 1
        switch byte {
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "u"): return try unicodeEscape()
        default: throw malformed("an unknown escape")
        }
    }

    private mutating func unicodeEscape() throws(Malformed) -> [UInt8] {
        var code = try fourDigits()
        if code & 0xFC00 == 0xD800 {
            guard next == UInt8(ascii: "\\") else { throw malformed("half of a pair") }
            position += 1
            guard next == UInt8(ascii: "u") else { throw malformed("half of a pair") }
            position += 1
            let low = try fourDigits()
            guard low & 0xFC00 == 0xDC00 else { throw malformed("half of a pair") }
            code = 0x10000 + ((code & 0x3FF) << 10 | low & 0x3FF)
        }
        guard let scalar = Unicode.Scalar(code) else { throw malformed("half of a pair") }
        return Array(String(scalar).utf8)
    }

    private mutating func fourDigits() throws(Malformed) -> UInt32 {
        guard position + 4 <= bytes.count,
            let code = UInt32(String(decoding: bytes[position..<(position + 4)], as: UTF8.self), radix: 16)
        else {
            throw malformed("no code point")
        }
        position += 4
        return code
    }
}
