// SPDX-License-Identifier: Apache-2.0
package import NIOCore

/// What was sent to a socket during one turn of the loop leaves once, at its end.
extension LoopRegistry {
    private static let flushPause = TimeAmount.milliseconds(4)

    /// The socket has something to flush at the end of this turn.
    package func touched(_ socket: any RegisteredSocket) {
        if flushing.touched(socket) { loop.execute { self.turnEnded() } }
    }

    /// An empty buffer for what a socket will be sent.
    package func takeBuffer() -> ByteBuffer { flushing.takeBuffer() }

    /// Takes back a buffer that was handed to the channel. If that still needs it, this one gets other memory.
    package func giveBack(_ buffer: consuming ByteBuffer) { flushing.giveBack(buffer) }

    /// A large conversation costs milliseconds to flush, nearly all of it in the kernel: if many sockets are touched, what arrives in the meantime
    /// goes with them. A few sockets never wait.
    private func turnEnded() {
        guard flushing.areMany else { return flush() }
        loop.scheduleTask(in: Self.flushPause) { self.flush() }
    }

    private func flush() {
        let sockets = flushing.begin()
        var (count, bytes) = (0, 0)
        while let socket = flushing.next(after: count, of: sockets, bytes: bytes) {
            bytes += socket.flush()
            count += 1
        }
        if flushing.ended(after: count) { loop.execute { self.flush() } }
    }
}
