// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import ProtocolClient
import StrataModel

/// What becomes of the user's pending changes: sent, answered, refused, over.
extension StoreTransaction {
    /// Has everything shown anew that an operation is about. To be called before it is added, changed or removed, so that what the server said stays known.
    func touchTargets(of operation: QueuedOperation) throws { try touchTargets(of: operation.change, in: operation.conversation) }

    private func touchTargets(of change: LocalChange, in conversation: ConversationID?) throws {
        if let conversation {
            try touch(conversation)
            if case .deleteConversation = change { for id in try allMessageIDs(in: conversation) { try touch(id, in: conversation) } }
        }
        for id in change.messages { try touch(id, in: conversation) }
        for user in change.users { _ = try identity(user) }
        switch change {
        case .markAnnouncementRead(let id), .deleteAnnouncement(let id): _ = try announcement(id)
        case .createConversation, .sendMessage, .patchMetadata, .changeParticipants, .changeParts, .deleteMessage, .deleteConversation, .markRead,
            .confirmDelivery, .follow, .unfollow:
            break
        }
    }

    /// Those the server has told of, and those it has not.
    private func allMessageIDs(in conversation: ConversationID) throws -> Set<MessageID> {
        let shown = try db.cachedStatement(sql: "SELECT id FROM message WHERE conversation = ?")
            .all([conversation.blob], in: db) { MessageID(rawValue: $0[0]) }
        return try Set(shown).union(messageIDs(in: conversation))
    }

    /// Adds a change of the user to the queue.
    @discardableResult
    func enqueue(_ change: LocalChange, in conversation: ConversationID? = nil, state: QueuedOperation.State = .waiting) throws -> QueuedOperation {
        try touchTargets(of: change, in: conversation)
        findings.hasNewOperations = true
        return queue.appendChange(change, in: conversation, id: newID(), at: now, state: state)
    }

    /// Replaces an operation that has not been sent.
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

    /// Adds a message to those whose delivery is to be told. Several are told together.
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

    /// What the server takes in one request.
    static let receiptsPerRequest = 1000

    // MARK: What the server answered

    /// These are about to be sent: from now on they may have been carried out.
    func markAttempted(_ ids: [UUID]) {
        for id in ids {
            guard var operation = queue[id], operation.isUnanswered else { continue }
            (operation.state, operation.epoch, operation.generation) = (.attempted, cursor.epoch, cursor.generation)
            queue.updateOperation(operation)
        }
    }

    /// A failed attempt while there was a connection.
    func countTry(_ id: UUID) {
        guard var operation = queue[id] else { return }
        operation.tries += 1
        queue.updateOperation(operation)
    }

    /// The server has carried out an operation, now or before.
    /// - Parameter object: the object in the answer, of a create.
    func operationSucceeded(_ id: UUID, positions: QueuedOperation.Positions, object: JSONValue = .null) throws {
        guard let operation = queue[id], operation.isUnanswered else { return }
        var positions = positions
        switch operation.change {
        case .createConversation(let new):
            guard let shown = WireObjects.conversation(object, now: now), let old = operation.conversation else { break }
            if shown.record.id != old { return try merge(operation, new: new, into: shown) }
            if try progress(of: old)?.applied ?? 0 < shown.position { try storeConversation(shown) }
            positions.conversation = shown.position
        case .sendMessage:
            guard let shown = WireObjects.message(object, now: now) else { break }
            try keepSendTime(of: shown, operation)
            positions.conversation = shown.record.position.map { $0 / Position.wireStep }
        case .confirmDelivery: return try removeOperation(operation)
        case .patchMetadata, .changeParticipants, .changeParts, .deleteMessage, .deleteConversation, .markRead, .follow, .unfollow,
            .markAnnouncementRead,
            .deleteAnnouncement:
            break
        }
        // In the log of another database these positions mean nothing; it was put in the place of that one while the answer was under way.
        if let epoch = operation.epoch, epoch != cursor.epoch { positions = .init(conversation: 0, user: 0) }
        // Everything is listed anew since: how far the user's own log was applied before is not known any more.
        if let generation = operation.generation, generation != cursor.generation { positions.user = nil }
        try setState(.answered(positions), of: operation)
    }

    /// The message in the answer to its creation: what was sent is on this device since the app sent it.
    private func keepSendTime(of shown: WireObjects.ShownMessage, _ operation: QueuedOperation) throws {
        var shown = shown
        if try message(shown.record.id, in: shown.record.conversation) == nil { shown.record.receivedAt = operation.madeAt }
        try merge(shown)
    }

