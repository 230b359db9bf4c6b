// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// The progress of a content transfer, of a fetch of older messages, or of a synchronization.
///
/// Iterate over it to receive the completed fraction, from 0 to 1. The first element is the current fraction. A new
/// element follows after each change until the end; intermediate values may be skipped. Several tasks may iterate
/// concurrently.
///
/// The fraction decreases if an interrupted upload starts again, because the server cannot resume uploads. Downloads
/// resume.
///
/// All members can be used in any isolation. Iteration runs in the isolation of the iterating task.
public final class TransferProgress: Sendable {
    /// The unit of ``total`` and ``completed``.
    public enum Unit: Sendable, Hashable {
        case bytes
        case messages
        case conversations
    }

    enum Request: Sendable, Hashable { case cancel, pause, resume }

    private struct State {
        var total: Int
        var completed = 0
        var isFinished = false
        var isCancelled = false
        var isPaused = false
        var observers: [Int: @Sendable () -> Void] = [:]
        var lastObserver = 0
    }

    /// The unit of ``total`` and ``completed``.
    public let unit: Unit
    /// A Boolean value that indicates whether ``cancel()`` has an effect. Content transfers and fetches of older
    /// messages can be cancelled.
    public let isCancellable: Bool
    /// A Boolean value that indicates whether ``pause()`` has an effect. Downloads can be paused.
    public let isPausable: Bool
    private let state: Mutex<State>
    private let request: @Sendable (Request) -> Void

    /// - Parameter request: called with each request of the app that is possible, until the work has ended.
    init(
        total: Int = 0, unit: Unit = .bytes, isCancellable: Bool = false, isPausable: Bool = false,
        request: @escaping @Sendable (Request) -> Void = { _ in }
    ) {
        state = Mutex(State(total: Swift.max(0, total)))
        self.unit = unit
        self.isCancellable = isCancellable
        self.isPausable = isPausable
        self.request = request
    }

    /// The total amount of work, in the ``unit``; 0 while it is unknown. It can grow, for example if messages arrive
    /// during a fetch of older messages.
    public var total: Int { state.withLock { $0.total } }
    /// The completed amount of work, in the ``unit``.
    public var completed: Int { state.withLock { $0.completed } }
    /// A Boolean value that indicates whether the work has ended: completed, failed or cancelled.
    public var isFinished: Bool { state.withLock { $0.isFinished } }
    /// A Boolean value that indicates whether ``cancel()`` was called before the end.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }
    /// A Boolean value that indicates whether the work is paused until ``resume()``.
    public var isPaused: Bool { state.withLock { $0.isPaused } }
    /// The completed fraction, from 0 to 1. If there is no work or the total is unknown, the fraction is 0 until the
    /// end.
    public var fraction: Double { AggregateProgress([self]).fraction }

    /// Cancels the work, if possible. A message whose upload is cancelled fails. Downloaded bytes and fetched messages
    /// are kept.
    public func cancel() {
        sendRequest(.cancel) { state in
            guard isCancellable, !state.isCancelled else { return false }
            (state.isCancelled, state.isPaused) = (true, false)
            return true
        }
    }

    /// Pauses the work until ``resume()``, if possible. Downloaded bytes are kept. A pause ends with
    /// ``StrataClient/disconnect()``.
    public func pause() {
        sendRequest(.pause) { state in
            guard isPausable, !state.isPaused, !state.isCancelled else { return false }
            state.isPaused = true
            return true
        }
    }

    /// Resumes paused work.
    public func resume() {
        sendRequest(.resume) { state in
            guard state.isPaused else { return false }
            state.isPaused = false
            return true
        }
    }

    /// Sends a request of the app, unless the work has ended or `change` returns false.
    private func sendRequest(_ wish: Request, if change: (inout sending State) -> Bool) {
        if state.withLock({ state in !state.isFinished && change(&state) }) { request(wish) }
    }

    /// Sets the completed amount.
    /// - Parameter total: the new total; nil: unchanged.
    func update(completed: Int, total: Int? = nil) {
        change { state in
            guard !state.isFinished, state.completed != completed || total.map({ $0 != state.total }) ?? false else {
                return false
            }
            state.completed = completed
            state.total = total ?? state.total
            return true
        }
    }

    /// Ends the work and all iterations.
    /// - Parameter isComplete: true if all work was done.
    func finish(isComplete: Bool) {
        change { state in
            guard !state.isFinished else { return false }
            (state.isFinished, state.isPaused) = (true, false)
            if isComplete { state.completed = state.total }
            return true
        }
    }

