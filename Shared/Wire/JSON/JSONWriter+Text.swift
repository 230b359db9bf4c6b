// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

extension JSONWriter {
    /// Writes `value` in quotes and escapes it as JSON requires.
    mutating func writeQuoted(_ value: String) {
        var value = value
        value.withUTF8 { writeQuoted($0) }
    }

    private mutating func writeQuoted(_ text: UnsafeBufferPointer<UInt8>) {
        byte(UInt8(ascii: "\""))
        var start = 0
        for place in text.indices where JSONWriter.needsEscape(text[place]) {
            append(UnsafeBufferPointer(rebasing: text[start..<place]))
            escape(text[place])
            start = place + 1
        }
        append(start == 0 ? text : UnsafeBufferPointer(rebasing: text[start...]))
        byte(UInt8(ascii: "\""))
    }

    @inline(__always)
    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

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

    private mutating func escape(_ character: UInt8) {
        byte(UInt8(ascii: "\\"))
        if let short = JSONWriter.shortEscape(character) { return byte(short) }
        literal("u00")
        byte(JSONWriter.hexDigit(character >> 4))
        byte(JSONWriter.hexDigit(character & 15))
    }

    @inline(__always)
    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") &+ value : UInt8(ascii: "a") &- 10 &+ value
    }

    mutating func digits(_ value: Int64) {
        if value < 0 { byte(UInt8(ascii: "-")) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { target in
            var start = 20
            var rest = value.magnitude
            repeat {
                start -= 1
                target[start] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            append(UnsafeBufferPointer(rebasing: target[start...]))
        }
    }

    /// Writes a UUID in lower case, without quotes.
    mutating func uuid(_ uuid: UUID) {
        appendBytes(count: 36) { target in
            withUnsafeBytes(of: uuid.uuid) { bytes in
                @inline(__always)
                func digits(_ word: Int) -> UInt64 {
                    JSONWriter.hexDigits(bytes.loadUnaligned(fromByteOffset: word * 4, as: UInt32.self))
                }
                let dash = UInt8(ascii: "-")
                let (second, third) = (digits(1), digits(2))
                target.storeBytes(of: digits(0), as: UInt64.self)
                target.storeBytes(of: dash, toByteOffset: 8, as: UInt8.self)
                target.storeBytes(of: UInt32(truncatingIfNeeded: second), toByteOffset: 9, as: UInt32.self)
                target.storeBytes(of: dash, toByteOffset: 13, as: UInt8.self)
                target.storeBytes(of: UInt32(truncatingIfNeeded: second >> 32), toByteOffset: 14, as: UInt32.self)
                target.storeBytes(of: dash, toByteOffset: 18, as: UInt8.self)
                target.storeBytes(of: UInt32(truncatingIfNeeded: third), toByteOffset: 19, as: UInt32.self)
                target.storeBytes(of: dash, toByteOffset: 23, as: UInt8.self)
                target.storeBytes(of: UInt32(truncatingIfNeeded: third >> 32), toByteOffset: 24, as: UInt32.self)
                target.storeBytes(of: digits(3), toByteOffset: 28, as: UInt64.self)
            }
        }
    }

    /// Returns the eight hexadecimal digits of four bytes, both in memory order. It spreads the nibbles over a word and
    /// converts all of them at once.
    @inline(__always)
    private static func hexDigits(_ word: UInt32) -> UInt64 {
        var nibbles = UInt64(UInt32(bigEndian: word))
        nibbles = (nibbles << 16 | nibbles) & 0x0000_ffff_0000_ffff
        nibbles = (nibbles << 8 | nibbles) & 0x00ff_00ff_00ff_00ff
        nibbles = (nibbles << 4 | nibbles) & 0x0f0f_0f0f_0f0f_0f0f
        let letters = ((nibbles &+ 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101
        let text = nibbles &+ 0x3030_3030_3030_3030 &+ letters &* (UInt64(UInt8(ascii: "a")) - 10 - 0x30)
        return text.bigEndian
    }

    /// Writes a string that consists of `prefix` and a UUID. `prefix` contains the opening quote and is already
    /// escaped.
    mutating func string(prefix: [UInt8], uuid value: UUID) {
        openString(prefix)
        uuid(value)
        closeString()
    }
    /// Writes a string that consists of `prefix` and a UUID. `prefix` contains the opening quote.
    mutating func string(prefix: StaticString, uuid value: UUID) {
        separate()
        literal(prefix)
        uuid(value)
        closeString()
    }
    /// Writes a string that consists of `prefix` and text that needs no escaping. `prefix` contains the opening quote
    /// and is already escaped.
    mutating func string(prefix: [UInt8], plain: String) {
        openString(prefix)
        self.plain(plain)
        closeString()
    }

    /// Begins a string that is written in pieces. `start` contains the opening quote.
    mutating func openString(_ start: [UInt8]) {
        separate()
        append(start)
    }
    mutating func closeString() {
        byte(UInt8(ascii: "\""))
        elementWritten()
    }
}