    /// The server has refused an operation for good. Its effect is taken back; a message stays, as failed.
    func operationRefused(_ id: UUID, error: StrataError) throws {
        guard let operation = queue[id], operation.isUnanswered || operation.state == .draft else { return }
        if error.code == .conversationDeleted, try isGone(operation) { return try removeOperation(operation) }
        // An earlier attempt had arrived, and the server has told of the message.
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
            // Nothing else can reach a conversation that does not exist.
            for dependent in queue.operations(in: operation.conversation ?? .random()) {
                if !dependent.change.isReceipt { report(dependent, error: error) }
                try removeOperation(dependent)
            }
        case .patchMetadata, .changeParticipants, .changeParts, .deleteMessage, .deleteConversation, .markRead, .confirmDelivery, .follow, .unfollow,
            .markAnnouncementRead, .deleteAnnouncement:
            try removeOperation(operation)
        }
    }

    /// Whether the server does not have what an operation deletes, so that there is nothing to be taken back.
    private func isGone(_ operation: QueuedOperation) throws -> Bool {
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
        case .createConversation, .sendMessage, .patchMetadata, .changeParticipants, .changeParts, .markRead, .confirmDelivery, .follow, .unfollow,
            .markAnnouncementRead:
            return false
        }
        return true
    }

    /// A refused message stays, unless the user has deleted it meanwhile or there is no conversation to show it in.
    private func fail(_ operation: QueuedOperation, message: MessageID, error: StrataError) throws {
        guard let id = operation.conversation else { return try removeOperation(operation) }
        var isDeleted = !queue.deletions(of: id).isEmpty
        for deletion in queue.operations(on: message, in: id) {
            guard case .deleteMessage = deletion.change, deletion.state == .waiting else { continue }
            try removeOperation(deletion)
            isDeleted = true
        }
        let isKnown =
            try conversation(id) != nil || queue.operations(in: id).contains { if case .createConversation = $0.change { true } else { false } }
        if isDeleted || !isKnown { try removeOperation(operation) } else { try setState(.failed(StoredError(error)), of: operation) }
    }

    private func report(_ operation: QueuedOperation, error: StrataError) {
        findings.failures.append(
            OperationFailure(
                operation: operation.change.name, id: operation.id, conversation: operation.conversation, messages: operation.change.messages,
                error: error))
    }

    /// A conversation was deleted for all: what was not sent cannot be carried out any more. What was sent is answered by the server.
    func dropOperations(onDeleted id: ConversationID) throws {
        let error = StrataError(.conversationDeleted, "The conversation was deleted.")
        for operation in queue.operations(in: id) where operation.state == .waiting || operation.failure != nil {
            if !operation.change.isReceipt, operation.failure == nil { report(operation, error: error) }
            try removeOperation(operation)
        }
    }

    // MARK: The end of operations

    /// Ends the operations that are contained in what the server said by now.
    /// - Parameters:
    ///   - open: the change whose packets may not all have come: those of the last packet.
    ///   - conversations: where to look.
    func finishOperations(in conversations: some Sequence<ConversationID>, open: (ConversationID, Int64)?) throws {
        for id in conversations {
            for operation in queue.operations(in: id) {
                guard case .answered(let positions) = operation.state, try isOver(operation, positions: positions, in: id, open: open) else {
                    continue
                }
                try removeOperation(operation)
            }
        }
        for operation in queue.ofTheUser {
            guard case .answered(let positions) = operation.state, positions.user ?? 0 <= cursor.userPosition else { continue }
            // While everything is listed anew, what is known of people is old until their list has come.
            guard operation.change.users.isEmpty || cursor.listing?.hasIdentities != false else { continue }
            try removeOperation(operation)
        }
    }

    private func isOver(
        _ operation: QueuedOperation, positions: QueuedOperation.Positions, in id: ConversationID, open: (ConversationID, Int64)?
    ) throws -> Bool {
        if let position = positions.user, position > cursor.userPosition {
            // That may have been told before everything was listed anew.
            return try cursor.listing?.hasConversations != false && isGone(operation.change, in: id)
        }
        guard let position = positions.conversation, let progress = try progress(of: id) else { return true }
        // While everything is listed anew, what is known of the conversation is old until its page has come.
        guard progress.generation == cursor.generation || cursor.listing?.hasConversations != false else { return false }
        if let open, open.0 == id, open.1 == position { return false }
        return position <= progress.applied
    }

    /// Whether there is nothing left of what was to be deleted.
    private func isGone(_ change: LocalChange, in id: ConversationID) throws -> Bool {
        if case .deleteMessage(let message, _) = change { return try self.message(message, in: id) == nil }
        return try progress(of: id) == nil
    }

    /// Ends operations that were answered before a replay was asked for, when it has been answered: what they did is in what was told.
    func finishOperations(_ ids: some Sequence<UUID>) throws {
        for id in ids {
            guard let operation = queue[id], operation.isAnswered else { continue }
            try removeOperation(operation)
        }
    }

    // MARK: Distinct conversations

    /// Another user had made the distinct conversation before: messages and operations move there, the id given to the app keeps finding it, and the user's
    /// metadata are set as ordinary changes where they differ.
    private func merge(_ operation: QueuedOperation, new: LocalChange.NewConversation, into shown: WireObjects.ShownConversation) throws {
        guard let old = operation.conversation else { return }
        let target = shown.record.id
        findings.merged[old] = target
        try touch(target)
        if try progress(of: target)?.applied ?? 0 < shown.position { try storeConversation(shown) }
        let steps = new.metadata.filter { shown.record.metadata[$0.key] != $0.value }.sorted { $0.key < $1.key }
            .map { LocalChange.MetadataStep(path: $0.key, values: [$0.key: $0.value]) }
        try removeOperation(operation)
        if !steps.isEmpty {
            // In the place of the creation, before all that was done in the conversation later.
            queue.insertChange(.patchMetadata(steps), in: target, id: newID(), at: operation.madeAt, sequence: operation.sequence)
        }
        for pending in queue.operations(in: old) {
            try touchTargets(of: pending)
            var moved = pending
            moved.conversation = target
            // Of a deletion all messages that are in the other conversation are targets now.
            try touchTargets(of: moved)
            queue.updateOperation(moved)
            for id in moved.change.messages { move(id, to: target) }
        }
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO alias (id, conversation) VALUES (?, ?)").execute(arguments: [old.blob, target.blob])
        try db.cachedStatement(sql: "UPDATE alias SET conversation = ? WHERE conversation = ?").execute(arguments: [target.blob, old.blob])
        try setConversation(old, to: nil)
        findings.hasNewOperations = true
    }
}
