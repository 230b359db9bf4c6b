// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel

/// Decides which pending changes are sent now, and over which transport.
///
/// * A conversation's changes are sent strictly in order. Creates follow each other on the socket without waiting for answers; each depends on the one before it;
///   everything else waits until all before it is answered.
/// * Conversations do not wait for each other.
/// * Receipts have a lane of their own.
///
/// A value without a clock: the caller passes the time.
struct OutgoingSchedule: Sendable {
    /// How an operation is sent.
    enum Transport: Hashable, Sendable {
        /// As a create on the socket; `isOrdered`: it fails if the create before it to the same conversation fails.
        case socket(isOrdered: Bool)
        case rest
    }

    /// An action that the owner carries out.
    enum Step: Hashable, Sendable {
        case send(UUID, Transport)
        /// The content of its parts is to be uploaded first.
        case upload(UUID)
    }

    /// Operations of one lane wait for each other.
    enum Lane: Hashable, Sendable {
        case conversation(ConversationID)
        case receipts(UUID)
        case people
    }

    /// The most unanswered creates of one conversation on the socket.
    static let creates = 64
    /// The most unanswered creates on the socket.
    static let allCreates = 256
    /// The most unanswered receipts.
    static let receipts = 4
    /// The most unanswered requests of other kinds.
    static let requests = 16

    private var inFlight: [UUID: Transport] = [:]
    private var uploads: Set<UUID> = []
    private var retries: [Lane: ContinuousClock.Instant] = [:]

    /// Operations whose answers are awaited.
    var unanswered: Set<UUID> { Set(inFlight.keys) }
    /// The earliest time of the next attempt in a lane that has failed.
    var nextRetry: ContinuousClock.Instant? { retries.values.min() }

    static func lane(of operation: QueuedOperation) -> Lane {
        if operation.change.isReceipt { return .receipts(operation.id) }
        return operation.conversation.map { .conversation($0) } ?? .people
    }

    /// What is to be done now.
    /// - Parameter hasSocket: whether creates can be sent.
    mutating func nextSteps(for queue: OutgoingQueue, hasSocket: Bool, now: ContinuousClock.Instant) -> [Step] {
        retries = retries.filter { $0.value > now }
        // The loop below visits the whole queue. This guard avoids it when nothing can begin, or each answer would cost a visit of a long queue.
        guard hasSocket, !queue.isEmpty, hasRoom else { return [] }
        var steps: [Step] = []
        let operations = queue.ofTheUser
        fillLane(operations.filter { !$0.change.isReceipt }, lane: .people, into: &steps)
        var receipts = operations.filter(\.change.isReceipt)
        for conversation in inOrder(queue) {
            let operations = queue.operations(in: conversation)
            fillLane(operations.filter { !$0.change.isReceipt }, lane: .conversation(conversation), into: &steps)
            receipts += operations.filter(\.change.isReceipt)
        }
        fillReceipts(receipts.sorted { $0.sequence < $1.sequence }, queue: queue, into: &steps)
        return steps
    }

    /// Whether one more operation can be sent now.
    private var hasRoom: Bool {
        let requests = inFlight.values.count { $0 == .rest }
        return requests < Self.requests || inFlight.count - requests < Self.allCreates
    }

    /// The conversation whose oldest change is oldest comes first.
    private func inOrder(_ queue: OutgoingQueue) -> [ConversationID] {
        queue.conversations.map { (id: $0, first: queue.firstSequence(in: $0) ?? 0) }.sorted { $0.first < $1.first }.map(\.id)
    }

    private mutating func fillLane(_ operations: [QueuedOperation], lane: Lane, into steps: inout [Step]) {
        guard retries[lane] == nil else { return }
        var before = 0
        let last = operations.last { inFlight[$0.id] != nil }?.sequence ?? 0
        for operation in operations where operation.isUnanswered {
            if let transport = inFlight[operation.id] {
                guard case .socket = transport, !operation.change.isAlone else { return }
                before += 1
                continue
            }
            // Later creates depend on this one, are still unanswered, and will fail as it did. Sending it now would let others overtake them.
            guard operation.sequence > last else { return }
            if operation.change.awaitsUpload {
                if uploads.insert(operation.id).inserted { steps.append(.upload(operation.id)) }
                return
            }
            guard let transport = transport(of: operation, before: before) else { return }
            inFlight[operation.id] = transport
            steps.append(.send(operation.id, transport))
            if operation.change.isAlone || transport == .rest { return }
            before += 1
        }
    }

    private func transport(of operation: QueuedOperation, before: Int) -> Transport? {
        if operation.change.isCreate {
            let all = inFlight.values.count { $0 != .rest }
            return before < Self.creates && all < Self.allCreates ? .socket(isOrdered: before > 0) : nil
        }
        return before == 0 && inFlight.values.count { $0 == .rest } < Self.requests ? .rest : nil
    }

    private mutating func fillReceipts(_ operations: [QueuedOperation], queue: OutgoingQueue, into steps: inout [Step]) {
        var room = Self.receipts - operations.count { inFlight[$0.id] != nil }
        for operation in operations where operation.isUnanswered && inFlight[operation.id] == nil && room > 0 {
            guard retries[.receipts(operation.id)] == nil else { continue }
            inFlight[operation.id] = .rest
            steps.append(.send(operation.id, .rest))
            room -= 1
        }
    }

    /// An answer came, or none will.
    mutating func operationEnded(_ id: UUID) {
        inFlight[id] = nil
        uploads.remove(id)
    }

    /// A lane sends nothing until this time.
    mutating func rest(_ lane: Lane, until time: ContinuousClock.Instant) { retries[lane] = max(retries[lane] ?? time, time) }

    /// The socket is lost: creates on it have no answer, and may have been carried out.
    mutating func socketLost() { inFlight = inFlight.filter { $0.value == .rest } }

    /// There is a connection again: nothing has to wait for its next attempt.
    mutating func connected() { retries = [:] }
}

extension LocalChange {
    /// Sent as a create on the socket.
    var isCreate: Bool {
        switch self {
        case .createConversation, .sendMessage: true
        case .patchMetadata, .changeParticipants, .changeParts, .deleteMessage, .deleteConversation, .markRead, .confirmDelivery, .follow, .unfollow,
            .block, .unblock,
            .markAnnouncementRead, .deleteAnnouncement:
            false
        }
    }

    /// Nothing may follow before the answer, which may name another conversation for a distinct one.
    var isAlone: Bool { if case .createConversation(let new) = self { new.isDistinct } else { false } }
}
