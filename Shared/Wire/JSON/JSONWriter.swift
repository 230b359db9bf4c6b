// SPDX-License-Identifier: Apache-2.0
public import NIOCore

/// Writes JSON into memory of its own, forwards only. It sets the commas; that keys and values alternate and brackets match is up to the caller.
///
/// `ServiceKit` has a small writer of its own for log lines: services without clients do not link this module.
///
/// It cannot be copied, so that its memory has one owner and an append is a comparison and a store: writing a message through the appends of a
/// `ByteBuffer` from another module took five times as long.
public struct JSONWriter: ~Copyable {
    private var start: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    /// Bytes written so far.
    public private(set) var count = 0
    /// Whether something stands before the next element of the innermost array or object.
    private var needsComma = false

    /// Starts with room for `capacity` bytes.
    public init(capacity: Int = 512) {
        self.capacity = max(64, capacity)
        start = .allocate(capacity: self.capacity)
    }

    deinit { start.deallocate() }

    /// What was written so far, copied.
    public var buffer: ByteBuffer { ByteBuffer(bytes: UnsafeBufferPointer(start: start, count: count)) }
    /// What was written so far, copied.
    var bytes: [UInt8] { Array(UnsafeBufferPointer(start: start, count: count)) }

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
        let length = name.utf8CodeUnitCount
        let target = reserve(length + 4)
        var place = 0
        if needsComma {
            target[0] = UInt8(ascii: ",")
            place = 1
        }
        target[place] = UInt8(ascii: "\"")
        (target + place + 1).update(from: name.utf8Start, count: length)
        place += length + 1
        target[place] = UInt8(ascii: "\"")
        target[place + 1] = UInt8(ascii: ":")
        count += place + 2
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
        json.withUnsafeReadableBytes { append($0.assumingMemoryBound(to: UInt8.self)) }
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
    mutating func byte(_ byte: UInt8) {
        reserve(1).pointee = byte
        count &+= 1
    }
    /// Text as it is, outside of all rules.
    @inline(__always)
    mutating func literal(_ text: StaticString) { append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)) }
    /// The same for text that is no constant.
    @inline(__always)
    mutating func plain(_ text: String) {
        var text = text
        text.withUTF8 { append($0) }
    }
    @inline(__always)
    mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
        guard let source = text.baseAddress else { return }
        reserve(text.count).update(from: source, count: text.count)
        count &+= text.count
    }
    mutating func append(_ text: [UInt8]) { text.withUnsafeBufferPointer { append($0) } }
    /// Takes back the last byte.
    mutating func dropLast() { count = max(0, count - 1) }
    /// Takes back all that was written after `end`, which must be the end of an element.
    mutating func cut(after end: Int) -> [UInt8] {
        let rest = Array(UnsafeBufferPointer(start: start + end, count: max(0, count - end)))
        count = min(count, end)
        needsComma = true
        return rest
    }

    /// The place of the next byte, with room for `room` of them. The caller that writes there advances the count by what it wrote.
    @inline(__always)
    private mutating func reserve(_ room: Int) -> UnsafeMutablePointer<UInt8> {
        if capacity &- count < room { grow(room) }
        return start + count
    }

    /// The same, for a number of bytes known beforehand.
    @inline(__always)
    mutating func appendBytes(count length: Int, _ body: (UnsafeMutableRawPointer) -> Void) {
        body(UnsafeMutableRawPointer(reserve(length)))
        count &+= length
    }

    @inline(never)
    private mutating func grow(_ room: Int) {
        let larger = max(capacity * 2, count + room)
        let target = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        target.update(from: start, count: count)
        start.deallocate()
        start = target
        capacity = larger
    }
}
