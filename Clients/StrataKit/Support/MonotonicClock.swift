// SPDX-License-Identifier: Apache-2.0

/// A clock whose instants are those of `ContinuousClock`, so that state machines need no type parameter for their times.
///
/// The library uses `ContinuousClock`; tests use a clock that they move by hand.
protocol MonotonicClock: Clock<Duration> where Instant == ContinuousClock.Instant {}

extension ContinuousClock: MonotonicClock {}
