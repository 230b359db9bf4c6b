// SPDX-License-Identifier: Apache-2.0

/// A clock with the instants of `ContinuousClock`, so that state machines need no type parameter for their times.
///
/// The library uses `ContinuousClock`; tests use a clock that they advance manually.
protocol MonotonicClock: Clock<Duration> where Instant == ContinuousClock.Instant {}

extension ContinuousClock: MonotonicClock {}
