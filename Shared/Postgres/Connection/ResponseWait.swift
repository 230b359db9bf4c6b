// SPDX-License-Identifier: Apache-2.0

/// The wait for a response to sent statements: first until a limit, then for a cancel request to take effect, then
/// abandoned.
struct ResponseWait: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Step: Equatable {
        /// Wait for input, until this time at most.
        case wait(until: Instant?)
        /// Send a cancel request, then call ``next(now:)`` again.
        case cancel
        /// Close the connection.
        case abandon
    }

    private enum Phase {
        case waiting(limit: Instant?)
        case cancelling(limit: Instant)
    }

    private var phase: Phase
    private let grace: Duration

    /// The minimum time for a group, even if a member's deadline is earlier: 100 ms. A healthy group takes
    /// milliseconds. Without the minimum, short deadlines would have group after group rolled back when the server is
    /// busy.
    static let minimum: Duration = .milliseconds(100)

    init(sentAt: Instant, deadline: Instant?, longest: Duration?, grace: Duration) {
        var limit = deadline.map { max($0, sentAt.advanced(by: Self.minimum)) }
        if let longest {
            let cap = sentAt.advanced(by: longest)
            limit = limit.map { min($0, cap) } ?? cap
        }
        phase = .waiting(limit: limit)
        self.grace = grace
    }

    var isCancelling: Bool {
        if case .cancelling = phase { true } else { false }
    }

    mutating func next(now: Instant) -> Step {
        switch phase {
        case .waiting(let limit):
            guard let limit, now >= limit else { return .wait(until: limit) }
            return cancel(now: now)
        case .cancelling(let limit):
            return now >= limit ? .abandon : .wait(until: limit)
        }
    }

    /// Cancels the wait because the caller no longer needs the response.
    mutating func cancel(now: Instant) -> Step {
        switch phase {
        case .waiting:
            phase = .cancelling(limit: now.advanced(by: grace))
            return .cancel
        case .cancelling(let limit):
            return .wait(until: limit)
        }
    }
}
