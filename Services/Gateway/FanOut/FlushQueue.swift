// SPDX-License-Identifier: Apache-2.0
import NIOCore

/// The sockets that have something to flush at the end of a turn of their loop, and buffers for what they will be sent.
struct FlushQueue {
    /// Sockets touched in one turn from which on their flush waits.
    private static let manySockets = 128
    /// What sockets hand on before the loop turns to what else there is.
    private static let turnBytes = 2 << 20

    /// Buffers that were written and are free again. Without them a large conversation makes the allocator get thousands of pages from the kernel and
    /// give them back for every message.
    private var spareBuffers: [ByteBuffer] = []
    /// The fewest spare buffers there were since the last upkeep: so many were of no use.
    private var idleBuffers = 0
    private var dirty: [any RegisteredSocket] = []
    private var isPlanned = false

    /// The socket has something to flush.
    /// - Returns: whether the end of the turn has to be planned.
    mutating func touched(_ socket: any RegisteredSocket) -> Bool {
        dirty.append(socket)
        return plan()
    }

    /// Whether there are so many sockets that what arrives in the meantime had better go with them.
    var areMany: Bool { dirty.count >= Self.manySockets }

    /// The sockets to flush now. Those that are touched meanwhile have the next turn.
    mutating func begin() -> Int {
        isPlanned = false
        return dirty.count
    }

    /// The next socket to flush; nil: that is enough for one turn.
    func next(after count: Int, of sockets: Int, bytes: Int) -> (any RegisteredSocket)? {
        count < sockets && bytes < Self.turnBytes ? dirty[count] : nil
    }

    /// So many were flushed.
    /// - Returns: whether another flush has to be planned.
    mutating func ended(after count: Int) -> Bool {
        guard count < dirty.count else {
            dirty.removeAll(keepingCapacity: true)
            return false
        }
        dirty.removeFirst(count)
        return plan()
    }

    private mutating func plan() -> Bool {
        guard !isPlanned else { return false }
        isPlanned = true
        return true
    }

    // MARK: Buffers

    /// An empty buffer for what a socket will be sent.
    mutating func takeBuffer() -> ByteBuffer {
        let buffer = spareBuffers.popLast() ?? ByteBuffer()
        idleBuffers = min(idleBuffers, spareBuffers.count)
        return buffer
    }

    /// Takes back a buffer that was handed to the channel. If that still needs it, this one gets other memory.
    mutating func giveBack(_ buffer: consuming ByteBuffer) {
        guard spareBuffers.count < 512, buffer.capacity <= 16 * 1024 else { return }
        buffer.clear()
        spareBuffers.append(buffer)
    }

    /// Once a second: what was not used in that time is freed.
    mutating func freeIdleBuffers() {
        spareBuffers.removeFirst(min(idleBuffers, spareBuffers.count))
        idleBuffers = spareBuffers.count
    }
}
