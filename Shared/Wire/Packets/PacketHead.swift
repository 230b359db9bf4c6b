// SPDX-License-Identifier: Apache-2.0
public import NIOCore

/// The `type` of a packet from the server (spec 12.2).
public enum PacketKind: Hashable, Sendable {
    case change, operation, signal, response

    /// What stands before the counter.
    fileprivate var start: StaticString {
        switch self {
        case .change: "{\"type\":\"change\",\"counter\":"
        case .operation: "{\"type\":\"operation\",\"counter\":"
        case .signal: "{\"type\":\"signal\",\"counter\":"
        case .response: "{\"type\":\"response\",\"counter\":"
        }
    }
}

/// The part of a packet that every socket has for itself: its counter, and a time. Ends after `"body":`, where a ``PacketTail`` goes on.
public struct PacketHead: Sendable {
    /// What the packet is.
    public var kind: PacketKind
    /// 0 for the first packet of a connection, one more for each after it.
    public var counter: Int64
    /// The time the packet is stamped with.
    public var timestamp: TimestampText
    /// A head of these values.
    public init(kind: PacketKind, counter: Int64, timestamp: TimestampText) {
        self.kind = kind
        self.counter = counter
        self.timestamp = timestamp
    }

    private static let beforeTime: StaticString = ",\"timestamp\":\""
    private static let afterTime: StaticString = "\",\"body\":"

    /// Bytes that ``write(into:)`` appends.
    public var byteCount: Int {
        kind.start.utf8CodeUnitCount + decimalDigits(counter) + PacketHead.beforeTime.utf8CodeUnitCount + TimestampText.byteCount
            + PacketHead.afterTime.utf8CodeUnitCount
    }

    /// Appends the head.
    public func write(into buffer: inout ByteBuffer) {
        buffer.writeStaticString(kind.start)
        buffer.writeDecimal(counter)
        buffer.writeStaticString(PacketHead.beforeTime)
        timestamp.write(into: &buffer)
        buffer.writeStaticString(PacketHead.afterTime)
    }
}

/// How many characters `value` has when written out.
func decimalDigits(_ value: Int64) -> Int {
    var count = value < 0 ? 2 : 1
    var rest = value.magnitude / 10
    while rest > 0 {
        count += 1
        rest /= 10
    }
    return count
}
