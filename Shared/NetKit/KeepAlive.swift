// SPDX-License-Identifier: Apache-2.0

/// Decides when a silent peer is asked whether it is there, and when it is given up.
///
/// It counts ticks and reads no clock: after this process itself was stopped for a while there is one tick, and the bytes that arrived meanwhile are read
/// before the next.
public struct KeepAlive: Sendable {
    /// What to do at a tick.
    public enum Action: Equatable, Sendable {
        case none
        /// Ask the peer, unless it owes an answer already.
        case ping
        /// The peer is gone: close the connection.
        case giveUp
    }

    private let allowedMisses: Int
    @usableFromInline var silentTicks = 0

    /// - Parameter allowedMisses: ticks without a byte after the first ``Action/ping`` before the peer counts as gone.
    public init(allowedMisses: Int) { self.allowedMisses = allowedMisses }

    /// Something moved: bytes came in, or the peer took bytes it had refused before.
    @inlinable
    public mutating func progressed() { silentTicks = 0 }

    /// One more interval has passed.
    public mutating func tick() -> Action {
        silentTicks += 1
        // The first tick closes the interval in which the last byte came: it proves nothing.
        if silentTicks <= 1 { return .none }
        return silentTicks > allowedMisses + 2 ? .giveUp : .ping
    }
}
