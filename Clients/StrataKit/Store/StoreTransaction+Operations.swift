// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import ProtocolClient
import StrataModel

/// The life cycle of pending changes: sent, answered, refused, finished.
extension StoreTransaction {
    /// Marks all objects of an operation for recomputation. Must be called before the operation is added, changed or
    /// removed, because it loads the server's state.
    func touchTargets(of operation: QueuedOperation) throws {
        try touchTargets(of: operation.change, in: operation.conversation)
    }

    private func touchTargets(of change: LocalChange, in conversation: ConversationID?) throws {
        if let conversation {
            try touch(conversation)
            if case .deleteConversation = change {
                for id in try allMessageIDs(in: conversation) { try touch(id, in: conversation) }
            }
        }
        for id in change.messages { try touch(id, in: conversation) }
        for user in change.users { _ = try identity(user) }
        switch change {
        case .markAnnouncementRead(let id), .deleteAnnouncement(let id): _ = try announcement(id)
        case .createConversation, .sendMessage, .patchMetadata, .changeParticipants, .changeParts, .deleteMessage,
            .deleteConversation, .markRead,
            .confirmDelivery, .follow, .unfollow, .block, .unblock:
            break
        }
    }

    /// Returns all messages of a conversation, including those that are not on the server.
    private func allMessageIDs(in conversation: ConversationID) throws -> Set<MessageID> {
        let shown = try db.cachedStatement(sql: "SELECT id FROM message WHERE conversation = ?")
            .all([conversation.blob], in: db) { MessageID(rawValue: $0[0]) }
        return try Set(shown).union(messageIDs(in: conversation))
    }

    @discardableResult
    func enqueue(
        _ change: LocalChange, in conversation: ConversationID? = nil, state: QueuedOperation.State = .waiting
    ) throws -> QueuedOperation {
        try touchTargets(of: change, in: conversation)
        findings.hasNewOperations = true
        return queue.appendChange(change, in: conversation, id: newID(), at: now, state: state)
    }

    /// Replaces the change of an unsent operation.
    func replace(_ operation: QueuedOperation, by change: LocalChange) throws {
        try touchTargets(of: operation)
        try touchTargets(of: change, in: operation.conversation)
        var operation = operation
        operation.change = change
        queue.updateOperation(operation)
    }

    func setState(_ state: QueuedOperation.State, of operation: QueuedOperation) throws {
        try touchTargets(of: operation)
        var operation = operation
        operation.state = state
        queue.updateOperation(operation)
    }

    func removeOperation(_ operation: QueuedOperation) throws {
        try touchTargets(of: operation)
        queue.removeOperation(operation)
    }

    /// Adds a message to the pending delivery receipts. One request carries several receipts.
    func enqueueDelivery(of message: MessageID, in conversation: ConversationID) throws {
        let pending = queue.operations(in: conversation)
        for operation in pending.reversed() {
            guard case .confirmDelivery(let ids) = operation.change else { continue }
            if ids.contains(message) { return }
            guard operation.state == .waiting, ids.count < Self.receiptsPerRequest else { break }
            return try replace(operation, by: .confirmDelivery(ids + [message]))
        }
        try enqueue(.confirmDelivery([message]), in: conversation)
    }

    /// The maximum number of receipts that the server accepts in one request.
    static let receiptsPerRequest = 1000

    // MARK: Answers of the server

    /// Marks operations as attempted. From this point on, the server may have processed them.
    func markAttempted(_ ids: [UUID]) {
        for id in ids {
            guard var operation = queue[id], operation.isUnanswered else { continue }
            (operation.state, operation.epoch, operation.generation) = (.attempted, cursor.epoch, cursor.generation)
            queue.updateOperation(operation)
        }
    }

    func countTry(_ id: UUID) {
        guard var operation = queue[id] else { return }
        operation.tries += 1
        queue.updateOperation(operation)
    }

