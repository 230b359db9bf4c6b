// SPDX-License-Identifier: Apache-2.0
import NetKit

/// A clock with the instants of `ContinuousClock`, so that state machines need no type parameter for their times.
///
/// The library uses `ContinuousClock`; tests use a clock that they advance manually.
protocol MonotonicClock: Clock<Duration> where Instant == ContinuousClock.Instant {}

extension ContinuousClock: MonotonicClock {}

extension Wakeup {
    /// Waits for a signal, until the deadline of a clock, or until the task is cancelled.
    func wait(until deadline: ContinuousClock.Instant?, clock: any MonotonicClock) async {
        await wait(until: deadline) { try? await clock.sleep(until: $0, tolerance: nil) }
    }
}
