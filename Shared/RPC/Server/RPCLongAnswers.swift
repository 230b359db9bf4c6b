// SPDX-License-Identifier: Apache-2.0

import DequeModule
import NIOCore

/// A queue of responses that exceed one frame. The responses take turns piece by piece, so that none waits for another
/// one to finish.
struct RPCLongAnswers {
    struct Piece: Equatable {
        var id: UInt64
        var payload: ByteBuffer
        /// True if this is the last piece of the response.
        var isLast: Bool
    }

    private let pieceBytes: Int
    private var queue: Deque<(id: UInt64, rest: ByteBuffer)> = []

    init(pieceBytes: Int) {
        self.pieceBytes = max(1, pieceBytes)
    }

    var count: Int { queue.count }
    /// The total size of the unsent rests, in bytes.
    private(set) var bytes = 0

    mutating func add(_ answer: ByteBuffer, forCall id: UInt64) {
        queue.append((id, answer))
        bytes += answer.readableBytes
    }

    /// Discards the rest of a response.
    /// - Returns: the number of discarded bytes; nil if the queue does not contain the response.
    mutating func remove(_ id: UInt64) -> Int? {
        guard let index = queue.firstIndex(where: { $0.id == id }) else { return nil }
        let left = queue.remove(at: index).rest.readableBytes
        bytes -= left
        return left
    }

    /// Returns the next piece to write, or nil if the queue is empty.
    mutating func next() -> Piece? {
        guard var answer = queue.popFirst() else { return nil }
        let payload = answer.rest.readSlice(length: min(pieceBytes, answer.rest.readableBytes)) ?? ByteBuffer()
        bytes -= payload.readableBytes
        let isLast = answer.rest.readableBytes == 0
        if !isLast { queue.append(answer) }
        return Piece(id: answer.id, payload: payload, isLast: isLast)
    }
}
