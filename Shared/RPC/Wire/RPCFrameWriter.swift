// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// A writer that collects the frames of one tick and sends them with one flush. Small frames share a buffer, because
/// copying 350 bytes costs less than another entry in the socket's vector.
///
/// It is a class because a flush can be reentrant: a socket that becomes writable reports it immediately, and more is
/// written.
final class RPCFrameWriter {
    /// The maximum size of a payload that is copied, in bytes.
    private static let copyLimit = 8192

    private var buffer = ByteBuffer()
    private var nextCapacity = 512
    private var hasWritten = false

    func writeFrame(_ frame: RPCFrame) {
        makeRoom()
        buffer.writeFrame(frame)
    }

    /// Adds a frame whose head is written by `head`. A long payload is not copied.
    func writeFrame(payload: ByteBuffer, to context: ChannelHandlerContext?, head: (inout ByteBuffer) -> Void) {
        makeRoom()
        head(&buffer)
        guard payload.readableBytes > RPCFrameWriter.copyLimit, let context else {
            buffer.writeImmutableBuffer(payload)
            return
        }
        context.write(NIOAny(takeBuffer()), promise: nil)
        context.write(NIOAny(payload), promise: nil)
        hasWritten = true
    }

    /// Sends the collected frames.
    /// - Parameter promise: completed when the socket has accepted all of them.
    func flush(to context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        guard buffer.readableBytes > 0 || promise != nil else {
            if hasWritten { context.flush() }
            hasWritten = false
            return
        }
        hasWritten = false
        context.writeAndFlush(NIOAny(takeBuffer()), promise: promise)
    }

    private func takeBuffer() -> ByteBuffer {
        let full = buffer
        nextCapacity = min(max(512, full.readableBytes), 65_536)
        buffer = ByteBuffer()
        return full
    }

    private func makeRoom() {
        if buffer.capacity == 0 { buffer = ByteBufferAllocator().buffer(capacity: nextCapacity) }
    }
}
