// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel

/// The pending changes that one engine is about to send, or has sent: which come next, where they went, and when they are tried again.
///
/// A value without tasks: the engine sends, and says what has come of it.
struct EngineRequests {
    typealias Instant = ContinuousClock.Instant

    private var schedule = OutgoingSchedule()
    private let retries = RetryPolicy()
    /// The conversations to which creates were sent; a distinct one may have another id by the time of the answer.
    private var targets: [UUID: ConversationID] = [:]
    /// When to end operations whose last packets may be missing.
    private var finishAt: Instant?

    /// When the engine must look again; nil: no timer is needed.
    var deadline: Instant? { [schedule.nextRetry, finishAt].compactMap { $0 }.min() }
    /// Operations whose answers are awaited.
    var unanswered: Set<UUID> { schedule.unanswered }
    /// How often a request is made before its change is given up.
    var tries: Int { retries.tries }

    /// What is to be sent or uploaded now.
    mutating func nextSteps(for queue: OutgoingQueue, hasSocket: Bool, now: Instant) -> [OutgoingSchedule.Step] {
        schedule.nextSteps(for: queue, hasSocket: hasSocket, now: now)
    }

    mutating func sent(_ operation: QueuedOperation) { targets[operation.id] = operation.conversation }

    /// A request was answered.
    /// - Returns: the conversation to which it was sent.
    mutating func answered(_ id: UUID) -> ConversationID? {
        schedule.operationEnded(id)
        return targets.removeValue(forKey: id)
    }

    /// Nothing was sent, or an upload is over.
    mutating func ended(_ id: UUID) { schedule.operationEnded(id) }

    /// What waits for the operation waits for so long.
    mutating func rest(_ operation: QueuedOperation, for pause: Duration) {
        schedule.rest(OutgoingSchedule.lane(of: operation), until: .now + pause)
    }

    /// A request failed, and may be made again after a pause.
    /// - Parameters:
    ///   - asked: the pause that the server asks for.
    ///   - random: from 0 up to 1.
    /// - Returns: false if it was made often enough.
    mutating func retry(_ operation: QueuedOperation, asked: Duration?, random: Double) -> Bool {
        guard operation.tries + 1 < retries.tries else { return false }
        rest(operation, for: retries.delay(after: operation.tries + 1, asked: asked, random: random))
        return true
    }

    // MARK: The end of operations

    /// Packets of answered changes may still come; after that time they are not waited for.
    mutating func finishOperations(at time: Instant) { finishAt = time }

    /// - Returns: whether the time has come.
    mutating func takeFinish(at now: Instant) -> Bool {
        guard let finishAt, finishAt <= now else { return false }
        self.finishAt = nil
        return true
    }

    // MARK: The connection

    /// There is a connection: nothing has to wait for its next attempt.
    mutating func connected() { schedule.connected() }

    mutating func socketLost() { schedule.socketLost() }

    /// The engine stops. Unsent and unanswered requests are made again in its next run.
    mutating func stopped() {
        schedule = OutgoingSchedule()
        targets = [:]
    }
}
