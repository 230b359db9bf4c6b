// SPDX-License-Identifier: Apache-2.0

/// Notices a server that has gone silent, counting ticks of a quarter of the liveness time-out.
///
/// Nothing received for a whole tick, and nothing awaited: ask. Nothing received for three: what is awaited, our PING at least, has been
/// outstanding for half of the time-out or more. Counting ticks instead of reading a clock means that a pause of this process itself, however
/// long, is one tick and not a reason to drop a healthy connection.
struct KeepaliveStateMachine {
    enum Action: Equatable {
        case doNothing
        case sendPing
        case closeConnection
    }

    private var quietTicks = 0

    mutating func received() { quietTicks = -1 }

    mutating func tick(isAwaitingReply: Bool) -> Action {
        quietTicks += 1
        switch quietTicks {
        case ...0: return .doNothing
        case 1, 2: return isAwaitingReply ? .doNothing : .sendPing
        default: return .closeConnection
        }
    }
}
