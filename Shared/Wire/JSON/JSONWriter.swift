// SPDX-License-Identifier: Apache-2.0
public import NIOCore

/// Writes JSON into a buffer, forwards only. It sets the commas; that keys and values alternate and brackets match is up to the caller.
public struct JSONWriter: Sendable {
    /// What was written so far.
    public var buffer: ByteBuffer
    /// Whether something stands before the next element of the innermost array or object.
    private var needsComma = false

    /// Appends to `buffer`.
    public init(buffer: ByteBuffer) { self.buffer = buffer }
    /// Starts with an empty buffer that has room for `capacity` bytes.
    public init(capacity: Int = 512) {
        buffer = ByteBuffer()
        buffer.reserveCapacity(capacity)
    }

    /// Begins an object.
    public mutating func beginObject() {
        separate()
        needsComma = false
        byte(UInt8(ascii: "{"))
    }
    /// Ends the innermost object.
    public mutating func endObject() {
        byte(UInt8(ascii: "}"))
        needsComma = true
    }
    /// Begins an array.
    public mutating func beginArray() {
        separate()
        needsComma = false
        byte(UInt8(ascii: "["))
    }
    /// Ends the innermost array.
    public mutating func endArray() {
        byte(UInt8(ascii: "]"))
        needsComma = true
    }

    /// The name of the member whose value comes next; it must not need escaping.
    public mutating func key(_ name: StaticString) {
        let comma = needsComma
        let count = name.utf8CodeUnitCount
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count + 4) { target in
            var cursor = Cursor(target)
            if comma { cursor.put(UInt8(ascii: ",")) }
            cursor.put(UInt8(ascii: "\""))
            cursor.put(UnsafeRawBufferPointer(start: name.utf8Start, count: count))
            cursor.put(UInt8(ascii: "\""))
            cursor.put(UInt8(ascii: ":"))
            return cursor.count
        }
        needsComma = false
    }
    /// The name of the member whose value comes next, escaped where needed.
    public mutating func key(escaping name: String) {
        string(name)
        byte(UInt8(ascii: ":"))
        needsComma = false
    }

    /// A string, escaped where needed.
    public mutating func string(_ value: String) {
        separate()
        needsComma = true
        writeQuoted(value)
    }
    /// A string, or null.
    public mutating func string(_ value: String?) {
        if let value { string(value) } else { null() }
    }
    /// A constant that needs no escaping.
    public mutating func string(constant value: StaticString) {
        separate()
        needsComma = true
        byte(UInt8(ascii: "\""))
        literal(value)
        byte(UInt8(ascii: "\""))
    }
    /// An integer.
    public mutating func int(_ value: Int64) {
        separate()
        needsComma = true
        digits(value)
    }
    /// An integer.
    public mutating func int(_ value: Int) { int(Int64(value)) }
    /// JSON has no infinities; what is not finite becomes null.
    public mutating func double(_ value: Double) {
        guard value.isFinite else { return null() }
        separate()
        needsComma = true
        buffer.writeString(value.description)
    }
    /// True or false.
    public mutating func bool(_ value: Bool) {
        separate()
        needsComma = true
        literal(value ? "true" : "false")
    }
    /// Null.
    public mutating func null() {
        separate()
        needsComma = true
        literal("null")
    }
    /// A value that is JSON already.
    public mutating func raw(_ json: String) {
        separate()
        needsComma = true
        buffer.writeString(json)
    }
    /// A value that is JSON already.
    public mutating func raw(_ json: ByteBuffer) {
        separate()
        needsComma = true
        buffer.writeImmutableBuffer(json)
    }
    /// A value that is JSON already.
    public mutating func raw(constant json: StaticString) {
        separate()
        needsComma = true
        literal(json)
    }
    /// Any value; members with the same name are written as they are.
    public mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let value): bool(value)
        case .integer(let value): int(value)
        case .number(let value): double(value)
        case .string(let value): string(value)
        case .array(let elements):
            beginArray()
            for element in elements { self.value(element) }
            endArray()
        case .object(let members):
            beginObject()
            for member in members {
                key(escaping: member.name)
                self.value(member.value)
            }
            endObject()
        }
    }

    /// Ends an element that was written piece by piece.
    mutating func elementWritten() { needsComma = true }

    /// A comma if one is due.
    @inline(__always)
    mutating func separate() { if needsComma { byte(UInt8(ascii: ",")) } }
    @inline(__always)
    mutating func byte(_ byte: UInt8) { buffer.writeInteger(byte) }
    /// Text as it is, outside of all rules.
    @inline(__always)
    mutating func literal(_ text: StaticString) { buffer.writeStaticString(text) }
}

extension JSONWriter {
    /// A place in memory that has been checked to be large enough.
    struct Cursor {
        private let base: UnsafeMutableRawPointer?
        private(set) var count = 0
        @inline(__always)
        init(_ target: UnsafeMutableRawBufferPointer) { base = target.baseAddress }
        @inline(__always)
        mutating func put(_ byte: UInt8) {
            base?.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
            count &+= 1
        }
        @inline(__always)
        mutating func put(_ bytes: UnsafeRawBufferPointer) {
            guard let base, let source = bytes.baseAddress else { return }
            (base + count).copyMemory(from: source, byteCount: bytes.count)
            count &+= bytes.count
        }
    }
}
