// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NetKit

/// When to connect, when to wait, and what to tell those who want to send.
struct ReconnectStateMachine {
    enum State: Equatable {
        /// No connection has been asked for yet.
        case idle
        /// The first attempt since a connection was asked for: commands wait for its outcome.
        case connectingFirst
        /// A further attempt: commands fail fast.
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
        /// Close the connection that has just been made: it is not needed any more.
        case discardConnection
    }

    private(set) var state = State.idle
    private var backoff: Backoff

    init(backoff: Backoff) { self.backoff = backoff }

    /// Whether commands must not wait for a connection.
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

    /// The connection was lost. Only one that lasted starts the pauses afresh: a server that accepts and hangs up is not hammered.
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
