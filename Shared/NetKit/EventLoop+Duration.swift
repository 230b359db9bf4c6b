// SPDX-License-Identifier: Apache-2.0

public import NIOCore

extension Duration {
    /// The same time for NIO, without overflow and never negative.
    public var timeAmount: TimeAmount {
        .nanoseconds(Int64(min(max(self / .nanoseconds(1), 0), 1e18)))
    }
}

extension EventLoop {
    /// Runs `body` on this event loop, on which the caller must be, after a time.
    @discardableResult
    public func after(_ pause: Duration, run body: @escaping () -> Void) -> Scheduled<Void> {
        assumeIsolated().scheduleTask(in: pause.timeAmount) { body() }
    }
}
