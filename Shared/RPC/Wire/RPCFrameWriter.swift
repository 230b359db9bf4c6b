// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// Gathers the frames of one tick, so that they leave with one flush; small ones even in one buffer, since copying 350 bytes costs less than
/// another entry in the socket's vector.
///
/// A class, since flushing may call back: a socket that takes what it refused before says so at once, and then more is written.
final class RPCFrameWriter {
    /// Payloads up to this many bytes are copied.
    private static let copyLimit = 8192

    private var buffer = ByteBuffer()
    private var nextCapacity = 512
    private var hasWritten = false

    func writeFrame(_ frame: RPCFrame) {
        makeRoom()
        buffer.writeFrame(frame)
    }

    /// Adds a frame whose head is written by `head` and whose payload may be too long to copy.
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

    /// Sends what was gathered.
    /// - Parameter promise: fulfilled when the socket has taken all of it.
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
