// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel

/// Decides which pending changes are sent now, and over which transport.
///
/// * The changes of a conversation are sent strictly in order. Creates are pipelined on the socket; each depends on its
///   predecessor. Every other change waits until all changes before it are answered.
/// * Conversations do not wait for each other.
/// * Receipts have their own lanes.
///
/// The schedule is a value without a clock: the caller passes the time.
struct OutgoingSchedule: Sendable {
    enum Transport: Hashable, Sendable {
        /// A create on the socket. `isOrdered`: it fails if the preceding create in the same conversation fails.
        case socket(isOrdered: Bool)
        case rest
    }

    enum Step: Hashable, Sendable {
        case send(UUID, Transport)
        /// Upload the content of the operation's parts first.
        case upload(UUID)
    }

    /// A group of operations that wait for each other.
    enum Lane: Hashable, Sendable {
        case conversation(ConversationID)
        case receipts(UUID)
        case people
    }

    /// The maximum number of unanswered creates of one conversation on the socket.
    static let creates = 64
    /// The maximum number of unanswered creates on the socket.
    static let allCreates = 256
    /// The maximum number of unanswered receipts.
    static let receipts = 4
    /// The maximum number of unanswered REST requests.
    static let requests = 16

    private var inFlight: [UUID: Transport] = [:]
    private var uploads: Set<UUID> = []
    private var retries: [Lane: ContinuousClock.Instant] = [:]

    var unanswered: Set<UUID> { Set(inFlight.keys) }
    var nextRetry: ContinuousClock.Instant? { retries.values.min() }

    static func lane(of operation: QueuedOperation) -> Lane {
        if operation.change.isReceipt { return .receipts(operation.id) }
        return operation.conversation.map { .conversation($0) } ?? .people
    }

    /// Returns the operations to send or to upload now.
    /// - Parameter hasSocket: true if the socket is open.
    mutating func nextSteps(for queue: OutgoingQueue, hasSocket: Bool, now: ContinuousClock.Instant) -> [Step] {
        retries = retries.filter { $0.value > now }
        // The loop below visits the whole queue. Without this guard, each answer would cost a scan of a long queue even
        // if nothing can be sent.
        guard hasSocket, !queue.isEmpty, hasRoom else { return [] }
        var steps: [Step] = []
        let operations = queue.withoutConversation
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

    private var hasRoom: Bool {
        let requests = inFlight.values.count { $0 == .rest }
        return requests < Self.requests || inFlight.count - requests < Self.allCreates
    }

    /// Returns the conversations, sorted by their oldest operation.
    private func inOrder(_ queue: OutgoingQueue) -> [ConversationID] {
        queue.conversations.map { (id: $0, first: queue.firstSequence(in: $0) ?? 0) }.sorted { $0.first < $1.first }
            .map(\.id)
    }

    /// Adds the next steps of a lane, up to the first operation that must wait.
    private mutating func fillLane(_ operations: [QueuedOperation], lane: Lane, into steps: inout [Step]) {
        guard retries[lane] == nil else { return }
        var before = 0
        let last = operations.last { inFlight[$0.id] != nil }?.sequence ?? 0
        for operation in operations where operation.isUnanswered {
            if let transport = inFlight[operation.id] {
                guard case .socket = transport, !operation.change.blocksLane else { return }
                before += 1
                continue
            }
            // Later creates depend on this one, are still unanswered, and will fail too. Sending it now would let other
            // operations overtake them.
            guard operation.sequence > last else { return }
            if operation.change.awaitsUpload {
                if uploads.insert(operation.id).inserted { steps.append(.upload(operation.id)) }
                return
            }
            guard let transport = transport(of: operation, before: before) else { return }
            inFlight[operation.id] = transport
            steps.append(.send(operation.id, transport))
            if operation.change.blocksLane || transport == .rest { return }
            before += 1
        }
    }

    /// Returns the transport of an operation; nil if it must wait.
    /// - Parameter before: the number of unanswered requests before it in the lane.
    private func transport(of operation: QueuedOperation, before: Int) -> Transport? {
        if operation.change.isCreate {
            let all = inFlight.values.count { $0 != .rest }
            return before < Self.creates && all < Self.allCreates ? .socket(isOrdered: before > 0) : nil
        }
        return before == 0 && inFlight.values.count { $0 == .rest } < Self.requests ? .rest : nil
    }

    /// Adds receipts up to the limit. They do not wait for each other.
    private mutating func fillReceipts(_ operations: [QueuedOperation], queue: OutgoingQueue, into steps: inout [Step])
    {
        var room = Self.receipts - operations.count { inFlight[$0.id] != nil }
        for operation in operations where operation.isUnanswered && inFlight[operation.id] == nil && room > 0 {
            guard retries[.receipts(operation.id)] == nil else { continue }
            inFlight[operation.id] = .rest
            steps.append(.send(operation.id, .rest))
            room -= 1
        }
    }

    /// Reports that an operation has been answered, or will not be answered.
    mutating func operationEnded(_ id: UUID) {
        inFlight[id] = nil
        uploads.remove(id)
    }

    /// Suspends a lane until a time.
    mutating func suspend(_ lane: Lane, until time: ContinuousClock.Instant) {
        retries[lane] = max(retries[lane] ?? time, time)
    }

    /// Reports the loss of the socket. Creates on it remain unanswered; the server may have processed them.
    mutating func socketLost() { inFlight = inFlight.filter { $0.value == .rest } }

    /// Reports a new connection: all retry delays end.
    mutating func connected() { retries = [:] }
}

extension LocalChange {
    var isCreate: Bool {
        switch self {
        case .createConversation, .sendMessage: true
        case .patchMetadata, .changeParticipants, .changeParts, .deleteMessage, .deleteConversation, .markRead,
            .confirmDelivery, .follow, .unfollow,
            .block, .unblock,
            .markAnnouncementRead, .deleteAnnouncement:
            false
        }
    }

    /// True if no operation may follow before the answer, because the answer may name a different id for a distinct
    /// conversation.
    var blocksLane: Bool { if case .createConversation(let new) = self { new.isDistinct } else { false } }
}
