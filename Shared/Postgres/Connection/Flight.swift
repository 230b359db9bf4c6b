// SPDX-License-Identifier: Apache-2.0

/// How long to wait for the answer to what was sent: first patiently, then with a cancel request, then not at all.
struct Flight: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Step: Equatable {
        /// Wait for input, at most until then.
        case wait(until: Instant?)
        /// Ask the server to cancel, then ask again.
        case cancel
        /// Give the connection up.
        case abandon
    }

    private enum Phase {
        case flying(limit: Instant?)
        case cancelling(limit: Instant)
    }

    private var phase: Phase
    private let grace: Duration

    /// A healthy group takes milliseconds. It gets at least this long even if a member's deadline is nearer, or else members with short deadlines
    /// would have group after group rolled back exactly when the server is busy.
    static let minimum: Duration = .milliseconds(100)

    init(sentAt: Instant, deadline: Instant?, longest: Duration?, grace: Duration) {
        var limit = deadline.map { max($0, sentAt.advanced(by: Self.minimum)) }
        if let longest {
            let cap = sentAt.advanced(by: longest)
            limit = limit.map { min($0, cap) } ?? cap
        }
        phase = .flying(limit: limit)
        self.grace = grace
    }

    /// Whether a cancel request was sent.
    var isCancelling: Bool {
        if case .cancelling = phase { true } else { false }
    }

    mutating func next(now: Instant) -> Step {
        switch phase {
        case .flying(let limit):
            guard let limit, now >= limit else { return .wait(until: limit) }
            return cancel(now: now)
        case .cancelling(let limit):
            return now >= limit ? .abandon : .wait(until: limit)
        }
    }

    /// The caller does not wait for the answer any more.
    mutating func cancel(now: Instant) -> Step {
        switch phase {
        case .flying:
            phase = .cancelling(limit: now.advanced(by: grace))
            return .cancel
        case .cancelling(let limit):
            return .wait(until: limit)
        }
    }
}