    /// Registers an observer, which is called after each change until ``removeObserver(_:)``.
    func observe(_ changed: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.lastObserver += 1
            state.observers[state.lastObserver] = changed
            return state.lastObserver
        }
    }

    func removeObserver(_ id: Int) { state.withLock { $0.observers[id] = nil } }

    /// Changes the state. Calls the observers if `body` returns true.
    private func change(_ body: (inout sending State) -> Bool) {
        let observers = state.withLock { state in body(&state) ? Array(state.observers.values) : [] }
        for observer in observers { observer() }
    }
}

extension TransferProgress: Hashable {
    /// Returns true if both are the same object.
    public static func == (a: TransferProgress, b: TransferProgress) -> Bool { a === b }
    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension TransferProgress: AsyncSequence {
    /// The completed fraction.
    public typealias Element = Double
    /// The iteration does not fail.
    public typealias Failure = Never

    /// Returns an iterator whose first element is the current fraction.
    public func makeAsyncIterator() -> AsyncStream<Double>.Iterator { AggregateProgress([self]).makeAsyncIterator() }
}

/// The combined progress of several transfers, for example of all uploads of one message. The transfers should have the
/// same ``TransferProgress/Unit``.
///
/// Iterate over it as over ``TransferProgress``. The iteration ends when all transfers have ended.
public struct AggregateProgress: Sendable {
    /// The individual transfers.
    public let children: [TransferProgress]

    /// Creates the combined progress of transfers.
    public init(_ children: [TransferProgress]) { self.children = children }

    /// The total amount of all transfers.
    public var total: Int { children.map(\.total).clampedSum }
    /// The completed amount of all transfers.
    public var completed: Int { children.map(\.completed).clampedSum }
    /// A Boolean value that indicates whether all transfers have ended.
    public var isFinished: Bool { children.allSatisfy(\.isFinished) }
    /// A Boolean value that indicates whether all unfinished transfers are paused.
    public var isPaused: Bool { !isFinished && children.allSatisfy { $0.isFinished || $0.isPaused } }
    /// A Boolean value that indicates whether all unfinished transfers can be cancelled.
    public var isCancellable: Bool { children.allSatisfy { $0.isFinished || $0.isCancellable } }
    /// A Boolean value that indicates whether all unfinished transfers can be paused.
    public var isPausable: Bool { children.allSatisfy { $0.isFinished || $0.isPausable } }
    /// The completed fraction, from 0 to 1. If there is no work, the fraction is 0 until all transfers have ended.
    public var fraction: Double {
        let total = total
        return total == 0 ? (isFinished ? 1 : 0) : Swift.min(Double(completed) / Double(total), 1)
    }

    /// Cancels all unfinished transfers that can be cancelled.
    public func cancel() {
        for child in children { child.cancel() }
    }

    /// Pauses all unfinished transfers that can be paused.
    public func pause() {
        for child in children { child.pause() }
    }

    /// Resumes all paused transfers.
    public func resume() {
        for child in children { child.resume() }
    }
}

extension AggregateProgress: AsyncSequence {
    /// The completed fraction.
    public typealias Element = Double
    /// The iteration does not fail.
    public typealias Failure = Never

    /// Returns an iterator whose first element is the current fraction.
    public func makeAsyncIterator() -> AsyncStream<Double>.Iterator {
        let (stream, continuation) = AsyncStream.makeStream(of: Double.self, bufferingPolicy: .bufferingNewest(1))
        // Transfers change concurrently. Without the lock, an older fraction could follow a newer one.
        let lock = SerialLock()
        let tell: @Sendable () -> Void = {
            lock.withLock { _ = continuation.yield(fraction) }
            if isFinished { continuation.finish() }
        }
        let observers = children.map { ($0, $0.observe(tell)) }
        continuation.onTermination = { _ in
            for (child, id) in observers { child.removeObserver(id) }
        }
        tell()
        return stream.makeAsyncIterator()
    }
}

/// A lock that one thread at a time holds while it runs the given code.
private final class SerialLock: Sendable {
    private let mutex = Mutex(())
    func withLock(_ body: () -> Void) { mutex.withLock { _ in body() } }
}

extension Sequence<Int> {
    /// The sum of the non-negative elements, clamped to `Int.max`. For sizes and counts that the server has sent.
    var clampedSum: Int {
        reduce(0) { sum, number in
            let (value, hasOverflowed) = sum.addingReportingOverflow(Swift.max(0, number))
            return hasOverflowed ? .max : value
        }
    }
}
