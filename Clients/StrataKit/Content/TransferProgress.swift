// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// The progress of an upload or download of content, of a fetch of older messages, or of a synchronization.
///
/// Iterate over it for the fraction that is done, from 0 to 1: the present one first, then the newest whenever it has changed, until it is over. Several
/// tasks may iterate at once. The fraction goes back if an upload has to begin again: the server takes uploads whole, so one that broke off cannot be
/// resumed. Downloads are.
///
/// All members can be used in any isolation, and a loop over it runs in the isolation of the task that has it.
public final class TransferProgress: Sendable {
    /// What ``total`` and ``completed`` count.
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

    /// The unit of the counts.
    public let unit: Unit
    /// Whether ``cancel()`` has an effect. Transfers of content and fetches of older messages can be cancelled.
    public let isCancellable: Bool
    /// Whether ``pause()`` has an effect. Downloads can be paused.
    public let isPausable: Bool
    private let state: Mutex<State>
    private let request: @Sendable (Request) -> Void

    /// - Parameter request: called with a request of the app, if it is possible and the work has not ended.
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

    /// The whole amount, in the ``unit``. 0 while it is not known. It may grow, for example when messages arrive during a fetch of older ones.
    public var total: Int { state.withLock { $0.total } }
    /// The completed amount.
    public var completed: Int { state.withLock { $0.completed } }
    /// Whether the work has ended: done, failed or cancelled.
    public var isFinished: Bool { state.withLock { $0.isFinished } }
    /// Whether ``cancel()`` came before the end.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }
    /// Whether the work waits for ``resume()``.
    public var isPaused: Bool { state.withLock { $0.isPaused } }
    /// From 0 to 1. Where there is nothing to be done, or the total is not known, it is 0 until the end.
    public var fraction: Double { AggregateProgress([self]).fraction }

    /// Cancels the work, if that is possible. A message whose upload is cancelled is not sent: it fails. Bytes that were downloaded are kept for the next time,
    /// and so are messages that were fetched.
    public func cancel() {
        sendRequest(.cancel) { state in
            guard isCancellable, !state.isCancelled else { return false }
            (state.isCancelled, state.isPaused) = (true, false)
            return true
        }
    }

    /// Pauses the work until ``resume()``, if that is possible. Bytes that were downloaded are kept. A pause does not outlast the connection that the app has
    /// requested: it ends with ``StrataClient/disconnect()``.
    public func pause() {
        sendRequest(.pause) { state in
            guard isPausable, !state.isPaused, !state.isCancelled else { return false }
            state.isPaused = true
            return true
        }
    }

    /// Continues after ``pause()``.
    public func resume() {
        sendRequest(.resume) { state in
            guard state.isPaused else { return false }
            state.isPaused = false
            return true
        }
    }

    private func sendRequest(_ wish: Request, if change: (inout sending State) -> Bool) {
        if state.withLock({ state in !state.isFinished && change(&state) }) { request(wish) }
    }

    /// Sets how much is done.
    /// - Parameter total: the new total. Nil leaves it unchanged.
    func update(completed: Int, total: Int? = nil) {
        change { state in
            guard !state.isFinished, state.completed != completed || total.map({ $0 != state.total }) ?? false else { return false }
            state.completed = completed
            state.total = total ?? state.total
            return true
        }
    }

    /// Ends all iterations.
    /// - Parameter isComplete: whether all is done.
    func finish(isComplete: Bool) {
        change { state in
            guard !state.isFinished else { return false }
            (state.isFinished, state.isPaused) = (true, false)
            if isComplete { state.completed = state.total }
            return true
        }
    }

    /// Calls `changed` after each change, until ``removeObserver(_:)``.
    func observe(_ changed: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.lastObserver += 1
            state.observers[state.lastObserver] = changed
            return state.lastObserver
        }
    }

    func removeObserver(_ id: Int) { state.withLock { $0.observers[id] = nil } }

    private func change(_ body: (inout sending State) -> Bool) {
        let observers = state.withLock { state in body(&state) ? Array(state.observers.values) : [] }
        for observer in observers { observer() }
    }
}

extension TransferProgress: Hashable {
    /// Whether both are the same object.
    public static func == (a: TransferProgress, b: TransferProgress) -> Bool { a === b }
    /// Of the object.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension TransferProgress: AsyncSequence {
    /// The fraction that is done.
    public typealias Element = Double
    /// Iterating does not fail.
    public typealias Failure = Never

    /// Begins with the present fraction.
    public func makeAsyncIterator() -> AsyncStream<Double>.Iterator { AggregateProgress([self]).makeAsyncIterator() }
}

/// The progress of several transfers together, for example of all uploads of one message. They should have the same ``TransferProgress/Unit``.
///
/// Iterate over it as over ``TransferProgress``. The iteration ends when all of them have ended.
public struct AggregateProgress: Sendable {
    /// The transfers.
    public let children: [TransferProgress]

    /// The progress of these transfers together.
    public init(_ children: [TransferProgress]) { self.children = children }

    /// The whole amount of all transfers.
    public var total: Int { children.map(\.total).clampedSum }
    /// The completed amount.
    public var completed: Int { children.map(\.completed).clampedSum }
    /// Whether all transfers are over.
    public var isFinished: Bool { children.allSatisfy(\.isFinished) }
    /// Whether all transfers that are not over wait for ``resume()``.
    public var isPaused: Bool { !isFinished && children.allSatisfy { $0.isFinished || $0.isPaused } }
    /// Whether all transfers that are not over can be cancelled.
    public var isCancellable: Bool { children.allSatisfy { $0.isFinished || $0.isCancellable } }
    /// Whether all transfers that are not over can be paused.
    public var isPausable: Bool { children.allSatisfy { $0.isFinished || $0.isPausable } }
    /// From 0 to 1. Where there is nothing to be done, it is 0 until all transfers are over.
    public var fraction: Double {
        let total = total
        return total == 0 ? (isFinished ? 1 : 0) : Swift.min(Double(completed) / Double(total), 1)
    }

    /// Cancels all transfers that are not over and can be cancelled.
    public func cancel() {
        for child in children { child.cancel() }
    }

    /// Pauses all transfers that are not over and can be paused.
    public func pause() {
        for child in children { child.pause() }
    }

    /// Resumes all paused transfers.
    public func resume() {
        for child in children { child.resume() }
    }
}

extension AggregateProgress: AsyncSequence {
    /// The fraction that is done.
    public typealias Element = Double
    /// Iterating does not fail.
    public typealias Failure = Never

    /// Begins with the present fraction.
    public func makeAsyncIterator() -> AsyncStream<Double>.Iterator {
        let (stream, continuation) = AsyncStream.makeStream(of: Double.self, bufferingPolicy: .bufferingNewest(1))
        // Transfers change at the same time. Without the lock, an older fraction could follow a newer one.
        let turn = TurnTaker()
        let tell: @Sendable () -> Void = {
            turn.takeTurn { _ = continuation.yield(fraction) }
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

/// A lock: one thread at a time runs the given code.
private final class TurnTaker: Sendable {
    private let lock = Mutex(())
    func takeTurn(_ body: () -> Void) { lock.withLock { _ in body() } }
}
