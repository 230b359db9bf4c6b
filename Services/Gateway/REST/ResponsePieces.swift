// SPDX-License-Identifier: Apache-2.0
import Hummingbird
import NIOCore
import StrataWire

/// A JSON array written in pieces. Their concatenation is the array's text.
struct ArrayPieces<Item>: Sendable {
    private let write: @Sendable (Item, inout JSONWriter) -> Void
    private var isEmpty = true
    private(set) var isComplete = false

    init(write: @escaping @Sendable (Item, inout JSONWriter) -> Void) { self.write = write }

    /// Returns the text of the next elements, with separators and brackets as needed.
    mutating func piece(_ items: [Item], isLast: Bool) -> ByteBuffer {
        var writer = JSONWriter(capacity: 64 << 10)
        writer.beginArray()
        for item in items { write(item, &writer) }
        writer.endArray()
        var text = writer.buffer
        if !isLast { text.moveWriterIndex(to: text.writerIndex - 1) }
        if !isEmpty {
            // An earlier piece contains the opening bracket.
            if items.isEmpty {
                text.moveReaderIndex(forwardBy: 1)
            } else {
                text.setInteger(UInt8(ascii: ","), at: text.readerIndex)
            }
        }
        isEmpty = isEmpty && items.isEmpty
        isComplete = isLast
        return text
    }
}

enum ResponsePieces {
    /// The number of bytes in one write.
    static let bytes = 64 << 10
}

extension ResponseBodyWriter {
    /// Writes a long text no faster than the client reads it.
    @concurrent
    mutating func writeText(_ text: ByteBuffer, to channel: any Channel) async throws {
        var text = text
        while let slice = text.readSlice(length: Swift.min(text.readableBytes, ResponsePieces.bytes)),
            slice.readableBytes > 0
        {
            // Copy the bytes: a slice that waits in the channel would keep the whole text in memory.
            try await writePiece(ByteBuffer(bytes: slice.readableBytesView), to: channel)
        }
    }

    /// Writes a piece and returns when the channel accepts more.
    @concurrent
    mutating func writePiece(_ piece: ByteBuffer, to channel: any Channel) async throws {
        try await write(piece)
        // Wait for a turn of the event loop. Back-pressure is only known there; without this, writes would run ahead of
        // it.
        try await channel.eventLoop.submit {}.get()
    }
}
