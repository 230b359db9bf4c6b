// SPDX-License-Identifier: Apache-2.0
public import Model
public import NIOCore

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

    /// Bytes that ``write(_:into:)`` puts for these values.
    func byteCount(for values: ReaderValues) -> Int {
        var count = text.readableBytes
        for gap in gaps {
            switch gap.slot {
            case .unread: count += decimalDigits(values.unread)
            case .total: count += decimalDigits(values.total)
            case .ownStatus(let status):
                count += 25 + values.reader.percentEncoded.utf8.count + status.name.utf8.count + 1
            }
        }
        return count
    }

    /// Puts the text with its gaps filled.
    func write(_ values: ReaderValues, into cursor: inout PacketCursor) {
        text.withUnsafeReadableBytes { bytes in
            var written = 0
            for gap in gaps {
                cursor.put(UnsafeRawBufferPointer(rebasing: bytes[written..<gap.offset]))
                written = gap.offset
                switch gap.slot {
                case .unread: cursor.put(decimal: values.unread)
                case .total: cursor.put(decimal: values.total)
                case .ownStatus(let status):
                    cursor.put(",\"layer:///identities/")
                    cursor.put(values.reader.percentEncoded)
                    cursor.put("\":\"")
                    cursor.put(status.name)
                    cursor.put("\"")
                }
            }
            cursor.put(UnsafeRawBufferPointer(rebasing: bytes[written...]))
        }
    }
}
