// SPDX-License-Identifier: Apache-2.0

/// The bound on what waits for a peer that does not read: first ephemerals are dropped, then the connection is given up. A durable change is never
/// left out of a connection that goes on.
struct OutgoingQueue {
    /// What to do with bytes that are ready.
    enum Outcome {
        case write
        /// The peer has to come back and replay: a close frame is all it still gets.
        case abandon
    }

    /// Bytes written since the channel stopped being writable.
    private(set) var backlog = 0

    /// Whether something nobody misses is sent at all.
    static func admitsEphemeral(isWritable: Bool) -> Bool { isWritable }

    /// Bytes are to leave.
    /// - Parameter bound: as many may wait beyond what the channel itself takes.
    mutating func write(_ bytes: Int, isWritable: Bool, bound: Int) -> Outcome {
        guard !isWritable else { return .write }
        guard backlog + bytes <= bound else { return .abandon }
        backlog += bytes
        return .write
    }

    /// The channel is writable again.
    mutating func drained() { backlog = 0 }
}
