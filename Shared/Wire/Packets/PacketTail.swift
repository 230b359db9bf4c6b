// SPDX-License-Identifier: Apache-2.0
public import NIOCore
public import StrataModel

/// What a socket puts into the gaps of a ``PacketTail``.
public struct ReaderValues: Hashable, Sendable {
    /// Whose socket it is.
    public var reader: UserID
    /// `unread_message_count` after the change.
    public var unread: Int64
    /// `total_message_count` after the change.
    public var total: Int64
    /// Values for one socket.
    public init(reader: UserID, unread: Int64, total: Int64) {
        self.reader = reader
        self.unread = unread
        self.total = total
    }
}

/// The rest of a packet after its ``PacketHead``, rendered once for all sockets of one ``Variant``, with gaps for what even they do not share.
public struct PacketTail: Hashable, Sendable {
    enum Slot: Hashable, Sendable {
        case unread
        case total
        /// A member of `recipient_status`: the reader's own. Stands after another one.
        case ownStatus(RecipientStatus)
    }
    struct Gap: Hashable, Sendable {
        /// Bytes of text before it.
        var offset: Int
        var slot: Slot
    }

    /// What the packet is, which its head must say.
    public let kind: PacketKind
    /// The text without what belongs into the gaps. Without any it is all there is, and can be sent as it is.
    public let text: ByteBuffer
    let gaps: [Gap]

    init(kind: PacketKind, text: ByteBuffer, gaps: [Gap]) {
        self.kind = kind
        self.text = text
        self.gaps = gaps
    }

    /// Whether the same bytes go to every socket of the variant.
    public var isShared: Bool { gaps.isEmpty }
    /// Whether ``ReaderValues/unread`` or ``ReaderValues/total`` are needed to write it.
    public var needsNumbers: Bool {
        gaps.contains { gap in
            switch gap.slot {
            case .unread, .total: true
            case .ownStatus: false
            }
        }
    }

    /// Bytes that ``writeTail(filledWith:into:)`` puts for these values.
    func byteCount(for values: ReaderValues) -> Int { gaps.reduce(text.readableBytes) { $0 + $1.slot.byteCount(for: values) } }

    /// Puts the text with its gaps filled.
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

    /// The packet in a WebSocket text frame of its own, in pieces that are no copies: those of the text share its memory with all other sockets.
    /// - Parameters:
    ///   - counter: of the packet.
    ///   - timestamp: what it is stamped with.
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
            pieces.append(Self.piece(of: gap.slot.byteCount(for: values)) { gap.slot.writeValue(from: values, into: &$0) })
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
    /// Bytes that ``writeValue(from:into:)`` puts for these values.
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
