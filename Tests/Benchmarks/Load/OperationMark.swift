// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore

/// The identity of an operation, as text of fixed length within its content:
/// `bench:RRRR.CCCCCC.SSSS.NNNNNNNNN.TTTTTTTTTTTTTTTTTTTT.`
struct OperationMark: Equatable, Sendable {
    /// The measurement. Deliveries of an earlier one are ignored.
    var run: Int
    /// The number of the conversation.
    var room: Int
    /// The number of the sender in the conversation.
    var sender: Int
    /// The number of the operation at its sender, from 0.
    var number: Int
    /// The time at which the operation was due: nanoseconds of the monotonic clock.
    var due: UInt64

    private static let start: StaticString = "bench:"
    private static let widths = (run: 4, room: 6, sender: 4, number: 9, due: 20)
    static let byteCount = start.utf8CodeUnitCount + 4 + 6 + 4 + 9 + 20 + 5

    /// A mark of zeros, for templates.
    static let placeholder = OperationMark(run: 0, room: 0, sender: 0, number: 0, due: 0).text

    var text: String {
        func field(_ value: UInt64, _ width: Int) -> String {
            let digits = String(value)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits + "."
        }
        let widths = Self.widths
        return "\(Self.start)" + field(UInt64(run), widths.run) + field(UInt64(room), widths.room)
            + field(UInt64(sender), widths.sender) + field(UInt64(number), widths.number) + field(due, widths.due)
    }

    /// Overwrites the digits of a mark.
    /// - Parameter buffer: The bytes of a mark, ``byteCount`` of them.
    func write(into buffer: UnsafeMutableRawBufferPointer) {
        var offset = Self.start.utf8CodeUnitCount
        func put(_ value: UInt64, _ width: Int) {
            var rest = value
            for place in stride(from: offset + width - 1, through: offset, by: -1) {
                buffer[place] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            }
            offset += width + 1
        }
        let widths = Self.widths
        put(UInt64(run), widths.run)
        put(UInt64(room), widths.room)
        put(UInt64(sender), widths.sender)
        put(UInt64(number), widths.number)
        put(due, widths.due)
    }

    /// Returns the offset of the first mark in a packet; nil if there is none.
    static func offset(in packet: UnsafeRawBufferPointer) -> Int? {
        guard let offset = packet.end(of: start).map({ $0 - start.utf8CodeUnitCount }),
            packet.count >= offset + byteCount
        else { return nil }
        return offset
    }

    /// Returns the first mark in a packet; nil if there is none.
    static func find(in packet: UnsafeRawBufferPointer) -> OperationMark? {
        guard var offset = offset(in: packet).map({ $0 + start.utf8CodeUnitCount }) else { return nil }
        func take(_ width: Int) -> UInt64 {
            let digits = packet[offset..<offset + width]
            offset += width + 1
            return digits.reduce(0) { $0 &* 10 &+ UInt64($1 &- UInt8(ascii: "0")) }
        }
        return OperationMark(
            run: Int(take(widths.run)), room: Int(take(widths.room)), sender: Int(take(widths.sender)),
            number: Int(take(widths.number)), due: take(widths.due))
    }
}

/// The bytes of a request whose mark differs for each operation.
struct RequestTemplate: Sendable {
    private let bytes: ByteBuffer
    /// The offset of the mark; nil: all operations have the same bytes.
    private let markOffset: Int?

    init(_ bytes: ByteBuffer) {
        self.bytes = bytes
        markOffset = bytes.withUnsafeReadableBytes { OperationMark.offset(in: $0) }
    }

    /// Returns the bytes of an operation.
    func request(_ mark: OperationMark) -> ByteBuffer {
        guard let markOffset else { return bytes }
        var copy = bytes
        copy.withUnsafeMutableReadableBytes { all in
            mark.write(
                into: UnsafeMutableRawBufferPointer(rebasing: all[markOffset..<markOffset + OperationMark.byteCount]))
        }
        return copy
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the offset behind the first occurrence of a text; nil if there is none.
    ///
    /// The search looks for the first letter that is no quotation mark, because JSON has many of these.
    /// - Parameter limit: The number of bytes to search.
    func end(of text: StaticString, from offset: Int = 0, within limit: Int = .max) -> Int? {
        let length = text.utf8CodeUnitCount
        let letters = UnsafeBufferPointer(start: text.utf8Start, count: length)
        let anchor = letters.firstIndex { $0 != UInt8(ascii: "\"") } ?? 0
        let end = limit < count - offset ? offset + limit : count
        guard let baseAddress, offset + length <= end else { return nil }
        var place = offset + anchor
        // The last place of the anchor at which the text still fits.
        let last = end - length + anchor
        while place <= last, let found = memchr(baseAddress + place, Int32(letters[anchor]), last - place + 1) {
            place = UnsafeRawPointer(found) - baseAddress
            let start = place - anchor
            if memcmp(baseAddress + start, text.utf8Start, length) == 0 { return start + length }
            place += 1
        }
        return nil
    }

    /// Returns the decimal number at an offset; nil if there is no digit.
    func number(at offset: Int) -> Int64? {
        var (place, value) = (offset, Int64(0))
        while place < count, case let digit = self[place], digit >= 48, digit <= 57 {
            value = value &* 10 &+ Int64(digit - 48)
            place += 1
        }
        return place > offset ? value : nil
    }
}
