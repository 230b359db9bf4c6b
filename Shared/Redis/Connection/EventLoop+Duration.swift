// SPDX-License-Identifier: Apache-2.0

import NIOCore

extension Duration {
    /// The same in NIO's terms, without overflow and never negative.
    var timeAmount: TimeAmount {
        let nanoseconds = self / .nanoseconds(1)
        return .nanoseconds(Int64(min(max(nanoseconds, 0), 1e18)))
    }
}

extension EventLoop {
    /// Runs `body` on this event loop, on which the caller must be, after a time.
    @discardableResult
    func after(_ pause: Duration, _ body: @escaping () -> Void) -> Scheduled<Void> {
        assumeIsolated().scheduleTask(in: pause.timeAmount) { body() }
    }
}
