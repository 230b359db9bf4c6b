// SPDX-License-Identifier: Apache-2.0
public import NIOCore

/// A forward-only JSON writer with its own memory. It inserts commas. The caller must alternate keys and values, and
/// balance brackets.
///
/// `ServiceKit` has its own small writer for log lines, because services without clients do not link this module.
///
/// The writer cannot be copied. Its memory therefore has one owner, and an append is a comparison and a store.
/// Appending a message to a `ByteBuffer` of another module took five times as long.
public struct JSONWriter: ~Copyable {
    private var start: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    /// The number of bytes written.
    public private(set) var count = 0
    /// True if an element precedes the next one in the innermost array or object.
    private var needsComma = false

    /// Creates a writer with space for `capacity` bytes.
    public init(capacity: Int = 512) {
        self.capacity = max(64, capacity)
        start = .allocate(capacity: self.capacity)
    }

    deinit { start.deallocate() }

    /// A copy of the written bytes.
    public var buffer: ByteBuffer { ByteBuffer(bytes: UnsafeBufferPointer(start: start, count: count)) }
    /// A copy of the written bytes.
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

    /// Writes the name of the member whose value is written next. It must not need escaping.
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
    /// Writes the name of the member whose value is written next, and escapes it.
    public mutating func key(escaping name: String) {
        string(name)
        byte(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a string and escapes it.
    public mutating func string(_ value: String) {
        separate()
        needsComma = true
        writeQuoted(value)
    }
    /// Writes a string, or null.
    public mutating func string(_ value: String?) {
        if let value { string(value) } else { null() }
    }
    /// Writes a constant string that needs no escaping.
    public mutating func string(constant value: StaticString) {
        separate()
        needsComma = true
        byte(UInt8(ascii: "\""))
        literal(value)
        byte(UInt8(ascii: "\""))
    }
    /// Writes an integer.
    public mutating func int(_ value: Int64) {
        separate()
        needsComma = true
        digits(value)
    }
    /// Writes an integer.
    public mutating func int(_ value: Int) { int(Int64(value)) }
    /// Writes a number. Infinities and NaN, which JSON does not support, become null.
    public mutating func double(_ value: Double) {
        guard value.isFinite else { return null() }
        separate()
        needsComma = true
        plain(value.description)
    }
    /// Writes true or false.
    public mutating func bool(_ value: Bool) {
        separate()
        needsComma = true
        literal(value ? "true" : "false")
    }
    /// Writes null.
    public mutating func null() {
        separate()
        needsComma = true
        literal("null")
    }
    /// Writes JSON text unchanged.
    public mutating func raw(_ json: String) {
        separate()
        needsComma = true
        plain(json)
    }
    /// Writes JSON text unchanged.
    public mutating func raw(_ json: ByteBuffer) {
        separate()
        needsComma = true
        json.withUnsafeReadableBytes { append($0.assumingMemoryBound(to: UInt8.self)) }
    }
    /// Writes JSON text unchanged.
    public mutating func raw(constant json: StaticString) {
        separate()
        needsComma = true
        literal(json)
    }
    /// Writes any value. Members with the same name are all written.
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

    /// Ends an element that was written in pieces.
    mutating func elementWritten() { needsComma = true }

    /// Writes a comma if the next element needs one.
    @inline(__always)
    mutating func separate() { if needsComma { byte(UInt8(ascii: ",")) } }
    @inline(__always)
    mutating func byte(_ byte: UInt8) {
        reserve(1).pointee = byte
        count &+= 1
    }
    /// Writes text unchanged, without a comma.
    @inline(__always)
    mutating func literal(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
    /// Writes text unchanged, without a comma.
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
    mutating func dropLast() { count = max(0, count - 1) }
    /// Removes and returns the bytes after `end`, which must be the end of an element.
    mutating func cut(after end: Int) -> [UInt8] {
        let rest = Array(UnsafeBufferPointer(start: start + end, count: max(0, count - end)))
        count = min(count, end)
        needsComma = true
        return rest
    }

    /// Returns a pointer to the next byte, with space for `room` bytes. The caller must increase `count` by the number
    /// of bytes it writes.
    @inline(__always)
    private mutating func reserve(_ room: Int) -> UnsafeMutablePointer<UInt8> {
        if capacity &- count < room { grow(room) }
        return start + count
    }

    /// Appends exactly `length` bytes, which `body` writes.
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
