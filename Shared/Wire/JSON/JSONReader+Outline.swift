// SPDX-License-Identifier: Apache-2.0
public import NIOCore

/// The names of the members that ``JSONReader/outline(_:keeping:maximumDepth:)`` builds, nested as in the objects.
public struct JSONOutline: Sendable {
    let members: [(name: String, content: JSONOutline?)]

    /// Creates an outline of an object.
    /// - Parameter members: the names. The outline is nil for a scalar.
    public init(_ members: [(String, JSONOutline?)]) { self.members = members.map { (name: $0.0, content: $0.1) } }
}

/// Validation of text without building its values. A value of a few bytes can occupy thirty times as many in memory.
extension JSONReader {
    /// Validates exactly one value like ``parse(_:maximumDepth:)``. Returns an upper estimate of the bytes that parsing
    /// it would allocate.
    public static func parsedBytes(of buffer: ByteBuffer, maximumDepth: Int = 64) throws(JSONError) -> Int {
        try outline(buffer, keeping: nil, maximumDepth: maximumDepth).parsedBytes
    }

    /// Validates exactly one value like ``parse(_:maximumDepth:)``, and builds only the members named by `outline`.
    /// Arrays, and objects not in the outline, are built empty. Of members with the same name, the last one is kept.
    /// - Returns: the value, and an upper estimate of the bytes that parsing the whole text would allocate.
    public static func outline(
        _ buffer: ByteBuffer, keeping outline: JSONOutline?, maximumDepth: Int = 64
    ) throws(JSONError) -> (value: JSONValue, parsedBytes: Int) {
        try buffer.withUnsafeReadableBytes { bytes in
            Result { () throws(JSONError) in try JSONReader.outline(bytes, keeping: outline, maximumDepth: maximumDepth)
            }
        }
        .get()
    }

    private static func outline(
        _ bytes: UnsafeRawBufferPointer, keeping outline: JSONOutline?, maximumDepth: Int
    ) throws(JSONError) -> (value: JSONValue, parsedBytes: Int) {
        guard bytes.count > 0, let start = bytes.baseAddress else { throw JSONError(.unexpectedEnd, at: 0) }
        var reader = JSONReader(
            base: start.assumingMemoryBound(to: UInt8.self), count: bytes.count,
            maximumDepth: min(max(maximumDepth, 0), 512))
        var size = ParsedSize()
        let value = try reader.outlined(outline, depth: 0, size: &size)
        reader.skipWhitespace()
        guard reader.index == reader.count else { throw JSONError(.trailingData, at: reader.index) }
        return (value, size.bytes)
    }

    private mutating func outlined(
        _ outline: JSONOutline?, depth: Int, size: inout ParsedSize
    ) throws(JSONError) -> JSONValue {
        switch try peek() {
        case UInt8(ascii: "{"):
            guard let outline else {
                try skipObject(depth: depth + 1, size: &size)
                return .object([])
            }
            return try outlinedObject(outline, depth: depth + 1, size: &size)
        case UInt8(ascii: "["):
            try skipArray(depth: depth + 1, size: &size)
            return .array([])
        default:
            let scalar = try value(depth: depth)
            if case .string(let text) = scalar { size.addString(text.utf8.count) }
            return scalar
        }
    }

    private mutating func outlinedObject(
        _ outline: JSONOutline, depth: Int, size: inout ParsedSize
    ) throws(JSONError) -> JSONValue {
        var kept: [JSONValue.Member] = []
        try eachMember(depth: depth, size: &size) { (reader, size) throws(JSONError) in
            let name = try reader.string()
            size.addString(name.utf8.count)
            try reader.colon()
            guard let member = outline.members.first(where: { $0.name == name }) else {
                return try reader.skip(depth: depth, size: &size)
            }
            let value = try reader.outlined(member.content, depth: depth, size: &size)
            if let place = kept.firstIndex(where: { $0.name == name }) {
                kept[place].value = value
            } else {
                kept.append(JSONValue.Member(name, value: value))
            }
        }
        return .object(kept)
    }

