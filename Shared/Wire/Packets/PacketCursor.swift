// SPDX-License-Identifier: Apache-2.0
public import NIOCore

/// A cursor that writes into memory of sufficient, precomputed size.
///
/// Each socket's copy of a packet is written with it. Twenty appends to a `ByteBuffer`, each with a check of uniqueness
/// and capacity, cost more than copying the bytes.
struct PacketCursor {
    private let target: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init(_ target: UnsafeMutableRawBufferPointer) { self.target = target }

    @inline(__always)
    mutating func putByte(_ byte: UInt8) {
        target[count] = byte
        count &+= 1
    }

    @inline(__always)
    mutating func putBytes(_ bytes: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: target[count...]).copyMemory(from: bytes)
        count &+= bytes.count
    }

    @inline(__always)
    mutating func putConstant(_ text: StaticString) {
        putBytes(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func putText(_ text: String) {
        let done: Void? = text.utf8.withContiguousStorageIfAvailable { putBytes(UnsafeRawBufferPointer($0)) }
        if done == nil { for byte in text.utf8 { putByte(byte) } }
    }

    mutating func putDecimal(_ value: Int64) {
        if value < 0 { putByte(UInt8(ascii: "-")) }
        let digits = decimalDigits(value) - (value < 0 ? 1 : 0)
        var rest = value.magnitude
        for place in stride(from: count + digits - 1, through: count, by: -1) {
            target[place] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        count &+= digits
    }

    /// Writes the header of an unmasked, final text frame (RFC 6455 §5.2).
    mutating func putFrameHeader(payloadLength length: Int) {
        putByte(0x81)
        if length < 126 {
            putByte(UInt8(length))
        } else if length < 65_536 {
            putByte(126)
            for shift in stride(from: 8, through: 0, by: -8) { putByte(UInt8(truncatingIfNeeded: length >> shift)) }
        } else {
            putByte(127)
            for shift in stride(from: 56, through: 0, by: -8) { putByte(UInt8(truncatingIfNeeded: length >> shift)) }
        }
    }

    static let frameHeaderBytes = 10
}

/// Returns the number of characters of `value` in decimal notation.
func decimalDigits(_ value: Int64) -> Int {
    var count = value < 0 ? 2 : 1
    var rest = value.magnitude / 10
    while rest > 0 {
        count += 1
        rest /= 10
    }
    return count
}

extension ByteBuffer {
    /// Appends packets, each in its own WebSocket text frame.
    /// - Parameters:
    ///   - counter: the counter of the first packet. It increases by one for each further packet.
    ///   - timestamp: the time of all packets.
    public mutating func writePackets(
        _ tails: [PacketTail], counter: Int64, timestamp: TimestampText, values: ReaderValues
    ) {
        let room = tails.reduce(0) {
            $0 + PacketCursor.frameHeaderBytes + PacketHead.maximumBytes + $1.byteCount(for: values)
        }
        writeWithUnsafeMutableBytes(minimumWritableBytes: room) { target in
            var cursor = PacketCursor(target)
            for (index, tail) in tails.enumerated() {
                let head = PacketHead(kind: tail.kind, counter: counter + Int64(index), timestamp: timestamp)
                cursor.putFrameHeader(payloadLength: head.byteCount + tail.byteCount(for: values))
                head.writeHead(into: &cursor)
                tail.writeTail(filledWith: values, into: &cursor)
            }
            return cursor.count
        }
    }
}
