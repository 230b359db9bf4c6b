// SPDX-License-Identifier: Apache-2.0
import Hummingbird
import NIOCore
import StrataWire

/// The text of a JSON array, piece by piece; together they are what it would be in one.
struct ArrayPieces<Item>: Sendable {
    private let write: @Sendable (Item, inout JSONWriter) -> Void
    private var isEmpty = true
    private(set) var isComplete = false

    init(write: @escaping @Sendable (Item, inout JSONWriter) -> Void) { self.write = write }

    /// The next elements, with what stands around them.
    mutating func piece(_ items: [Item], isLast: Bool) -> ByteBuffer {
        var writer = JSONWriter(capacity: 64 << 10)
        writer.beginArray()
        for item in items { write(item, &writer) }
        writer.endArray()
        var text = writer.buffer
        if !isLast { text.moveWriterIndex(to: text.writerIndex - 1) }
        if !isEmpty {
            // What began the array was sent before.
            if items.isEmpty { text.moveReaderIndex(forwardBy: 1) } else { text.setInteger(UInt8(ascii: ","), at: text.readerIndex) }
        }
        isEmpty = isEmpty && items.isEmpty
        isComplete = isLast
        return text
    }
}

/// How long answers are written.
enum ResponsePieces {
    /// Bytes that are written at a time.
    static let bytes = 64 << 10
}

extension ResponseBodyWriter {
    /// Writes a long text no faster than the client takes it.
    @concurrent
    mutating func writeText(_ text: ByteBuffer, to channel: any Channel) async throws {
        var text = text
        while let slice = text.readSlice(length: Swift.min(text.readableBytes, ResponsePieces.bytes)), slice.readableBytes > 0 {
            // A copy: a slice that waits in the channel would keep all of the text.
            try await writePiece(ByteBuffer(bytes: slice.readableBytesView), to: channel)
        }
    }

    /// Writes a piece, and returns when the channel takes more.
    @concurrent
    mutating func writePiece(_ piece: ByteBuffer, to channel: any Channel) async throws {
        try await write(piece)
        // Only the loop finds out that the client lags behind; ahead of it nothing would be held back.
        try await channel.eventLoop.submit {}.get()
    }
}
