// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel

/// The user's unconfirmed changes, in creation order.
///
/// The queue is a value without store or connection. The store persists the operations named by ``takeUnsaved()`` in
/// the same transaction as their local effect, so that memory and store never differ. ``OutgoingSchedule`` decides when
/// each operation is sent.
struct OutgoingQueue: Sendable {
    /// The operations by sequence number, which defines their order.
    private(set) var operations: [Int64: QueuedOperation] = [:]
    private var byConversation: [ConversationID: [Int64]] = [:]
    private var byMessage: [MessageID: [Int64]] = [:]
    private var byUser: [UserID: [Int64]] = [:]
    private var sequencesWithoutConversation: [Int64] = []
    private var byID: [UUID: Int64] = [:]
    private var unsaved: Set<Int64> = []
    private var lastSequence: Int64

    init(_ stored: [QueuedOperation] = [], lastSequence: Int64 = 0) {
        self.lastSequence = max(lastSequence, stored.map(\.sequence).max() ?? 0)
        for operation in stored.sorted(by: { $0.sequence < $1.sequence }) { addToIndexes(operation) }
    }

    // MARK: Reading

    var isEmpty: Bool { operations.isEmpty }
    var all: [QueuedOperation] { operations.values.sorted { $0.sequence < $1.sequence } }
    subscript(id: UUID) -> QueuedOperation? { byID[id].flatMap { operations[$0] } }
    /// Returns the operations of a conversation, in order, including receipts.
    func operations(in conversation: ConversationID) -> [QueuedOperation] {
        (byConversation[conversation] ?? []).compactMap { operations[$0] }
    }
    /// The operations on users and announcements, which belong to no conversation, in order.
    var withoutConversation: [QueuedOperation] { sequencesWithoutConversation.compactMap { operations[$0] } }
    func firstSequence(in conversation: ConversationID) -> Int64? { byConversation[conversation]?.first }
    var conversations: Dictionary<ConversationID, [Int64]>.Keys { byConversation.keys }
    /// The content files that unconfirmed operations refer to.
    var files: Set<String> { Set(operations.values.flatMap { $0.change.parts.compactMap(\.file) }) }
    func hasOperations(in conversation: ConversationID) -> Bool { byConversation[conversation] != nil }

    /// Returns the operations that affect the visible state of a message, in order: those on the message itself, and
    /// deletions of its conversation.
    func operations(on message: MessageID, in conversation: ConversationID) -> [QueuedOperation] {
        let own = (byMessage[message] ?? []).compactMap { operations[$0] }
        let deletions = deletions(of: conversation)
        return deletions.isEmpty ? own : (own + deletions).sorted { $0.sequence < $1.sequence }
    }

    /// Returns the operations that follow, unfollow, block or unblock a user, in order.
    func operations(on user: UserID) -> [QueuedOperation] { (byUser[user] ?? []).compactMap { operations[$0] } }
    var users: Dictionary<UserID, [Int64]>.Keys { byUser.keys }

    func deletions(of conversation: ConversationID) -> [QueuedOperation] {
        guard let sequences = byConversation[conversation] else { return [] }
        return sequences.compactMap { sequence in
            guard let operation = operations[sequence], case .deleteConversation = operation.change else { return nil }
            return operation
        }
    }

    // MARK: Changing

    mutating func appendChange(
        _ change: LocalChange, in conversation: ConversationID?, id: UUID, at time: Int64,
        state: QueuedOperation.State = .waiting
    ) -> QueuedOperation {
        lastSequence += 1
        let operation = QueuedOperation(
            id: id, sequence: lastSequence, madeAt: time, conversation: conversation, change: change, state: state)
        addToIndexes(operation)
        unsaved.insert(operation.sequence)
        return operation
    }

    /// Adds a change with a given sequence number. Does nothing if the number is in use.
    mutating func insertChange(
        _ change: LocalChange, in conversation: ConversationID?, id: UUID, at time: Int64, sequence: Int64
    ) {
        guard operations[sequence] == nil else { return }
        addToIndexes(
            QueuedOperation(id: id, sequence: sequence, madeAt: time, conversation: conversation, change: change))
        unsaved.insert(sequence)
    }

    /// Replaces an operation by a new version. Does nothing if it is no longer in the queue.
    mutating func updateOperation(_ operation: QueuedOperation) {
        guard let old = operations[operation.sequence], old != operation else { return }
        removeFromIndexes(old)
        addToIndexes(operation)
        unsaved.insert(operation.sequence)
    }

    /// Removes an operation. Does nothing if it is no longer in the queue.
    mutating func removeOperation(_ operation: QueuedOperation) {
        guard let old = operations[operation.sequence] else { return }
        removeFromIndexes(old)
        unsaved.insert(operation.sequence)
    }

    /// Returns and clears the sequence numbers that differ from the store. A number that is not in ``operations`` was
    /// removed.
    mutating func takeUnsaved() -> Set<Int64> {
        defer { unsaved = [] }
        return unsaved
    }

    private mutating func addToIndexes(_ operation: QueuedOperation) {
        let sequence = operation.sequence
        operations[sequence] = operation
        byID[operation.id] = sequence
        if let conversation = operation.conversation {
            Self.insertSequence(sequence, into: &byConversation[conversation, default: []])
        } else {
            Self.insertSequence(sequence, into: &sequencesWithoutConversation)
        }
        for message in operation.change.messages {
            Self.insertSequence(sequence, into: &byMessage[message, default: []])
        }
        for user in operation.change.users { Self.insertSequence(sequence, into: &byUser[user, default: []]) }
    }

    private mutating func removeFromIndexes(_ operation: QueuedOperation) {
        let sequence = operation.sequence
        operations[sequence] = nil
        byID[operation.id] = nil
        if let conversation = operation.conversation {
            byConversation[conversation]?.removeAll { $0 == sequence }
            if byConversation[conversation]?.isEmpty == true { byConversation[conversation] = nil }
        } else {
            sequencesWithoutConversation.removeAll { $0 == sequence }
        }
        for message in operation.change.messages {
            byMessage[message]?.removeAll { $0 == sequence }
            if byMessage[message]?.isEmpty == true { byMessage[message] = nil }
        }
        for user in operation.change.users {
            byUser[user]?.removeAll { $0 == sequence }
            if byUser[user]?.isEmpty == true { byUser[user] = nil }
        }
    }

    private static func insertSequence(_ sequence: Int64, into list: inout [Int64]) {
        let place = list.lastIndex { $0 < sequence }.map { $0 + 1 } ?? 0
        list.insert(sequence, at: place)
    }
}
