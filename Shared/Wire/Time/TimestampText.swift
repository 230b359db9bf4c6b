// SPDX-License-Identifier: Apache-2.0
public import NIOCore
public import StrataModel

/// The 24 characters of a time on the wire, stored inline, so that many packets of one tick can share it without
/// allocation.
///
/// Microseconds are truncated, never rounded up. A client that replays from a shown time thus never starts too late.
public struct TimestampText: Hashable, Sendable {
    /// The number of bytes of a time on the wire.
    public static let byteCount = 24
    private var words: (UInt64, UInt64, UInt64) = (0, 0, 0)

    /// Creates the text of a time. Times before the year 0 or after 9999 are clamped.
    public init(_ timestamp: Timestamp) {
        let clamped = min(max(timestamp.microseconds, -62_167_219_200_000_000), 253_402_300_799_999_999)
        let milliseconds = clamped >= 0 ? clamped / 1000 : (clamped - 999) / 1000
        let days = milliseconds >= 0 ? milliseconds / 86_400_000 : (milliseconds - 86_399_999) / 86_400_000
        let inDay = milliseconds - days * 86_400_000
        let (year, month, day) = ISO8601.date(days: days)
        withUnsafeMutableBytes(of: &words) { target in
            TimestampText.putDigits(of: year, width: 4, at: 0, in: target)
            target[4] = UInt8(ascii: "-")
            TimestampText.putDigits(of: month, width: 2, at: 5, in: target)
            target[7] = UInt8(ascii: "-")
            TimestampText.putDigits(of: day, width: 2, at: 8, in: target)
            target[10] = UInt8(ascii: "T")
            TimestampText.putDigits(of: inDay / 3_600_000, width: 2, at: 11, in: target)
            target[13] = UInt8(ascii: ":")
            TimestampText.putDigits(of: inDay / 60_000 % 60, width: 2, at: 14, in: target)
            target[16] = UInt8(ascii: ":")
            TimestampText.putDigits(of: inDay / 1000 % 60, width: 2, at: 17, in: target)
            target[19] = UInt8(ascii: ".")
            TimestampText.putDigits(of: inDay % 1000, width: 3, at: 20, in: target)
            target[23] = UInt8(ascii: "Z")
        }
    }

    @inline(__always)
    private static func putDigits(of value: Int64, width: Int, at offset: Int, in target: UnsafeMutableRawBufferPointer)
    {
        var rest = value
        for place in stride(from: offset + width - 1, through: offset, by: -1) {
            target[place] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }

    /// Appends the 24 characters.
    public func write(into buffer: inout ByteBuffer) {
        _ = withUnsafeBytes(of: words) { buffer.writeBytes($0) }
    }

    func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) { withUnsafeBytes(of: words) { body($0) } }

    /// Returns true if both texts are equal.
    public static func == (a: TimestampText, b: TimestampText) -> Bool { a.words == b.words }
    /// Hashes the characters.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
        hasher.combine(words.2)
    }
}

extension JSONWriter {
    /// Writes a time in the wire's format.
    public mutating func timestamp(_ value: Timestamp) {
        separate()
        byte(UInt8(ascii: "\""))
        TimestampText(value).withBytes { append($0.assumingMemoryBound(to: UInt8.self)) }
        closeString()
    }
    /// Writes a time, or null.
    public mutating func timestamp(_ value: Timestamp?) {
        if let value { timestamp(value) } else { null() }
    }
}

extension ISO8601 {
    /// The text of a time on the wire.
    public static func string(_ timestamp: Timestamp) -> String {
        var buffer = ByteBuffer()
        TimestampText(timestamp).write(into: &buffer)
        return String(buffer: buffer)
    }
}
