// SPDX-License-Identifier: Apache-2.0

/// Decides when a silent peer is asked whether it is there, and when it is given up.
///
/// Ticks are counted, not seconds: after this process itself was stopped for a while there is one tick, and the bytes that arrived meanwhile
/// are read before the next.
struct RPCLiveness {
    enum Action: Equatable {
        case none
        case ping
        case giveUp
    }

    private let allowedMisses: Int
    private var silentTicks = 0

    /// - Parameter allowedMisses: ticks without a byte after the ping before the peer counts as gone.
    init(allowedMisses: Int) {
        self.allowedMisses = allowedMisses
    }

    /// Something moved: bytes came in, or the peer took bytes it had refused before.
    mutating func progressed() {
        silentTicks = 0
    }

    /// The interval has passed once more.
    mutating func tick() -> Action {
        silentTicks += 1
        // The first tick closes the interval in which the last byte came: it proves nothing.
        if silentTicks <= 1 { return .none }
        return silentTicks > allowedMisses + 2 ? .giveUp : .ping
    }
}
