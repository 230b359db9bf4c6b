// SPDX-License-Identifier: Apache-2.0

/// A schedule of operations at a fixed rate, free of coordinated omission.
///
/// Operation `n` is due at `start + n / rate`, whether or not earlier operations were answered, and whether or not the
/// generator was late. Latencies count from the due time, so a stall lengthens every operation that it delayed.
struct FixedRateSchedule: Sendable {
    /// The due time of operation 0: nanoseconds of the monotonic clock.
    let start: UInt64
    /// Operations per second.
    let rate: Double
    /// The number of operations.
    let count: Int
    /// The number of operations that ``takeDue(at:atMost:)`` has returned.
    private(set) var issued = 0

    /// Creates the schedule of all operations due within a duration.
    /// - Parameters:
    ///   - rate: Operations per second, greater than 0.
    ///   - seconds: The duration.
    init(start: UInt64, rate: Double, seconds: Double) {
        self.start = start
        self.rate = rate
        count = max(0, Int((rate * seconds).rounded()))
    }

    /// Returns the time at which an operation is due. It is computed from the start, so rounding errors do not add up.
    func dueTime(of operation: Int) -> UInt64 { start + UInt64(Double(operation) * 1e9 / rate) }

    /// The due time of the next operation; nil if all were issued.
    var nextDue: UInt64? { issued < count ? dueTime(of: issued) : nil }

    /// Returns the operations that are due and were not returned before, oldest first.
    /// - Parameters:
    ///   - now: The time in nanoseconds.
    ///   - limit: The maximum number. The remaining operations stay due.
    mutating func takeDue(at now: UInt64, atMost limit: Int = .max) -> Range<Int> {
        let first = issued
        while issued < count, issued - first < limit, dueTime(of: issued) <= now { issued += 1 }
        return first..<issued
    }
}
