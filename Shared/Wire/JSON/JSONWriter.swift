// SPDX-License-Identifier: Apache-2.0
public import NIOCore

/// Writes JSON into a buffer, forwards only. It sets the commas; that keys and values alternate and brackets match is up to the caller.
public struct JSONWriter: Sendable {
    /// What was written so far. An array: its appends are inlined here, those of a `ByteBuffer` from another module are not, which made
    /// writing a message several times slower.
    private(set) var bytes: [UInt8] = []
    /// Whether something stands before the next element of the innermost array or object.
    private var needsComma = false

    /// Starts with room for `capacity` bytes.
    public init(capacity: Int = 512) { bytes.reserveCapacity(capacity) }

    /// What was written so far, copied.
    public var buffer: ByteBuffer { ByteBuffer(bytes: bytes) }
    /// Bytes written so far.
    public var count: Int { bytes.count }

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
        separate()
        byte(UInt8(ascii: "\""))
        literal(name)
        literal("\":")
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
        plain(value.description)
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
        plain(json)
    }
    /// A value that is JSON already.
    public mutating func raw(_ json: ByteBuffer) {
        separate()
        needsComma = true
        json.withUnsafeReadableBytes { bytes.append(contentsOf: $0) }
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
    mutating func byte(_ byte: UInt8) { bytes.append(byte) }
    /// Text as it is, outside of all rules.
    @inline(__always)
    mutating func literal(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
    /// The same for text that is no constant.
    @inline(__always)
    mutating func plain(_ text: String) {
        let done: Void? = text.utf8.withContiguousStorageIfAvailable { bytes.append(contentsOf: $0) }
        if done == nil { bytes.append(contentsOf: text.utf8) }
    }
    /// The same for bytes.
    @inline(__always)
    mutating func append(_ text: some Sequence<UInt8>) { bytes.append(contentsOf: text) }
    /// Takes back the last byte.
    mutating func dropLast() { if !bytes.isEmpty { bytes.removeLast() } }
}
