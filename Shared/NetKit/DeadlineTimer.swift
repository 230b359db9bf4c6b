// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// One timer for all deadlines of a connection.
///
/// It fires at the earliest deadline it knows of and is then set to the next one. Calls that finish in time never touch it, so that a call with the usual
/// generous deadline costs no timer at all.
public struct DeadlineTimer {
    private var scheduled: Scheduled<Void>?
    @usableFromInline var firesAt: ContinuousClock.Instant?

    /// A timer that is not set.
    public init() {}

    /// Makes sure that `fire` is called at `deadline`, or up to a millisecond later; does nothing if the timer is set to that moment or an earlier one.
    /// - Parameter loop: the caller is on it, and `fire` is called on it.
    @inlinable
    public mutating func arm(at deadline: ContinuousClock.Instant?, on loop: any EventLoop, fire: @escaping () -> Void) {
        guard let deadline, !covers(deadline) else { return }
        set(to: deadline, now: .now, on: loop, fire: fire)
    }

    /// Whether the timer is set to this moment or an earlier one.
    @inlinable
    public func covers(_ deadline: ContinuousClock.Instant) -> Bool {
        guard let firesAt else { return false }
        return firesAt <= deadline
    }

    @usableFromInline
    mutating func set(to deadline: ContinuousClock.Instant, now: ContinuousClock.Instant, on loop: any EventLoop, fire: @escaping () -> Void) {
        scheduled?.cancel()
        firesAt = deadline
        // A timer may fire a little before its time by another clock, and would find nothing that is late.
        scheduled = loop.after(max(.zero, deadline - now) + .milliseconds(1), run: fire)
    }

    /// The timer has fired: the next ``arm(at:on:fire:)`` sets it anew.
    public mutating func fired() {
        scheduled = nil
        firesAt = nil
    }

    /// Releases what the timer holds.
    public mutating func cancel() {
        scheduled?.cancel()
        fired()
    }
}
