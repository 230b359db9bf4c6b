// SPDX-License-Identifier: Apache-2.0

import NetKit

/// Decides when a child is started, how long to wait after it died, and when there is nothing left to do. Pure: time enters as a parameter.
///
/// A child that dies is started again almost at once; one that keeps dying waits twice as long each time. Having lived for a while it is
/// forgiven everything.
struct SupervisionStateMachine: Sendable {
    /// How long to wait before a child is started again.
    struct BackOff: Sendable, Equatable {
        var first = Duration.milliseconds(100)
        var longest = Duration.seconds(10)
        /// A child that lives this long starts again with the first pause.
        var forgivenAfter = Duration.seconds(15)
    }

    /// What the owner has to do.
    enum Action: Equatable {
        /// Make the process.
        case start
        /// Call ``pauseElapsed()`` after this long.
        case pause(Duration)
        /// Ask the process to end.
        case stopChild
        case finish
        /// Wait for what comes.
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
    /// How many times the child has been started again.
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

    /// The process has been made.
    mutating func started(at now: ContinuousClock.Instant) -> Action {
        switch state {
        case .starting:
            state = .running(since: now)
            return .nothing
        case .stopping: return .stopChild
        case .idle, .running, .pausing, .finished: preconditionFailure("a child started without a request")
        }
    }

    /// The process could not be made.
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
            if since.duration(to: now) >= backOff.forgivenAfter { pauses.reset() }
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

    /// The owner wants the child to be gone.
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
        // Without chance: there is one child, and nothing to spread.
        return .pause(pauses.next(random: 1))
    }
}
