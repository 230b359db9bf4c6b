// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NetKit

/// The state machine of a connection: connecting, pausing, and the handling of commands without a connection.
struct ReconnectStateMachine {
    enum State: Equatable {
        /// No connection has been demanded yet.
        case idle
        /// The first attempt since a connection was demanded. Commands wait for its outcome.
        case connectingFirst
        /// A further attempt. Commands fail immediately.
        case reconnecting
        case ready(since: NIODeadline)
        /// The pause between two attempts.
        case waiting
        case closed
    }

    enum Action: Equatable {
        case doNothing
        case connect
        /// Call `pauseEnded()` after this time.
        case pause(Duration)
        /// Close the new connection, because it is no longer needed.
        case discardConnection
    }

    private(set) var state = State.idle
    private var backoff: Backoff

    init(backoff: Backoff) { self.backoff = backoff }

    /// True if commands must not wait for a connection.
    var isAway: Bool {
        switch state {
        case .reconnecting, .waiting: true
        case .idle, .connectingFirst, .ready, .closed: false
        }
    }

    mutating func demanded() -> Action {
        switch state {
        case .idle:
            state = .connectingFirst
            return .connect
        case .connectingFirst, .reconnecting, .ready, .waiting, .closed: return .doNothing
        }
    }

    mutating func connected(now: NIODeadline) -> Action {
        switch state {
        case .connectingFirst, .reconnecting:
            state = .ready(since: now)
            return .doNothing
        case .idle, .ready, .waiting, .closed: return .discardConnection
        }
    }

    mutating func attemptFailed(jitter: Double) -> Action {
        switch state {
        case .connectingFirst, .reconnecting:
            state = .waiting
            return .pause(backoff.next(random: jitter))
        case .idle, .ready, .waiting, .closed: return .doNothing
        }
    }

    /// Records the loss of the connection. Only a connection that lasted resets the back-off. Otherwise a server that
    /// closes each new connection would be flooded.
    mutating func lost(now: NIODeadline, jitter: Double) -> Action {
        switch state {
        case .ready(let since):
            if now - since >= backoff.maximum.timeAmount { backoff.reset() }
            state = .waiting
            return .pause(backoff.next(random: jitter))
        case .idle, .connectingFirst, .reconnecting, .waiting, .closed: return .doNothing
        }
    }

    mutating func pauseEnded() -> Action {
        switch state {
        case .waiting:
            state = .reconnecting
            return .connect
        case .idle, .connectingFirst, .reconnecting, .ready, .closed: return .doNothing
        }
    }

    mutating func close() { state = .closed }
}
