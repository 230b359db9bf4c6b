// SPDX-License-Identifier: Apache-2.0
import NIOCore
import StrataModel

@testable import FanOut
@testable import StrataWire

/// Decodes the output of the real ``Renderer``.
enum SentPackets {
    /// Returns the counts in packets for a reader with these values; nil if there are none.
    static func counts(in rendering: Rendering, _ values: ReaderValues) -> LogService.Counts? {
        var counts = LogService.Counts()
        for gap in rendering.tails.flatMap(\.gaps) {
            switch gap.slot {
            case .unread: counts.unread = values.unread
            case .total: counts.total = values.total
            case .ownStatus: break
            }
        }
        return counts == LogService.Counts() ? nil : counts
    }

    static func body(of tail: PacketTail, _ values: ReaderValues) -> JSONValue? {
        var frame = ByteBuffer()
        for piece in tail.frame(counter: 0, timestamp: TimestampText(Timestamp(0)), values: values) {
            frame.writeImmutableBuffer(piece)
        }
        frame.moveReaderIndex(forwardBy: 1)
        switch frame.readInteger(as: UInt8.self) {
        case 126: frame.moveReaderIndex(forwardBy: 2)
        case 127: frame.moveReaderIndex(forwardBy: 8)
        default: break
        }
        return (try? JSONReader.parse(frame))?["body"]
    }
}
