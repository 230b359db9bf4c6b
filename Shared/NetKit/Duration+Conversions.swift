// SPDX-License-Identifier: Apache-2.0
public import NIOCore

extension Duration {
    /// The duration as a NIO `TimeAmount`, clamped to 0…10^18 ns so that it cannot overflow.
    public var timeAmount: TimeAmount {
        .nanoseconds(Int64(min(max(self / .nanoseconds(1), 0), 1e18)))
    }
}

extension EventLoop {
    /// Schedules `body` on this event loop after a pause. The caller must be on the event loop.
    @discardableResult
    public func after(_ pause: Duration, run body: @escaping () -> Void) -> Scheduled<Void> {
        assumeIsolated().scheduleTask(in: pause.timeAmount) { body() }
    }
}

extension Duration {
    /// The duration in whole nanoseconds, rounded towards zero. Metric timers take this unit.
    public var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000
    }

    /// The duration in whole milliseconds, rounded towards zero.
    public var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds &* 1000 &+ attoseconds / 1_000_000_000_000_000
    }
}
