// SPDX-License-Identifier: Apache-2.0
public import NIOCore
public import StrataModel

/// The values that fill the gaps of a ``PacketTail`` for one socket.
public struct ReaderValues: Hashable, Sendable {
    /// The user of the socket.
    public var reader: UserID
    /// The `unread_message_count` after the change.
    public var unread: Int64
    /// The `total_message_count` after the change.
    public var total: Int64
    /// Creates the values for one socket.
    public init(reader: UserID, unread: Int64, total: Int64) {
        self.reader = reader
        self.unread = unread
        self.total = total
    }
}

/// The part of a packet after its ``PacketHead``, rendered once for all sockets of one ``Variant``, with gaps for
/// values that differ between them.
public struct PacketTail: Hashable, Sendable {
    enum Slot: Hashable, Sendable {
        case unread
        case total
        /// The reader's own member of `recipient_status`. It follows another member.
        case ownStatus(RecipientStatus)
    }
    struct Gap: Hashable, Sendable {
        /// The number of bytes of text before the gap.
        var offset: Int
        var slot: Slot
    }

    /// The kind of the packet, which its head contains.
    public let kind: PacketKind
    /// The text without the values for the gaps. If there are no gaps, it is complete.
    public let text: ByteBuffer
    let gaps: [Gap]

    init(kind: PacketKind, text: ByteBuffer, gaps: [Gap]) {
        self.kind = kind
        self.text = text
        self.gaps = gaps
    }

    /// True if all sockets of the variant receive the same bytes.
    public var isShared: Bool { gaps.isEmpty }
    /// True if the packet contains ``ReaderValues/unread`` or ``ReaderValues/total``.
    public var needsCounts: Bool {
        gaps.contains { gap in
            switch gap.slot {
            case .unread, .total: true
            case .ownStatus: false
            }
        }
    }

    func byteCount(for values: ReaderValues) -> Int {
        gaps.reduce(text.readableBytes) { $0 + $1.slot.byteCount(for: values) }
    }

    func writeTail(filledWith values: ReaderValues, into cursor: inout PacketCursor) {
        text.withUnsafeReadableBytes { bytes in
            var written = 0
            for gap in gaps {
                cursor.putBytes(UnsafeRawBufferPointer(rebasing: bytes[written..<gap.offset]))
                written = gap.offset
                gap.slot.writeValue(from: values, into: &cursor)
            }
            cursor.putBytes(UnsafeRawBufferPointer(rebasing: bytes[written...]))
        }
    }

    /// Returns the packet without a frame, as JSON.
    public func packet(counter: Int64, timestamp: TimestampText, values: ReaderValues) -> ByteBuffer {
        let head = PacketHead(kind: kind, counter: counter, timestamp: timestamp)
        return Self.piece(of: head.byteCount + byteCount(for: values)) { cursor in
            head.writeHead(into: &cursor)
            writeTail(filledWith: values, into: &cursor)
        }
    }

    /// Returns the packet in its own WebSocket text frame, in pieces. The pieces of the text share its memory with all
    /// other sockets.
    public func frame(counter: Int64, timestamp: TimestampText, values: ReaderValues) -> [ByteBuffer] {
        let head = PacketHead(kind: kind, counter: counter, timestamp: timestamp)
        var pieces = [
            Self.piece(of: PacketCursor.frameHeaderBytes + PacketHead.maximumBytes) { cursor in
                cursor.putFrameHeader(payloadLength: head.byteCount + byteCount(for: values))
                head.writeHead(into: &cursor)
            }
        ]
        var rest = text
        for gap in gaps {
            let written = text.readableBytes - rest.readableBytes
            if let slice = rest.readSlice(length: gap.offset - written) { pieces.append(slice) }
            pieces.append(
                Self.piece(of: gap.slot.byteCount(for: values)) { gap.slot.writeValue(from: values, into: &$0) })
        }
        pieces.append(rest)
        return pieces
    }

    private static func piece(of capacity: Int, _ body: (inout PacketCursor) -> Void) -> ByteBuffer {
        var piece = ByteBuffer()
        piece.writeWithUnsafeMutableBytes(minimumWritableBytes: capacity) { target in
            var cursor = PacketCursor(target)
            body(&cursor)
            return cursor.count
        }
        return piece
    }
}

extension PacketTail.Slot {
    fileprivate func byteCount(for values: ReaderValues) -> Int {
        switch self {
        case .unread: decimalDigits(values.unread)
        case .total: decimalDigits(values.total)
        case .ownStatus(let status): 25 + values.reader.percentEncoded.utf8.count + status.name.utf8.count + 1
        }
    }

    fileprivate func writeValue(from values: ReaderValues, into cursor: inout PacketCursor) {
        switch self {
        case .unread: cursor.putDecimal(values.unread)
        case .total: cursor.putDecimal(values.total)
        case .ownStatus(let status):
            cursor.putText(",\"layer:///identities/")
            cursor.putText(values.reader.percentEncoded)
            cursor.putText("\":\"")
            cursor.putText(status.name)
            cursor.putText("\"")
        }
    }
}
