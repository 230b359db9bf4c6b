// SPDX-License-Identifier: Apache-2.0
package import NIOCore

/// Batched writes: packets sent to a socket during one event-loop turn are flushed once, at its end.
extension LoopRegistry {
    private static let flushPause = TimeAmount.milliseconds(4)

    /// Schedules a flush of the socket at the end of this turn.
    package func scheduleFlush(of socket: any RegisteredSocket) {
        if flushQueue.add(socket) { loop.execute { self.turnEnded() } }
    }

    package func takeBuffer() -> ByteBuffer { flushQueue.takeBuffer() }

    /// Takes back a buffer passed to the channel. If the channel still refers to it, clearing it allocates other
    /// memory.
    package func giveBack(_ buffer: consuming ByteBuffer) { flushQueue.giveBack(buffer) }

    /// Flushes at once, or after a short pause if the turn touched many sockets.
    ///
    /// Flushing a large conversation takes milliseconds, nearly all of it in the kernel. The pause lets one flush
    /// include the packets that arrive meanwhile. A few sockets never wait.
    private func turnEnded() {
        guard flushQueue.shouldDelay else { return flush() }
        loop.scheduleTask(in: Self.flushPause) { self.flush() }
    }

    private func flush() {
        let sockets = flushQueue.begin()
        var (count, bytes) = (0, 0)
        while let socket = flushQueue.next(after: count, of: sockets, bytes: bytes) {
            bytes += socket.flush()
            count += 1
        }
        if flushQueue.ended(after: count) { loop.execute { self.flush() } }
    }
}
