// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// A parser that splits a byte stream into frames.
///
/// A length is checked against the limit before bytes are stored. A claimed length alone reserves no memory: the buffer
/// grows with the received data.
struct RPCFrameReader {
    private var buffer = ByteBuffer()

    /// Appends received bytes. Call ``next(limit:)`` until it returns nil before the next append.
    mutating func append(_ bytes: ByteBuffer) {
        guard buffer.readableBytes > 0 else {
            buffer = bytes
            return
        }
        // Slices share the old storage, so appending to it would copy all of it, including bytes already read. Copy
        // only the unread bytes. A frame longer than one read then grows in place.
        if buffer.readerIndex > 0 {
            var fresh = ByteBufferAllocator().buffer(capacity: buffer.readableBytes + bytes.readableBytes)
            fresh.writeImmutableBuffer(buffer)
            buffer = fresh
        }
        buffer.writeImmutableBuffer(bytes)
    }

    /// Returns the next complete frame, or nil if it has not arrived yet.
    /// - Parameter limit: the maximum size of a frame in bytes, without its length field.
    mutating func next(limit: Int) throws(RPCFrameError) -> RPCFrame? {
        guard let length: UInt32 = buffer.getInteger(at: buffer.readerIndex) else { return nil }
        guard length <= limit else { throw .tooLong(Int(length)) }
        guard length >= RPCFrame.headerBytes else { throw .tooShort }
        guard buffer.readableBytes >= 4 + Int(length) else { return nil }
        buffer.moveReaderIndex(forwardBy: 4)
        guard var body = buffer.readSlice(length: Int(length)) else { throw .truncatedBody }
        return try RPCFrame(body: &body)
    }
}
