// SPDX-License-Identifier: Apache-2.0

import NetKit

/// A state machine that decides when to start a child, how long to wait after its death, and when to finish. It is
/// pure; time is a parameter.
///
/// A child that dies is restarted almost at once. The pause doubles with each further death. After the child has lived
/// for ``BackOff/resetAfter``, the pause is reset.
struct SupervisionStateMachine: Sendable {
    /// The pauses between restarts.
    struct BackOff: Sendable, Equatable {
        var first = Duration.milliseconds(100)
        var longest = Duration.seconds(10)
        /// The lifetime after which the pause is reset to the first one.
        var resetAfter = Duration.seconds(15)
    }

    enum Action: Equatable {
        case start
        /// Call ``pauseElapsed()`` after this pause.
        case pause(Duration)
        case stopChild
        case finish
        /// Wait for the next event.
        case nothing
    }

    private enum State: Equatable {
        case idle
        case starting
        case running(since: ContinuousClock.Instant)
        case pausing
        case stopping
        case finished
    }

    private let backOff: BackOff
    private var state = State.idle
    private var pauses: Backoff
    private(set) var restarts = 0

    init(backOff: BackOff = BackOff()) {
        self.backOff = backOff
        pauses = Backoff(initial: backOff.first, maximum: backOff.longest)
    }

    mutating func begin() -> Action {
        switch state {
        case .idle:
            state = .starting
            return .start
        case .starting, .running, .pausing, .stopping: return .nothing
        case .finished: return .finish
        }
    }

    mutating func started(at now: ContinuousClock.Instant) -> Action {
        switch state {
        case .starting:
            state = .running(since: now)
            return .nothing
        case .stopping: return .stopChild
        case .idle, .running, .pausing, .finished: preconditionFailure("a child started without a request")
        }
    }

    mutating func startFailed() -> Action {
        switch state {
        case .starting: return pause()
        case .stopping:
            state = .finished
            return .finish
        case .idle, .running, .pausing, .finished: preconditionFailure("a start failed without a request")
        }
    }

    mutating func processEnded(at now: ContinuousClock.Instant) -> Action {
        switch state {
        case .running(let since):
            if since.duration(to: now) >= backOff.resetAfter { pauses.reset() }
            return pause()
        case .stopping:
            state = .finished
            return .finish
        case .idle, .starting, .pausing, .finished: preconditionFailure("a child ended that did not run")
        }
    }

    mutating func pauseElapsed() -> Action {
        switch state {
        case .pausing:
            state = .starting
            restarts += 1
            return .start
        case .finished: return .finish
        case .idle, .starting, .running, .stopping: return .nothing
        }
    }

    mutating func stopRequested() -> Action {
        switch state {
        case .idle, .pausing:
            state = .finished
            return .finish
        case .starting:
            state = .stopping
            return .nothing
        case .running:
            state = .stopping
            return .stopChild
        case .stopping: return .nothing
        case .finished: return .finish
        }
    }

    private mutating func pause() -> Action {
        state = .pausing
        // No jitter, because there is only one child.
        return .pause(pauses.next(random: 1))
    }
}
