// SPDX-License-Identifier: Apache-2.0
package import NIOCore

/// Batched writes: packets sent to a socket during one event-loop turn are flushed once, at its end.
extension LoopRegistry {
    private static let flushPause = TimeAmount.milliseconds(4)

    /// Schedules a flush of the socket at the end of this turn.
    package func touched(_ socket: any RegisteredSocket) {
        if flushing.touched(socket) { loop.execute { self.turnEnded() } }
    }

    package func takeBuffer() -> ByteBuffer { flushing.takeBuffer() }

    /// Takes back a buffer passed to the channel. If the channel still refers to it, clearing it allocates other
    /// memory.
    package func giveBack(_ buffer: consuming ByteBuffer) { flushing.giveBack(buffer) }

    /// Flushes at once, or after a short pause if the turn touched many sockets.
    ///
    /// Flushing a large conversation takes milliseconds, nearly all of it in the kernel. The pause lets one flush
    /// include the packets that arrive meanwhile. A few sockets never wait.
    private func turnEnded() {
        guard flushing.shouldDelay else { return flush() }
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
