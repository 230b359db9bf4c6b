// SPDX-License-Identifier: Apache-2.0
import DequeModule
import FanOut
import NIOCore

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
