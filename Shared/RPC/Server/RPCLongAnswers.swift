// SPDX-License-Identifier: Apache-2.0

import DequeModule
import NIOCore

/// Answers too long for one frame, on their way: each gives a piece in turn, so that none waits for the whole of another.
struct RPCLongAnswers {
    struct Piece: Equatable {
        var id: UInt64
        var payload: ByteBuffer
        /// Whether the answer ends with it.
        var isLast: Bool
    }

    private let pieceBytes: Int
    private var queue: Deque<(id: UInt64, rest: ByteBuffer)> = []

    init(pieceBytes: Int) {
        self.pieceBytes = max(1, pieceBytes)
    }

    var count: Int { queue.count }
    /// Of what is left of all of them.
    private(set) var bytes = 0

    mutating func add(_ answer: ByteBuffer, forCall id: UInt64) {
        queue.append((id, answer))
        bytes += answer.readableBytes
    }

    /// Drops what is left of an answer.
    /// - Returns: how many bytes that was; nil: it is not here.
    mutating func remove(_ id: UInt64) -> Int? {
        guard let index = queue.firstIndex(where: { $0.id == id }) else { return nil }
        let left = queue.remove(at: index).rest.readableBytes
        bytes -= left
        return left
    }

    /// The next piece to write, or nil if there is nothing left.
    mutating func next() -> Piece? {
        guard var answer = queue.popFirst() else { return nil }
        let payload = answer.rest.readSlice(length: min(pieceBytes, answer.rest.readableBytes)) ?? ByteBuffer()
        bytes -= payload.readableBytes
        let isLast = answer.rest.readableBytes == 0
        if !isLast { queue.append(answer) }
        return Piece(id: answer.id, payload: payload, isLast: isLast)
    }
}
