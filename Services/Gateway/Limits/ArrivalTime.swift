// SPDX-License-Identifier: Apache-2.0
import NIOCore

/// The time limit for the arrival of a body or message. The base is ``timeout``; it is extended while the average rate
/// exceeds a minimum.
///
/// While the input budget is tight, a third of the time remains, and the minimum rate is a hundred times as high.
/// Otherwise few connections could occupy a large part of the budget for half an hour each.
struct ArrivalTime: Sendable {
    /// The minimum rate. Any usable connection is faster.
    static let bytesPerSecond = 500.0
    /// The minimum rate while the budget is tight.
    static let tightBytesPerSecond = 50_000.0

    let timeout: TimeAmount

    /// The time between two checks.
    var step: TimeAmount { .nanoseconds(max(1_000_000, timeout.nanoseconds / 3)) }

    /// Returns the time until the next check, or nil if the sender is too slow.
    /// - Parameters:
    ///   - elapsed: the time since the first byte.
    ///   - bytes: the number of bytes received in this time.
    func nextCheck(after elapsed: TimeAmount, bytes: Int, isTight: Bool) -> TimeAmount? {
        let base = isTight ? step : timeout
        let rate = isTight ? Self.tightBytesPerSecond : Self.bytesPerSecond
        let allowed = TimeAmount.nanoseconds(max(base.nanoseconds, Int64(min(Double(bytes) / rate, 1e9) * 1e9)))
        guard elapsed < allowed else { return nil }
        return min(step, allowed - elapsed + .milliseconds(1))
    }
}
