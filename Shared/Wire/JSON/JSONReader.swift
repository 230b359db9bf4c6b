// SPDX-License-Identifier: Apache-2.0
public import NIOCore
public import StrataModel

/// A strict JSON parser (RFC 8259) that reads the bytes in one pass.
///
/// Beyond the grammar, it rejects text that cannot be stored: NUL in strings, and lone surrogates.
public struct JSONReader {
    let base: UnsafePointer<UInt8>
    let count: Int
    let maximumDepth: Int
    var index = 0

    /// Parses exactly one value, which only white space may surround.
    /// - Parameter maximumDepth: the maximum nesting of arrays and objects, at most 512, because each level needs stack
    ///   space.
    public static func parse(_ bytes: UnsafeRawBufferPointer, maximumDepth: Int = 64) throws(JSONError) -> JSONValue {
        guard bytes.count > 0, let start = bytes.baseAddress else { throw JSONError(.unexpectedEnd, at: 0) }
        let base = start.assumingMemoryBound(to: UInt8.self)
        var reader = JSONReader(base: base, count: bytes.count, maximumDepth: min(max(maximumDepth, 0), 512))
        let value = try reader.value(depth: 0)
        reader.skipWhitespace()
        guard reader.index == reader.count else { throw JSONError(.trailingData, at: reader.index) }
        return value
    }

    /// Parses the readable bytes of `buffer`.
    public static func parse(_ buffer: ByteBuffer, maximumDepth: Int = 64) throws(JSONError) -> JSONValue {
        try buffer.withUnsafeReadableBytes { bytes in
            Result { () throws(JSONError) in try parse(bytes, maximumDepth: maximumDepth) }
        }
        .get()
    }

    /// Parses a view of a buffer.
    public static func parse(_ view: ByteBufferView, maximumDepth: Int = 64) throws(JSONError) -> JSONValue {
        try view.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in try parse(bytes, maximumDepth: maximumDepth) }
        }
        .get()
    }

    /// Parses the UTF-8 of `text`.
    public static func parse(_ text: String, maximumDepth: Int = 64) throws(JSONError) -> JSONValue {
        try parse(ByteBuffer(string: text), maximumDepth: maximumDepth)
    }

    /// Parses the body of a request.
    /// - Throws: ``Failure`` `invalid_request` with the offset of the syntax error.
    public static func body(_ buffer: ByteBuffer) throws(Failure) -> JSONValue {
        do throws(JSONError) {
            return try parse(buffer)
        } catch {
            throw error.failure
        }
    }

    @inline(__always)
    mutating func skipWhitespace() {
        while index < count {
            switch base[index] {
            case 0x20, 0x0a, 0x0d, 0x09: index += 1
            default: return
            }
        }
    }

    /// Returns the next byte after white space, without consuming it.
    @inline(__always)
    mutating func peek() throws(JSONError) -> UInt8 {
        skipWhitespace()
        guard index < count else { throw JSONError(.unexpectedEnd, at: count) }
        return base[index]
    }

    mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        switch try peek() {
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "{"): return try object(depth: depth + 1)
        case UInt8(ascii: "["): return try array(depth: depth + 1)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        case UInt8(ascii: "t"): return try literal("true", as: .bool(true))
        case UInt8(ascii: "f"): return try literal("false", as: .bool(false))
        case UInt8(ascii: "n"): return try literal("null", as: .null)
        default: throw JSONError(.unexpectedCharacter, at: index)
        }
    }

    private mutating func literal(_ word: StaticString, as value: JSONValue) throws(JSONError) -> JSONValue {
        let length = word.utf8CodeUnitCount
        for offset in 0..<length {
            guard index + offset < count else { throw JSONError(.unexpectedEnd, at: count) }
            guard base[index + offset] == word.utf8Start[offset] else { throw JSONError(.invalidLiteral, at: index) }
        }
        index += length
        return value
    }

    private mutating func array(depth: Int) throws(JSONError) -> JSONValue {
        guard depth <= maximumDepth else { throw JSONError(.tooDeep, at: index) }
        index += 1
        if try peek() == UInt8(ascii: "]") {
            index += 1
            return .array([])
        }
        var elements: [JSONValue] = []
        while true {
            elements.append(try value(depth: depth))
            switch try peek() {
            case UInt8(ascii: ","): index += 1
            case UInt8(ascii: "]"):
                index += 1
                return .array(elements)
            default: throw JSONError(.unexpectedCharacter, at: index)
            }
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONValue {
        guard depth <= maximumDepth else { throw JSONError(.tooDeep, at: index) }
        index += 1
        if try peek() == UInt8(ascii: "}") {
            index += 1
            return .object([])
        }
        var members: [JSONValue.Member] = []
        members.reserveCapacity(4)
        while true {
            guard try peek() == UInt8(ascii: "\"") else { throw JSONError(.unexpectedCharacter, at: index) }
            let name = try string()
            guard try peek() == UInt8(ascii: ":") else { throw JSONError(.unexpectedCharacter, at: index) }
            index += 1
            members.append(JSONValue.Member(name, value: try value(depth: depth)))
            switch try peek() {
            case UInt8(ascii: ","): index += 1
            case UInt8(ascii: "}"):
                index += 1
                return .object(members)
            default: throw JSONError(.unexpectedCharacter, at: index)
            }
        }
    }
}

/// A syntax error in JSON text, with its position. It never contains the text itself.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of errors.
    public enum Reason: String, Sendable {
        case unexpectedEnd = "it ends too early"
        case unexpectedCharacter = "a character that cannot stand here"
        case trailingData = "something follows the value"
        case invalidLiteral = "a word that is not true, false or null"
        case invalidNumber = "a malformed number"
        case numberOutOfRange = "a number that is too large"
        case invalidEscape = "a malformed escape sequence"
        case loneSurrogate = "half of a surrogate pair"
        case nulCharacter = "a NUL character in a string"
        case controlCharacter = "an unescaped control character in a string"
        case invalidUTF8 = "text that is not UTF-8"
        case tooDeep = "too many levels of nesting"
    }
    /// The number of bytes before the error.
    public let offset: Int
    /// The kind of the error.
    public let reason: Reason

    init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// The reason and the offset.
    public var description: String { "\(reason.rawValue) at byte \(offset)" }
    /// The failure that is sent to a client.
    public var failure: Failure { Failure(.invalidRequest, "The body is not valid JSON: \(description).") }
}
