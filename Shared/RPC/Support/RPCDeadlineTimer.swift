// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// One timer for all deadlines of a connection.
///
/// It fires at the earliest deadline it knows of and is then set to the next one. Calls that finish in time never touch it, so that a call
/// with the usual generous deadline costs no timer at all.
struct RPCDeadlineTimer {
    private var scheduled: Scheduled<Void>?
    private var firesAt: ContinuousClock.Instant?

    /// Makes sure that `fire` is called at `deadline`; does nothing if the timer is set to that moment or an earlier one.
    mutating func arm(at deadline: ContinuousClock.Instant?, on loop: any EventLoop, fire: @escaping () -> Void) {
        guard let deadline else { return }
        if let firesAt, firesAt <= deadline { return }
        scheduled?.cancel()
        firesAt = deadline
        let wait = max(.zero, deadline - .now) + .milliseconds(1)
        scheduled = loop.assumeIsolated().scheduleTask(in: TimeAmount(wait)) { fire() }
    }

    /// The timer has fired: the next ``arm(at:on:fire:)`` sets it anew.
    mutating func fired() {
        scheduled = nil
        firesAt = nil
    }

    /// Releases what the timer holds.
    mutating func cancel() {
        scheduled?.cancel()
        fired()
    }
}
