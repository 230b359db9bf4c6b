// SPDX-License-Identifier: Apache-2.0

public import Logging
import Synchronization

/// The availability of a dependency of this process, with its log messages and its metric.
///
/// The log gets one line when the dependency fails and one when it recovers, however many attempts fail in between.
public final class Availability: Sendable {
    private enum State {
        case unknown
        case available, away, closed
    }

    private let state = Mutex(State.unknown)
    private let flag = Atomic(false)
    private let messages: (failure: Logger.Message, recovery: Logger.Message)
    private let logger: Logger
    private let record: @Sendable (Bool) -> Void

    /// - Parameters:
    ///   - failureMessage: The log message when the dependency stops working, or when the first attempt fails.
    ///   - recoveryMessage: The log message when the dependency works again.
    ///   - record: Called under a lock with each new value, and with false by this initializer. It updates the metric.
    public init(
        failureMessage: Logger.Message, recoveryMessage: Logger.Message, logger: Logger,
        record: @escaping @Sendable (Bool) -> Void
    ) {
        messages = (failureMessage, recoveryMessage)
        self.logger = logger
        self.record = record
        record(false)
    }

    /// True if the dependency is known to work.
    public var isAvailable: Bool { flag.load(ordering: .relaxed) }

    /// Records that the dependency works, or that it does not.
    ///
    /// A failure is logged only if the dependency worked before. ``failed(_:)`` logs a failure of the first attempt.
    public func update(_ isAvailable: Bool) {
        guard flag.load(ordering: .relaxed) != isAvailable else { return }
        state.withLock { state in
            switch (state, isAvailable) {
            case (.unknown, true), (.away, true):
                if case .away = state { logger.notice(messages.recovery) }
                state = .available
                set(true)
            case (.available, false):
                state = .away
                set(false)
                logger.error(messages.failure)
            case (.unknown, false), (.available, true), (.away, false), (.closed, _): return
            }
        }
    }

    /// Records a failed attempt. It is logged only if no attempt has succeeded or failed before.
    public func failed(_ error: (any Error)? = nil) {
        state.withLock { state in
            guard case .unknown = state else { return }
            state = .away
            logger.error(messages.failure, metadata: error.map { ["error.message": "\($0)"] })
        }
    }

    /// Stops the reporting, because this process no longer uses the dependency. Later updates are ignored.
    public func close() {
        state.withLock { state in
            state = .closed
            set(false)
        }
    }

    private func set(_ isAvailable: Bool) {
        flag.store(isAvailable, ordering: .relaxed)
        record(isAvailable)
    }
}