    /// Handles a success answer: the server has processed an operation, now or in an earlier attempt.
    /// - Parameter object: the object in the answer to a create.
    func operationSucceeded(_ id: UUID, positions: QueuedOperation.Positions, object: JSONValue = .null) throws {
        guard let operation = queue[id], operation.isUnanswered else { return }
        var positions = positions
        switch operation.change {
        case .createConversation(let new):
            guard let shown = WireObjects.conversation(object, now: now), let old = operation.conversation else {
                break
            }
            if shown.record.id != old { return try merge(operation, new: new, into: shown) }
            if try progress(of: old)?.applied ?? 0 < shown.position { try storeConversation(shown) }
            positions.conversation = shown.position
        case .sendMessage:
            guard let shown = WireObjects.message(object, now: now) else { break }
            try keepSendTime(of: shown, operation)
            positions.conversation = shown.record.position.map { $0 / Position.wireStep }
        case .confirmDelivery: return try removeOperation(operation)
        case .patchMetadata, .changeParticipants, .changeParts, .deleteMessage, .deleteConversation, .markRead, .follow,
            .unfollow, .block, .unblock,
            .markAnnouncementRead,
            .deleteAnnouncement:
            break
        }
        // The database was replaced while the answer was in transit. The positions have no meaning in the log of
        // another database.
        if let epoch = operation.epoch, epoch != cursor.epoch { positions = .init(conversation: 0, user: 0) }
        // A full load has started since the request, so the last applied position of the user's own log is unknown.
        if let generation = operation.generation, generation != cursor.generation { positions.user = nil }
        try setState(.answered(positions), of: operation)
    }

    /// Stores the message in the answer to its creation. Its time of receipt is the time at which the app sent it.
    private func keepSendTime(of shown: WireObjects.ReceivedMessage, _ operation: QueuedOperation) throws {
        var shown = shown
        if try message(shown.record.id, in: shown.record.conversation) == nil {
            shown.record.receivedAt = operation.madeAt
        }
        try merge(shown)
    }

    /// Handles the permanent refusal of an operation. Its effect is reverted; a message stays, marked as failed.
    func operationRefused(_ id: UUID, error: StrataError) throws {
        guard let operation = queue[id], operation.isUnanswered || operation.state == .draft else { return }
        if error.code == .conversationDeleted, try acceptDeletion(operation) { return try removeOperation(operation) }
        // An earlier attempt reached the server, and the message has already arrived from there.
        if case .sendMessage(let new) = operation.change, try message(new.id, in: operation.conversation) != nil {
            return try removeOperation(operation)
        }
        if !operation.change.isReceipt { report(operation, error: error) }
        switch operation.change {
        case .sendMessage(let message):
            try fail(operation, message: message.id, error: error)
            for dependent in queue.operations(on: message.id, in: operation.conversation ?? .random()) {
                if case .changeParts = dependent.change { try removeOperation(dependent) }
            }
        case .createConversation:
            try removeOperation(operation)
            // No other change can succeed in a conversation that does not exist.
            for dependent in queue.operations(in: operation.conversation ?? .random()) {
                if !dependent.change.isReceipt { report(dependent, error: error) }
                try removeOperation(dependent)
            }
        case .patchMetadata, .changeParticipants, .changeParts, .deleteMessage, .deleteConversation, .markRead,
            .confirmDelivery, .follow, .unfollow,
            .block, .unblock,
            .markAnnouncementRead, .deleteAnnouncement:
            try removeOperation(operation)
        }
    }

    /// Deletes the object of a refused deletion, because it does not exist on the server either.
    /// - Returns: false if the operation is not a deletion.
    private func acceptDeletion(_ operation: QueuedOperation) throws -> Bool {
        switch operation.change {
        case .deleteMessage(let id, _):
            guard let touched = try touch(id, in: operation.conversation) else { return true }
            try setMessage(id, in: touched.conversation, to: nil)
        case .deleteConversation:
            guard let conversation = operation.conversation else { return true }
            try removeOperation(operation)
            try forgetConversation(conversation)
            try dropOperations(onDeleted: conversation)
        case .deleteAnnouncement(let id): try setAnnouncement(id, to: nil)
        case .createConversation, .sendMessage, .patchMetadata, .changeParticipants, .changeParts, .markRead,
            .confirmDelivery, .follow, .unfollow,
            .block, .unblock,
            .markAnnouncementRead:
            return false
        }
        return true
    }

    /// Marks a refused message as failed. It is removed instead if the user has deleted it, or if its conversation no
    /// longer exists.
    private func fail(_ operation: QueuedOperation, message: MessageID, error: StrataError) throws {
        guard let id = operation.conversation else { return try removeOperation(operation) }
        var isDeleted = !queue.deletions(of: id).isEmpty
        for deletion in queue.operations(on: message, in: id) {
            guard case .deleteMessage = deletion.change, deletion.state == .waiting else { continue }
            try removeOperation(deletion)
            isDeleted = true
        }
        let isKnown =
            try conversation(id) != nil
            || queue.operations(in: id).contains { if case .createConversation = $0.change { true } else { false } }
        if isDeleted || !isKnown {
            try removeOperation(operation)
        } else {
            try setState(.failed(StoredError(error)), of: operation)
        }
    }

    /// Adds a failure to those that the app is notified of.
    private func report(_ operation: QueuedOperation, error: StrataError) {
        findings.failures.append(
            OperationFailure(
                operation: operation.change.name, id: operation.id, conversation: operation.conversation,
                messages: operation.change.messages,
                error: error))
    }

