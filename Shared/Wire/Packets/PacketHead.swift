// SPDX-License-Identifier: Apache-2.0

/// The `type` of a packet from the server (docs/conformance.md §12.2).
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
struct PacketHead: Sendable {
    var kind: PacketKind
    /// 0 for the first packet of a connection, one more for each after it.
    var counter: Int64
    /// The time the packet is stamped with.
    var timestamp: TimestampText

    private static let beforeTime: StaticString = ",\"timestamp\":\""
    private static let afterTime: StaticString = "\",\"body\":"

    /// The longest head there can be.
    static let maximumBytes = 32 + 20 + beforeTime.utf8CodeUnitCount + TimestampText.byteCount + afterTime.utf8CodeUnitCount

    /// Bytes that ``writeHead(into:)`` puts.
    var byteCount: Int {
        kind.start.utf8CodeUnitCount + decimalDigits(counter) + PacketHead.beforeTime.utf8CodeUnitCount + TimestampText.byteCount
            + PacketHead.afterTime.utf8CodeUnitCount
    }

    func writeHead(into cursor: inout PacketCursor) {
        cursor.putConstant(kind.start)
        cursor.putDecimal(counter)
        cursor.putConstant(PacketHead.beforeTime)
        timestamp.withBytes { cursor.putBytes($0) }
        cursor.putConstant(PacketHead.afterTime)
    }
}
