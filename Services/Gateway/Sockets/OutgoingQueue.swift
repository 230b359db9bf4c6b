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

    /// Bytes that wait for the channel.
    private(set) var backlog = 0
    /// Those of them that were taken whatever their number: the bound is for what waits behind them.
    private var exempt = 0

    /// Whether a packet that may be dropped is sent at all.
    static func admitsEphemeral(isWritable: Bool) -> Bool { isWritable }

    /// Bytes are to leave. What nothing waits ahead of is taken whatever its size, or one packet that is larger than the bound could never be sent.
    /// - Parameters:
    ///   - isWritable: whether the channel takes more, and nothing waits for it.
    ///   - bound: as many may wait beyond what the channel itself takes.
    mutating func admit(_ bytes: Int, isWritable: Bool, bound: Int) -> Outcome {
        guard !isWritable else { return .write }
        if backlog == 0 { exempt = bytes }
        guard backlog == 0 || backlog - exempt + bytes <= bound else { return .abandon }
        backlog += bytes
        return .write
    }

    /// So many bytes wait now: the channel has taken the others, or was writable when these came, and has not taken them yet.
    mutating func left(_ bytes: Int) {
        // In their order: those ahead are gone first.
        if bytes > backlog { exempt += bytes - backlog } else { exempt -= min(exempt, backlog - bytes) }
        backlog = bytes
    }

    /// The channel is writable again, and has taken everything.
    mutating func drained() { left(0) }
}
