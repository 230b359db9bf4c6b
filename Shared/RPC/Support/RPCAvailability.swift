// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Logging
import Synchronization

/// Whether a service can be called: shown as `strata_dependency_up{dependency="…"}`, and logged once when its last instance goes and once when there is one
/// again, however many attempts and calls fail in between.
final class RPCAvailability: Sendable {
    private enum State {
        /// Nothing was tried yet.
        case unknown
        case available, away, closed
    }

    private let state = Mutex(State.unknown)
    private let gauge: Gauge
    private let logger: Logger
    private let name: String

    init(_ name: String, logger: Logger) {
        self.name = name
        self.logger = logger
        gauge = Gauge(label: "strata_dependency_up", dimensions: [("dependency", name)])
        gauge.record(0)
    }

    /// What is known now.
    /// - Parameters:
    ///   - ready: instances that take calls.
    ///   - isSettled: whether connecting was tried.
    func update(ready: Int, isSettled: Bool, isClosed: Bool) {
        state.withLock { state in
            switch (state, ready > 0) {
            case (.closed, _): return
            case (_, _) where isClosed:
                state = .closed
                gauge.record(0)
            case (.unknown, true), (.away, true):
                gauge.record(1)
                if case .away = state { logger.notice("a service is available again", metadata: ["service": "\(name)"]) }
                state = .available
            case (.unknown, false) where !isSettled: return
            case (.unknown, false), (.available, false):
                state = .away
                gauge.record(0)
                logger.error("a service is unavailable", metadata: ["service": "\(name)"])
            case (.available, true), (.away, false): return
            }
        }
    }
}
