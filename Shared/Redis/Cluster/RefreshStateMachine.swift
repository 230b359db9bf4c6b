// SPDX-License-Identifier: Apache-2.0

import NetKit

/// The state machine of topology requests. It combines concurrent reasons into one request, and pauses between
/// requests.
struct RefreshStateMachine {
    enum State: Equatable {
        case idle
        case asking(again: Bool)
        case pausing(again: Bool)
        case closed
    }

    enum Action: Equatable {
        case doNothing
        case ask
        /// Call `pauseEnded()` after this time.
        case pause(Duration)
    }

    /// The pause after a successful request: 100 ms. A slot migration causes many MOVED replies; the map is fetched
    /// once for all of them.
    static let pauseAfterSuccess = Duration.milliseconds(100)

    private(set) var state = State.idle
    private var backoff: Backoff

    init(backoff: Backoff) { self.backoff = backoff }

    mutating func needed() -> Action {
        switch state {
        case .idle:
            state = .asking(again: false)
            return .ask
        case .asking:
            state = .asking(again: true)
            return .doNothing
        case .pausing:
            state = .pausing(again: true)
            return .doNothing
        case .closed: return .doNothing
        }
    }

    mutating func succeeded() -> Action {
        switch state {
        case .asking(let again):
            backoff.reset()
            state = .pausing(again: again)
            return .pause(Self.pauseAfterSuccess)
        case .idle, .pausing, .closed: return .doNothing
        }
    }

    mutating func failed(jitter: Double) -> Action {
        switch state {
        case .asking:
            state = .pausing(again: true)
            return .pause(backoff.next(random: jitter))
        case .idle, .pausing, .closed: return .doNothing
        }
    }

    mutating func pauseEnded() -> Action {
        switch state {
        case .pausing(again: true):
            state = .asking(again: false)
            return .ask
        case .pausing(again: false):
            state = .idle
            return .doNothing
        case .idle, .asking, .closed: return .doNothing
        }
    }

    mutating func close() { state = .closed }
}
