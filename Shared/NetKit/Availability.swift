// SPDX-License-Identifier: Apache-2.0

public import Logging
import Synchronization

/// Whether something this process depends on works. The log gets one line when it goes and one when it is back, however many attempts fail in between.
public final class Availability: Sendable {
    private enum State {
        /// Nothing is known yet.
        case unknown
        case available, away, closed
    }

    private let state = Mutex(State.unknown)
    private let flag = Atomic(false)
    private let messages: (gone: Logger.Message, back: Logger.Message)
    private let logger: Logger
    private let record: @Sendable (Bool) -> Void

    /// - Parameters:
    ///   - gone: what the log says when it does not work any more, or never did.
    ///   - back: what the log says when it works again.
    ///   - record: told each change, and false now: shows the value in the metrics. It is called under a lock.
    public init(gone: Logger.Message, back: Logger.Message, logger: Logger, record: @escaping @Sendable (Bool) -> Void) {
        messages = (gone, back)
        self.logger = logger
        self.record = record
        record(false)
    }

    /// Whether it works, as far as is known.
    public var isAvailable: Bool { flag.load(ordering: .relaxed) }

    /// It works, or it does not. The latter is news only if it worked before: see ``failed(_:)``.
    public func update(_ isAvailable: Bool) {
        guard flag.load(ordering: .relaxed) != isAvailable else { return }
        state.withLock { state in
            switch (state, isAvailable) {
            case (.unknown, true), (.away, true):
                if case .away = state { logger.notice(messages.back) }
                state = .available
                set(true)
            case (.available, false):
                state = .away
                set(false)
                logger.error(messages.gone)
            case (.unknown, false), (.available, true), (.away, false), (.closed, _): return
            }
        }
    }

    /// An attempt failed. That is news if no attempt ever succeeded.
    public func failed(_ error: (any Error)? = nil) {
        state.withLock { state in
            guard case .unknown = state else { return }
            state = .away
            logger.error(messages.gone, metadata: error.map { ["error.message": "\($0)"] })
        }
    }

    /// This process stops using it: nothing is news any more.
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
