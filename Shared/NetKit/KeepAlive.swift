// SPDX-License-Identifier: Apache-2.0

/// A state machine that decides when to ping a silent peer and when to close its connection.
///
/// It counts ticks and reads no clock. After a suspension of this process there is only one tick, and the bytes that
/// arrived meanwhile are read before the next one.
public struct KeepAlive: Sendable {
    /// The action at a tick.
    public enum Action: Equatable, Sendable {
        case none
        /// Ping the peer, unless a pong is pending.
        case ping
        /// Close the connection; the peer is considered dead.
        case giveUp
    }

    private let allowedMisses: Int
    @usableFromInline var silentTicks = 0

    /// - Parameter allowedMisses: The number of ticks without a byte after the first ``Action/ping`` before the peer is
    ///   considered dead.
    public init(allowedMisses: Int) { self.allowedMisses = allowedMisses }

    /// Records progress: bytes arrived, or the peer accepted bytes that were blocked by back-pressure.
    @inlinable
    public mutating func recordProgress() { silentTicks = 0 }

    /// Records the end of an interval and returns the action to take.
    public mutating func tick() -> Action {
        silentTicks += 1
        // The first tick ends the interval in which the last byte arrived, so it proves nothing.
        if silentTicks <= 1 { return .none }
        return silentTicks > allowedMisses + 2 ? .giveUp : .ping
    }
}
