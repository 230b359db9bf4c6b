// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Cuts a byte stream into frames.
///
/// A length is compared with the limit before any byte is kept for it, and a claimed length alone reserves nothing: the buffer grows with
/// what has really arrived.
struct RPCFrameReader {
    private var buffer = ByteBuffer()

    /// Takes what arrived. Call ``next(limit:)`` until it returns nil before the next one.
    mutating func append(_ bytes: ByteBuffer) {
        guard buffer.readableBytes > 0 else {
            buffer = bytes
            return
        }
        // Slices handed out share the old storage, so that appending to it would copy all of it, also what was read. Only a frame longer than
        // one read keeps growing in place.
        if buffer.readerIndex > 0 {
            var fresh = ByteBufferAllocator().buffer(capacity: buffer.readableBytes + bytes.readableBytes)
            fresh.writeImmutableBuffer(buffer)
            buffer = fresh
        }
        buffer.writeImmutableBuffer(bytes)
    }

    /// The next whole frame, or nil if it has not arrived yet.
    /// - Parameter limit: greatest length of a frame, its own length field not counted.
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
