// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Model
import Postgres
import RPC

/// Patches that concern participants, alone or together with metadata, and the ways a conversation goes away.
struct ParticipantChanges: Sendable {
    private let support: CallSupport
    private var database: Database { support.database }

    init(_ support: CallSupport) { self.support = support }

    // MARK: Patch

    private struct Patched {
        var participants: (position: Position, createdAt: Model.Timestamp)?
        var messageCount: Int64 = 0
        var added: [UserID] = []
        var removed: [UserID] = []
        var distinctCleared = false
        var all: [UserID] = []
        var conversationCreatedAt = Model.Timestamp(microseconds: 0)
        var receiptPolicy: ReceiptPolicy = []
        var epoch = ""
        var metadata: (position: Position, createdAt: Model.Timestamp, effects: [MetadataEffect])?
        var numbers: [UserID: UserNumbers] = [:]
    }

    /// - Returns: the changes it came to, published already.
    func patch(_ request: ProtoPatchConversationRequest, _ context: RPCContext) async throws -> [Change] {
        let caller = try Caller(app: request.appID, user: request.actor, origin: request.hasOrigin ? request.origin : nil, context)
        let id = try ConversationID(contract: request.conversationID)
        let metadata = request.metadata.map { MetadataOperation($0) }
        try support.metadataValidation.check(metadata)
        try await support.ensureUsers(Self.mentioned(request.participants), caller) { () throws(Failure) in
            try await support.answer(.conversationHas, [.uuid(id.rawValue), .text(caller.user.rawValue)], deadline: caller.deadline)
        }
        let limits = support.metadataLimits
        let values: [Value] =
            [
                .uuid(caller.app.rawValue), .text(caller.user.rawValue), .uuid(id.rawValue),
                .jsonb(try OperationsJSON.participants(request.participants)), .int8(Int64(support.participantsLimit)),
                metadata.isEmpty ? .null : .jsonb(try OperationsJSON.metadata(request.metadata)),
            ] + caller.originValues + [limits.keys.map { .int8(Int64($0)) } ?? .null, limits.bytes.map { .int8(Int64($0)) } ?? .null]
        // Whom it adds may be added elsewhere at this moment, and then it waits for what says who follows whom: alone in its transaction.
        let rows =
            if metadata.isLarge {
                try await database.runLarge(.conversationPatch, values, deadline: caller.deadline)
            } else {
                try await database.runAlone(.conversationPatch, values, for: caller)
            }
        let row = try support.row(rows)
        var patched = try support.reading { try self.patched(row) }
        if !patched.added.isEmpty { patched.epoch = try await support.epoch.current(deadline: caller.deadline) }
        let identities = try await support.directory.basic(
            patched.added.isEmpty ? [] : patched.all, in: caller.app, deadline: caller.deadline)
        var changes: [Change] = []
        if let place = patched.participants {
            changes.append(participantsChange(patched, at: place, of: id, identities, caller))
        }
        if let (position, createdAt, effects) = patched.metadata {
            changes.append(
                caller.change(id, at: position, createdAt, messageCount: patched.messageCount, .metadataChanged(effects)))
        }
        support.publisher.publish(changes)
        if let place = patched.participants {
            support.publisher.notify(
                patched.added.map { UserNotice(appID: caller.app, user: $0, content: .added(id, position: place.position)) })
        }
        return changes
    }

    /// The users whom a patch leaves in the conversation by naming them.
    static func mentioned(_ operations: [ProtoParticipantOperation]) -> Set<String> {
        operations.reduce(into: []) { users, operation in
            switch operation.kind {
            case .remove: users.subtract(operation.userIds)
            case .set: users = Set(operation.userIds)
            default: users.formUnion(operation.userIds)
            }
        }
    }