    // MARK: Skipping

    private mutating func skip(depth: Int, size: inout ParsedSize) throws(JSONError) {
        switch try peek() {
        case UInt8(ascii: "\""): try skipString(size: &size)
        case UInt8(ascii: "{"): try skipObject(depth: depth + 1, size: &size)
        case UInt8(ascii: "["): try skipArray(depth: depth + 1, size: &size)
        // Numbers and literals allocate nothing.
        default: _ = try value(depth: depth)
        }
    }

    private mutating func skipString(size: inout ParsedSize) throws(JSONError) {
        let start = index
        index += 1
        while index < count {
            let byte = base[index]
            if byte == UInt8(ascii: "\"") {
                size.addString(index - start - 1)
                index += 1
                return
            }
            if byte < 0x20 || byte >= 0x80 || byte == UInt8(ascii: "\\") { break }
            index += 1
        }
        // Strings with control characters, escapes or non-ASCII bytes are validated by building them.
        index = start
        size.addString(try string().utf8.count)
    }

    private mutating func skipArray(depth: Int, size: inout ParsedSize) throws(JSONError) {
        guard depth <= maximumDepth else { throw JSONError(.tooDeep, at: index) }
        index += 1
        if try peek() == UInt8(ascii: "]") {
            index += 1
            return
        }
        var elements = 0
        while true {
            try skip(depth: depth, size: &size)
            elements += 1
            switch try peek() {
            case UInt8(ascii: ","): index += 1
            case UInt8(ascii: "]"):
                index += 1
                return size.addArray(elements)
            default: throw JSONError(.unexpectedCharacter, at: index)
            }
        }
    }

    private mutating func skipObject(depth: Int, size: inout ParsedSize) throws(JSONError) {
        try eachMember(depth: depth, size: &size) { (reader, size) throws(JSONError) in
            try reader.skipString(size: &size)
            try reader.colon()
            try reader.skip(depth: depth, size: &size)
        }
    }

    private mutating func colon() throws(JSONError) {
        guard try peek() == UInt8(ascii: ":") else { throw JSONError(.unexpectedCharacter, at: index) }
        index += 1
    }

    /// Reads an object and calls `body` at the opening quote of each name.
    @inline(__always)
    private mutating func eachMember(
        depth: Int, size: inout ParsedSize, _ body: (inout JSONReader, inout ParsedSize) throws(JSONError) -> Void
    ) throws(JSONError) {
        guard depth <= maximumDepth else { throw JSONError(.tooDeep, at: index) }
        index += 1
        if try peek() == UInt8(ascii: "}") {
            index += 1
            return
        }
        var members = 0
        while true {
            guard try peek() == UInt8(ascii: "\"") else { throw JSONError(.unexpectedCharacter, at: index) }
            try body(&self, &size)
            members += 1
            switch try peek() {
            case UInt8(ascii: ","): index += 1
            case UInt8(ascii: "}"):
                index += 1
                return size.addObject(members)
            default: throw JSONError(.unexpectedCharacter, at: index)
            }
        }
    }
}

/// An estimate of the bytes that the values of a text would allocate.
private struct ParsedSize {
    /// The header of an array or string, and the allocator's overhead.
    private static let header = 48
    /// The maximum length of a string that is stored inline in its value.
    private static let inlineText = 15
    /// The number of members for which ``JSONReader`` reserves space.
    private static let reservedMembers = 4

    private(set) var bytes = 0

    mutating func addString(_ count: Int) { if count > Self.inlineText { bytes += Self.header + count } }

    /// Adds an array. A growing array can have space for twice its elements.
    mutating func addArray(_ count: Int) { bytes += Self.header + 2 * count * MemoryLayout<JSONValue>.stride }

    mutating func addObject(_ count: Int) {
        bytes += Self.header + max(2 * count, Self.reservedMembers) * MemoryLayout<JSONValue.Member>.stride
    }
}
