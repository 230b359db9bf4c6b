// SPDX-License-Identifier: Apache-2.0
import DequeModule
import FanOut
import NIOCore

/// The backlog limit of a peer that does not read. First ephemeral packets are dropped, then the connection is closed.
/// A durable change is never omitted from a connection that stays open.
struct OutgoingBuffer {
    enum Outcome {
        case write
        /// Send nothing but a close frame. The peer must reconnect and replay.
        case abandon
    }

    /// The number of bytes queued for the channel.
    private(set) var backlog = 0
    /// Bytes admitted without counting towards the limit, because nothing was queued ahead of them.
    private var exempt = 0

    static func admitsEphemeral(isWritable: Bool) -> Bool { isWritable }

    /// Admits outgoing bytes. Bytes with nothing queued ahead of them are always admitted; otherwise a packet larger
    /// than the limit could never be sent.
    /// - Parameters:
    ///   - isWritable: true if the channel accepts more bytes and no bytes are queued.
    ///   - bound: the maximum number of queued bytes, beyond what the channel accepts.
    mutating func admit(_ bytes: Int, isWritable: Bool, bound: Int) -> Outcome {
        guard !isWritable else { return .write }
        if backlog == 0 { exempt = bytes }
        guard backlog == 0 || backlog - exempt + bytes <= bound else { return .abandon }
        backlog += bytes
        return .write
    }

    /// Updates the backlog to `bytes`. It shrinks as the channel accepts bytes. It grows by bytes that were admitted
    /// while the channel was writable and have not been accepted.
    mutating func left(_ bytes: Int) {
        // Bytes leave in order, so the exempt ones leave first.
        if bytes > backlog { exempt += bytes - backlog } else { exempt -= min(exempt, backlog - bytes) }
        backlog = bytes
    }

    /// Handles the end of the backlog: the channel is writable and has accepted all bytes.
    mutating func drained() { left(0) }
}

/// The queue of frames that a socket's channel has not accepted. The channel is given one piece at a time.
///
/// Queued frames can share memory with other sockets, and are not encrypted before they are sent.
struct WaitingFrames {
    private struct Item {
        var buffers: ArraySlice<ByteBuffer>
        /// The memory reserved for the frames. Shared texts have one lease for all sockets.
        let lease: AnswerBudget.Lease
        var isBegun = false
    }

    private var items: Deque<Item> = []
    private(set) var bytes = 0

    var isEmpty: Bool { items.isEmpty }

    /// - Parameter buffers: the buffers of one or more complete frames.
    mutating func append(_ buffers: [ByteBuffer], lease: AnswerBudget.Lease) {
        bytes += buffers.reduce(0) { $0 + $1.readableBytes }
        items.append(Item(buffers: buffers[...], lease: lease))
    }

    /// Returns the next piece. It is copied unless it is a whole buffer, so that it does not retain other memory.
    mutating func next(atMost limit: Int) -> ByteBuffer? {
        guard !items.isEmpty else { return nil }
        if items[0].buffers.count == 1, let only = items[0].buffers.first, !items[0].isBegun,
            only.readableBytes <= limit
        {
            items.removeFirst()
            bytes -= only.readableBytes
            return only
        }
        var piece = ByteBufferAllocator().buffer(capacity: min(limit, bytes))
        while piece.readableBytes < limit, !items.isEmpty {
            items[0].isBegun = true
            guard let first = items[0].buffers.first else {
                items.removeFirst()
                continue
            }
            let room = limit - piece.readableBytes
            if first.readableBytes <= room {
                piece.writeImmutableBuffer(first)
                items[0].buffers.removeFirst()
                if items[0].buffers.isEmpty { items.removeFirst() }
            } else {
                let place = items[0].buffers.startIndex
                if let slice = items[0].buffers[place].readSlice(length: room) { piece.writeImmutableBuffer(slice) }
            }
        }
        bytes -= piece.readableBytes
        return piece
    }

    /// Drops all frames that are not partially sent, so that the output ends at a frame boundary.
    mutating func dropUnbegun() {
        while let last = items.last, !last.isBegun {
            bytes -= last.buffers.reduce(0) { $0 + $1.readableBytes }
            items.removeLast()
        }
    }

    mutating func removeAll() {
        items = []
        bytes = 0
    }
}