    private func patched(_ row: Row) throws -> Patched {
        var cursor = RowCursor(row)
        let outcome: String = try cursor.next()
        if outcome == "too_many" { throw Failure.invalid("participants", "would be more than \(support.participantsLimit) users") }
        if outcome == "too_many_keys" { throw support.metadataLimits.tooManyKeys }
        if outcome == "too_large" { throw support.metadataLimits.tooLarge }
        try Refusal.check(outcome, what: "conversation")
        var patched = Patched()
        guard outcome == "ok" else { return patched }
        let position = try cursor.optional(Int64.self)
        let createdAt = try cursor.optionalTime()
        patched.messageCount = try cursor.next()
        patched.added = try cursor.optional([String].self)?.map { UserID(trusted: $0) } ?? []
        patched.removed = try cursor.optional([String].self)?.map { UserID(trusted: $0) } ?? []
        patched.distinctCleared = try cursor.optional() ?? false
        patched.all = try cursor.optional([String].self)?.map { UserID(trusted: $0) } ?? []
        if let time = try cursor.optionalTime() { patched.conversationCreatedAt = time }
        patched.receiptPolicy = ReceiptPolicy(try cursor.optional() ?? 0)
        if let position, let createdAt { patched.participants = (Position(position), createdAt) }
        let metadataPosition = try cursor.optional(Int64.self)
        let metadataTime = try cursor.optionalTime()
        let effects = try cursor.optional(String.self)
        if let metadataPosition, let metadataTime, let effects {
            patched.metadata = (Position(metadataPosition), metadataTime, try OperationsJSON.effects(effects))
        }
        let users = try cursor.optional([String].self)?.map { UserID(trusted: $0) } ?? []
        if let place = patched.participants {
            patched.numbers = userNumbers(
                users, try cursor.optional() ?? [], try cursor.optional() ?? [], at: place.position)
        }
        return patched
    }

    private func participantsChange(
        _ patched: Patched, at place: (position: Position, createdAt: Model.Timestamp), of id: ConversationID,
        _ identities: [UserID: BasicIdentity], _ caller: Caller
    ) -> Change {
        let conversation =
            patched.added.isEmpty
            ? nil
            : Conversation(
                id: id, createdAt: patched.conversationCreatedAt, isDistinct: false,
                participants: patched.all.map { identities[$0] ?? BasicIdentity(userID: $0) }, metadata: nil, position: place.position,
                epoch: patched.epoch, receiptPolicy: patched.receiptPolicy)
        return caller.change(
            id, at: place.position, place.createdAt, messageCount: patched.messageCount, numbers: patched.numbers,
            .participantsChanged(
                added: patched.added.map { identities[$0] ?? BasicIdentity(userID: $0) }, removed: patched.removed,
                distinctCleared: patched.distinctCleared, conversation: conversation))
    }

    // MARK: Delete

    func delete(_ request: ProtoDeleteConversationRequest, _ context: RPCContext) async throws {
        let caller = try Caller(app: request.appID, user: request.actor, origin: request.hasOrigin ? request.origin : nil, context)
        let id = try ConversationID(contract: request.conversationID)
        guard let mode = DeletionMode(rawValue: request.mode) else { throw Failure.invalid("mode", "must be all_participants or my_devices") }
        // It touches the rows of every participant: alone in its transaction.
        let rows = try await database.runAlone(
            .conversationDelete,
            [.uuid(caller.app.rawValue), .text(caller.user.rawValue), .uuid(id.rawValue), .text(mode.rawValue), .bool(request.leave)]
                + caller.originValues, for: caller)
        let row = try support.row(rows)
        let (change, userChange) = try support.reading { try self.deleted(row, id, mode, caller) }
        if let change { support.publisher.publish([change]) }
        if let userChange { support.publisher.notify([UserNotice(appID: caller.app, user: caller.user, content: .change(userChange))]) }
    }

    private func deleted(_ row: Row, _ id: ConversationID, _ mode: DeletionMode, _ caller: Caller) throws -> (Change?, UserChange?) {
        var cursor = RowCursor(row)
        try Refusal.check(try cursor.next(), what: "conversation")
        let position = try cursor.optional(Int64.self).map { Position($0) }
        let createdAt = try cursor.optionalTime()
        let messageCount = try cursor.optional(Int64.self) ?? 0
        let userPosition = try cursor.optional(Int64.self).map { Position($0) }
        let userTime = try cursor.optionalTime()
        let upTo = try cursor.optional(Int64.self).map { Position($0) } ?? .zero
        let distinctCleared = try cursor.optional(Bool.self) ?? false
        var change: Change?
        if let position, let createdAt {
            let content: Change.Content =
                mode == .allParticipants
                ? .conversationDeleted
                : .participantsChanged(added: [], removed: [caller.user], distinctCleared: distinctCleared, conversation: nil)
            change = caller.change(id, at: position, createdAt, messageCount: messageCount, content)
        }
        var userChange: UserChange?
        if let userPosition, let userTime {
            userChange = UserChange(
                appID: caller.app, user: caller.user, position: userPosition, createdAt: userTime,
                content: .conversationHidden(id, upTo: upTo, wholly: true))
        }
        return (change, userChange)
    }
}
