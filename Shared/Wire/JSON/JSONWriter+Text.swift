// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

extension JSONWriter {
    /// `value` in quotes, escaped where JSON asks for it.
    mutating func writeQuoted(_ value: String) {
        let done: Void? = value.utf8.withContiguousStorageIfAvailable { writeQuoted($0) }
        if done == nil { Array(value.utf8).withUnsafeBufferPointer { writeQuoted($0) } }
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
    private static func needsEscape(_ byte: UInt8) -> Bool { byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") }

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
    private static func hexDigit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") &+ value : UInt8(ascii: "a") &- 10 &+ value }

    /// The decimal digits of `value`.
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

    /// A UUID in lower case, without quotes.
    mutating func uuid(_ uuid: UUID) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 36) { target in
            withUnsafeBytes(of: uuid.uuid) { bytes in
                var place = 0
                for index in 0..<16 {
                    if index == 4 || index == 6 || index == 8 || index == 10 {
                        target[place] = UInt8(ascii: "-")
                        place &+= 1
                    }
                    target[place] = JSONWriter.hexDigit(bytes[index] >> 4)
                    target[place &+ 1] = JSONWriter.hexDigit(bytes[index] & 15)
                    place &+= 2
                }
            }
            append(UnsafeBufferPointer(target))
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
        self.plain(plain)
        closeString()
    }

    /// Begins a string that is written piece by piece; `start` holds the opening quote.
    mutating func openString(_ start: [UInt8]) {
        separate()
        append(start)
    }
    mutating func closeString() {
        byte(UInt8(ascii: "\""))
        elementWritten()
    }
}
