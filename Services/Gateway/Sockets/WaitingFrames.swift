// SPDX-License-Identifier: Apache-2.0
import DequeModule
import FanOut
import NIOCore

/// Frames that wait for their channel, which is handed a piece at a time: what a client does not read stays here, where it may be shared with other sockets,
/// and where none of it is encrypted before its time.
struct WaitingFrames {
    private struct Item {
        var buffers: ArraySlice<ByteBuffer>
        /// The room it takes; texts that are shared have one for all.
        let lease: AnswerBudget.Lease
        var isBegun = false
    }

    private var items: Deque<Item> = []
    private(set) var bytes = 0

    var isEmpty: Bool { items.isEmpty }

    /// - Parameter buffers: one or more whole frames, together.
    mutating func append(_ buffers: [ByteBuffer], lease: AnswerBudget.Lease) {
        bytes += buffers.reduce(0) { $0 + $1.readableBytes }
        items.append(Item(buffers: buffers[...], lease: lease))
    }

    /// What goes next. It is a copy, unless it is all there is of a buffer, so that its holder holds nothing else in memory.
    mutating func next(atMost limit: Int) -> ByteBuffer? {
        guard !items.isEmpty else { return nil }
        if items[0].buffers.count == 1, let only = items[0].buffers.first, !items[0].isBegun, only.readableBytes <= limit {
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

    /// Drops what has not been begun: what remains ends with the end of a frame.
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
