// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// One timer for all deadlines of a connection.
///
/// The timer fires at the earliest known deadline and is then armed for the next one. Calls that finish in time never
/// touch it. A call with the usual generous deadline therefore needs no timer of its own.
public struct DeadlineTimer {
    private var scheduled: Scheduled<Void>?
    @usableFromInline var firesAt: ContinuousClock.Instant?

    /// Creates a timer that is not armed.
    public init() {}

    /// Arms the timer so that `fire` is called at `deadline`, or up to 1 ms later. Does nothing if the timer already
    /// fires at that moment or earlier.
    /// - Parameter loop: The event loop on which `fire` is called. The caller must be on it.
    @inlinable
    public mutating func arm(at deadline: ContinuousClock.Instant?, on loop: any EventLoop, fire: @escaping () -> Void)
    {
        guard let deadline, !covers(deadline) else { return }
        set(to: deadline, now: .now, on: loop, fire: fire)
    }

    /// True if the timer fires at `deadline` or earlier.
    @inlinable
    public func covers(_ deadline: ContinuousClock.Instant) -> Bool {
        guard let firesAt else { return false }
        return firesAt <= deadline
    }

    @usableFromInline
    mutating func set(
        to deadline: ContinuousClock.Instant, now: ContinuousClock.Instant, on loop: any EventLoop,
        fire: @escaping () -> Void
    ) {
        scheduled?.cancel()
        firesAt = deadline
        // The event loop's clock can run slightly ahead of this one. Without the extra millisecond the timer could fire
        // before the deadline and find no overdue call.
        scheduled = loop.after(max(.zero, deadline - now) + .milliseconds(1), run: fire)
    }

    /// Records that the timer fired. The next ``arm(at:on:fire:)`` schedules it again.
    public mutating func fired() {
        scheduled = nil
        firesAt = nil
    }

    /// Cancels the timer and releases its closure.
    public mutating func cancel() {
        scheduled?.cancel()
        fired()
    }
}
