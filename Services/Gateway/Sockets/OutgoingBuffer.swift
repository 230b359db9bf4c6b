// SPDX-License-Identifier: Apache-2.0

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
