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

/// The sockets with packets to flush at the end of an event-loop turn, and a pool of buffers for their packets.
struct FlushQueue {
    /// The number of sockets in one turn from which the flush is delayed.
    private static let manySockets = 128
    /// The bytes flushed in one turn before the loop handles other events.
    private static let turnBytes = 2 << 20

    /// Reusable buffers. Without them, every message in a large conversation makes the allocator request thousands of
    /// pages from the kernel and return them.
    private var spareBuffers: [ByteBuffer] = []
    /// The lowest number of spare buffers since the last upkeep. That many can be freed.
    private var idleBuffers = 0
    /// The sockets with packets to flush, in order. Each occurs once.
    private var dirty: [any RegisteredSocket] = []
    /// True if a flush is scheduled and has not begun.
    private var isScheduled = false

    /// Adds a socket with packets to flush.
    /// - Returns: true if the caller must schedule a flush.
    mutating func add(_ socket: any RegisteredSocket) -> Bool {
        dirty.append(socket)
        return schedule()
    }

    /// True if the flush is delayed, so that packets of the meantime are included.
    var shouldDelay: Bool { dirty.count >= Self.manySockets }

    /// Starts a flush and returns the number of sockets in it. Sockets added later wait for the next turn.
    mutating func begin() -> Int {
        isScheduled = false
        return dirty.count
    }

    /// Returns the next socket to flush, or nil at the end of the flush or of the turn's byte limit.
    /// - Parameters:
    ///   - count: the number of sockets flushed so far.
    ///   - sockets: the number of sockets in the flush, from ``begin()``.
    ///   - bytes: the number of bytes written so far.
    func next(after count: Int, of sockets: Int, bytes: Int) -> (any RegisteredSocket)? {
        count < sockets && bytes < Self.turnBytes ? dirty[count] : nil
    }

    /// Removes the first `count` sockets, which have been flushed.
    /// - Returns: true if the caller must schedule another flush.
    mutating func ended(after count: Int) -> Bool {
        guard count < dirty.count else {
            dirty.removeAll(keepingCapacity: true)
            return false
        }
        dirty.removeFirst(count)
        return schedule()
    }

    /// Returns true if the caller must schedule a flush. The flush then counts as scheduled.
    private mutating func schedule() -> Bool {
        guard !isScheduled else { return false }
        isScheduled = true
        return true
    }

    // MARK: Buffers

    /// Returns an empty buffer, a spare one if possible.
    mutating func takeBuffer() -> ByteBuffer {
        let buffer = spareBuffers.popLast() ?? ByteBuffer()
        idleBuffers = min(idleBuffers, spareBuffers.count)
        return buffer
    }

    /// Takes back a buffer passed to the channel. If the channel still refers to it, clearing it allocates other
    /// memory.
    mutating func giveBack(_ buffer: consuming ByteBuffer) {
        guard spareBuffers.count < 512, buffer.capacity <= 16 * 1024 else { return }
        buffer.clear()
        spareBuffers.append(buffer)
    }

    /// Frees the buffers that were not used since the last call. Called once a second.
    mutating func freeIdleBuffers() {
        spareBuffers.removeFirst(min(idleBuffers, spareBuffers.count))
        idleBuffers = spareBuffers.count
    }
}