    /// Drops the unsent changes of a conversation that was deleted for all participants. The server answers those that
    /// were already sent.
    func dropOperations(onDeleted id: ConversationID) throws {
        let error = StrataError(.conversationDeleted, "The conversation was deleted.")
        for operation in queue.operations(in: id) where operation.state == .waiting || operation.failure != nil {
            if !operation.change.isReceipt, operation.failure == nil { report(operation, error: error) }
            try removeOperation(operation)
        }
    }

    // MARK: The end of operations

    /// Ends the operations whose effects are part of the server's state.
    /// - Parameters:
    ///   - open: the change of the last packet; further packets of this change may follow.
    ///   - conversations: the conversations to check.
    func finishOperations(in conversations: some Sequence<ConversationID>, open: (ConversationID, Int64)?) throws {
        for id in conversations {
            for operation in queue.operations(in: id) {
                guard case .answered(let positions) = operation.state,
                    try isOver(operation, positions: positions, in: id, open: open)
                else {
                    continue
                }
                try removeOperation(operation)
            }
        }
        for operation in queue.withoutConversation {
            guard case .answered(let positions) = operation.state, positions.user ?? 0 <= cursor.userPosition else {
                continue
            }
            // During a full load, the stored identities are outdated until the list of identities is complete.
            guard operation.change.users.isEmpty || cursor.listing?.hasIdentities != false else { continue }
            try removeOperation(operation)
        }
    }

    /// Returns true if the stored objects contain the change of an answered operation.
    private func isOver(
        _ operation: QueuedOperation, positions: QueuedOperation.Positions, in id: ConversationID,
        open: (ConversationID, Int64)?
    ) throws -> Bool {
        if let position = positions.user, position > cursor.userPosition {
            // The server may have sent the packet before the full load began.
            return try cursor.listing?.hasConversations != false && isGone(operation.change, in: id)
        }
        guard let position = positions.conversation, let progress = try progress(of: id) else { return true }
        // During a full load, the stored conversation is outdated until its page arrives.
        guard progress.generation == cursor.generation || cursor.listing?.hasConversations != false else {
            return false
        }
        if let open, open.0 == id, open.1 == position { return false }
        return position <= progress.applied
    }

    /// Returns true if the object of a deletion is no longer stored.
    private func isGone(_ change: LocalChange, in id: ConversationID) throws -> Bool {
        if case .deleteMessage(let message, _) = change { return try self.message(message, in: id) == nil }
        return try progress(of: id) == nil
    }

    /// Ends operations that were answered before a replay was requested, after the replay is complete. Its packets
    /// contain their effects.
    func finishOperations(_ ids: some Sequence<UUID>) throws {
        for id in ids {
            guard let operation = queue[id], operation.isAnswered else { continue }
            try removeOperation(operation)
        }
    }

    // MARK: Distinct conversations

    /// Handles a distinct conversation that another user created earlier. Its messages and operations move to the
    /// existing conversation, and the app's id becomes an alias. Metadata of the user that differ become ordinary
    /// changes.
    private func merge(
        _ operation: QueuedOperation, new: LocalChange.NewConversation, into shown: WireObjects.ReceivedConversation
    ) throws {
        guard let old = operation.conversation else { return }
        let target = shown.record.id
        findings.merged[old] = target
        try touch(target)
        if try progress(of: target)?.applied ?? 0 < shown.position { try storeConversation(shown) }
        let steps = new.metadata.filter { shown.record.metadata[$0.key] != $0.value }.sorted { $0.key < $1.key }
            .map { LocalChange.MetadataStep(path: $0.key, values: [$0.key: $0.value]) }
        try removeOperation(operation)
        if !steps.isEmpty {
            // The change takes the sequence number of the creation, before all later changes of the conversation.
            queue.insertChange(
                .patchMetadata(steps), in: target, id: newID(), at: operation.madeAt, sequence: operation.sequence)
        }
        for pending in queue.operations(in: old) {
            try touchTargets(of: pending)
            var moved = pending
            moved.conversation = target
            // A deletion now affects all messages of the other conversation.
            try touchTargets(of: moved)
            queue.updateOperation(moved)
            for id in moved.change.messages { move(id, to: target) }
        }
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO alias (id, conversation) VALUES (?, ?)")
            .execute(arguments: [old.blob, target.blob])
        try db.cachedStatement(sql: "UPDATE alias SET conversation = ? WHERE conversation = ?")
            .execute(arguments: [target.blob, old.blob])
        try setConversation(old, to: nil)
        findings.hasNewOperations = true
    }
}
