// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore

extension JSONWriter {
    /// `value` in quotes, escaped where JSON asks for it.
    mutating func writeQuoted(_ value: String) {
        let done: Void? = value.utf8.withContiguousStorageIfAvailable { writeQuoted(UnsafeRawBufferPointer($0)) }
        if done == nil { Array(value.utf8).withUnsafeBytes { writeQuoted($0) } }
    }

    private mutating func writeQuoted(_ bytes: UnsafeRawBufferPointer) {
        var extra = 0
        for byte in bytes where JSONWriter.needsEscape(byte) { extra &+= JSONWriter.escapedLength(byte) &- 1 }
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: bytes.count + extra + 2) { target in
            var cursor = Cursor(target)
            cursor.put(UInt8(ascii: "\""))
            if extra == 0 { cursor.put(bytes) } else { JSONWriter.escape(bytes, into: &cursor) }
            cursor.put(UInt8(ascii: "\""))
            return cursor.count
        }
    }

    @inline(__always)
    private static func needsEscape(_ byte: UInt8) -> Bool { byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") }

    private static func escapedLength(_ byte: UInt8) -> Int { shortEscape(byte) == nil ? 6 : 2 }

    private static func shortEscape(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): byte
        case 0x0a: UInt8(ascii: "n")
        case 0x0d: UInt8(ascii: "r")
        case 0x09: UInt8(ascii: "t")
        case 0x08: UInt8(ascii: "b")
        case 0x0c: UInt8(ascii: "f")
        default: nil
        }
    }

    private static func escape(_ bytes: UnsafeRawBufferPointer, into cursor: inout Cursor) {
        for byte in bytes {
            guard needsEscape(byte) else {
                cursor.put(byte)
                continue
            }
            cursor.put(UInt8(ascii: "\\"))
            if let short = shortEscape(byte) {
                cursor.put(short)
            } else {
                cursor.put(UInt8(ascii: "u"))
                cursor.put(UInt8(ascii: "0"))
                cursor.put(UInt8(ascii: "0"))
                cursor.put(hexDigit(byte >> 4))
                cursor.put(hexDigit(byte & 15))
            }
        }
    }

    @inline(__always)
    private static func hexDigit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") &+ value : UInt8(ascii: "a") &- 10 &+ value }

    /// The decimal digits of `value`.
    mutating func digits(_ value: Int64) {
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: 20) { target in
            var cursor = Cursor(target)
            if value < 0 { cursor.put(UInt8(ascii: "-")) }
            var rest = value.magnitude
            var divisor: UInt64 = 1
            while rest / divisor >= 10 { divisor &*= 10 }
            while divisor > 0 {
                cursor.put(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest / divisor))
                rest %= divisor
                divisor /= 10
            }
            return cursor.count
        }
    }

    /// A UUID in lower case, without quotes.
    mutating func uuid(_ uuid: UUID) {
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: 36) { target in
            var cursor = Cursor(target)
            withUnsafeBytes(of: uuid.uuid) { bytes in
                for index in 0..<16 {
                    if index == 4 || index == 6 || index == 8 || index == 10 { cursor.put(UInt8(ascii: "-")) }
                    cursor.put(JSONWriter.hexDigit(bytes[index] >> 4))
                    cursor.put(JSONWriter.hexDigit(bytes[index] & 15))
                }
            }
            return cursor.count
        }
    }

    /// A string made of `prefix`, which holds the opening quote and is escaped already, and a UUID.
    mutating func string(prefix: [UInt8], uuid value: UUID) {
        openString(prefix)
        uuid(value)
        closeString()
    }
    /// A string made of `prefix`, which holds the opening quote, and a UUID.
    mutating func string(prefix: StaticString, uuid value: UUID) {
        separate()
        literal(prefix)
        uuid(value)
        closeString()
    }
    /// A string made of `prefix`, which holds the opening quote and is escaped already, and text that needs no escaping.
    mutating func string(prefix: [UInt8], plain: String) {
        openString(prefix)
        buffer.writeString(plain)
        closeString()
    }

    /// Begins a string that is written piece by piece; `start` holds the opening quote.
    mutating func openString(_ start: [UInt8]) {
        separate()
        buffer.writeBytes(start)
    }
    mutating func closeString() {
        byte(UInt8(ascii: "\""))
        elementWritten()
    }
}
