// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel

/// The requests for pending changes of one engine: the schedule, the target conversations and the retry times.
///
/// A value without tasks: the engine sends the requests and reports their results.
struct EngineRequests {
    typealias Instant = ContinuousClock.Instant

    private var schedule = OutgoingSchedule()
    private let retries = RetryPolicy()
    /// The conversations to which requests were sent. A distinct conversation may have a new id when the answer
    /// arrives.
    private var targets: [UUID: ConversationID] = [:]
    /// The time at which to end operations whose last packets may be missing.
    private var finishAt: Instant?

    /// The time at which the engine must check the queue again; nil: no timer is needed.
    var deadline: Instant? { [schedule.nextRetry, finishAt].compactMap { $0 }.min() }
    var unanswered: Set<UUID> { schedule.unanswered }
    /// The number of attempts after which a change is given up.
    var tries: Int { retries.tries }

    mutating func nextSteps(for queue: OutgoingQueue, hasSocket: Bool, now: Instant) -> [OutgoingSchedule.Step] {
        schedule.nextSteps(for: queue, hasSocket: hasSocket, now: now)
    }

    mutating func sent(_ operation: QueuedOperation) { targets[operation.id] = operation.conversation }

    /// Reports the answer to a request.
    /// - Returns: the conversation to which the request was sent.
    mutating func answered(_ id: UUID) -> ConversationID? {
        schedule.operationEnded(id)
        return targets.removeValue(forKey: id)
    }

    /// Reports that an operation was not sent, or that its upload has ended.
    mutating func ended(_ id: UUID) { schedule.operationEnded(id) }

    /// Suspends the operation's lane for a time.
    mutating func suspend(_ operation: QueuedOperation, for pause: Duration) {
        schedule.suspend(OutgoingSchedule.lane(of: operation), until: .now + pause)
    }

    /// Schedules a retry of a failed request.
    /// - Parameters:
    ///   - requested: the delay that the server requests.
    ///   - random: a random number in 0..<1.
    /// - Returns: false if the maximum number of attempts is reached.
    mutating func retry(_ operation: QueuedOperation, requested: Duration?, random: Double) -> Bool {
        guard operation.tries + 1 < retries.tries else { return false }
        suspend(operation, for: retries.delay(after: operation.tries + 1, requested: requested, random: random))
        return true
    }

    // MARK: The end of operations

    /// Sets the time until which packets of answered changes are awaited.
    mutating func finishOperations(at time: Instant) { finishAt = time }

    /// Clears the time set by ``finishOperations(at:)`` if it has passed.
    /// - Returns: true if it has passed.
    mutating func takeFinish(at now: Instant) -> Bool {
        guard let finishAt, finishAt <= now else { return false }
        self.finishAt = nil
        return true
    }

    // MARK: The connection

    /// Reports a new connection: all retry delays end.
    mutating func connected() { schedule.connected() }

    mutating func socketLost() { schedule.socketLost() }

    /// Resets the requests when the engine stops. Unsent and unanswered requests are repeated in the next run.
    mutating func stopped() {
        schedule = OutgoingSchedule()
        targets = [:]
    }
}
