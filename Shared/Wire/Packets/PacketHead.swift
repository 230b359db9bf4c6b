// SPDX-License-Identifier: Apache-2.0

/// The `type` of a packet from the server (docs/conformance.md §12.2).
public enum PacketKind: Hashable, Sendable {
    case change, operation, signal, response

    /// The text before the counter.
    fileprivate var start: StaticString {
        switch self {
        case .change: "{\"type\":\"change\",\"counter\":"
        case .operation: "{\"type\":\"operation\",\"counter\":"
        case .signal: "{\"type\":\"signal\",\"counter\":"
        case .response: "{\"type\":\"response\",\"counter\":"
        }
    }
}

/// The part of a packet that differs for each socket: its counter and time. It ends after `"body":`, where a
/// ``PacketTail`` follows.
struct PacketHead: Sendable {
    var kind: PacketKind
    /// The number of the packet on its connection, from 0.
    var counter: Int64
    var timestamp: TimestampText

    private static let beforeTime: StaticString = ",\"timestamp\":\""
    private static let afterTime: StaticString = "\",\"body\":"

    static let maximumBytes =
        32 + 20 + beforeTime.utf8CodeUnitCount + TimestampText.byteCount + afterTime.utf8CodeUnitCount

    var byteCount: Int {
        kind.start.utf8CodeUnitCount + decimalDigits(counter) + PacketHead.beforeTime.utf8CodeUnitCount
            + TimestampText.byteCount
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
