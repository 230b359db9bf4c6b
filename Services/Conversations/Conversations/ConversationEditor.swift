// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import Mutations
import Postgres
import RPC
import StrataModel

/// Patches conversations, their participants and their metadata, and deletes conversations.
struct ConversationEditor: Sendable {
    private let support: ServiceContext
    private var database: Database { support.database }

    init(_ support: ServiceContext) { self.support = support }

    // MARK: Patch

    private struct Patched {
        var participants: LogPlace?
        var messageCount: Int64 = 0
        var added: [UserID] = []
        var removed: [UserID] = []
        var distinctCleared = false
        var all: [UserID] = []
        var conversationCreatedAt = StrataModel.Timestamp(microseconds: 0)
        var receiptPolicy: ReceiptPolicy = []
        var epoch = ""
        var metadata: (place: LogPlace, effects: [MetadataEffect])?
        var counts: [UserID: UserCounts] = [:]
    }

    /// Patches a conversation.
    /// - Returns: the changes, already published. Empty if an earlier request with the same idempotency key published
    ///   them.
    func patchConversation(
        _ request: ProtoPatchConversationRequest, in context: RPCContext
    ) async throws -> ([Change], LogPosition) {
        let caller = try Caller(
            app: request.appID, user: request.actor, origin: request.hasOrigin ? request.origin : nil,
            idempotencyKey: request.hasMutation ? request.mutation : nil, context)
        return try await support.idempotent(caller) {
            try await carryOut(request, for: caller)
        } answer: {
            ([], $0.place)
        }
    }

    /// Writes the patch, publishes its changes, and notifies the gateways of added users.
    /// - Returns: the changes and the patch's log position. nil in the cases of ``ServiceContext/write(_:for:on:)``.
    private func carryOut(
        _ request: ProtoPatchConversationRequest, for caller: Caller
    ) async throws -> ([Change], LogPosition)? {
        let id = try ConversationID(contract: request.conversationID)
        // Reject oversized patches before any database work.
        let mostNames = 4 * support.participantsLimit + 1000
        guard request.participants.reduce(0, { $0 + $1.userIds.count }) <= mostNames else {
            throw Failure.invalid(
                "participants", reason: "names more than \(mostNames) users in all operations together")
        }
        let metadata = request.metadata.map { MetadataOperation($0) }
        try support.metadataValidation.checkOperations(metadata)
        try await support.ensureUsers(Self.mentioned(request.participants), for: caller) { () throws(Failure) in
            caller.isServer
                ? try await support.answer(IsConversation(app: caller.app, conversation: id), deadline: caller.deadline)
                : try await support.answer(
                    IsParticipant(conversation: id, user: caller.user), deadline: caller.deadline)
        }
        let limits = support.metadataLimits
        let query = PatchConversation(
            app: caller.app, user: caller.user, conversation: id,
            participants: try OperationsJSON.participants(request.participants),
            participantsLimit: support.participantsLimit,
            metadata: metadata.isEmpty ? nil : MetadataJSON.encode(metadata), origin: caller.origin,
            maxKeys: limits.keys, maxBytes: limits.bytes, isLimited: !caller.isServer && !request.byServer)
        // Adding participants can wait for a lock on `following`. Run it in its own transaction, so that it does not
        // delay a group.
        guard let written = try await support.write(query, for: caller, on: metadata.isLarge ? .large : .exclusive)
        else { return nil }
        var patched = try support.reading { try self.patched(written.row) }
        if !patched.added.isEmpty {
            patched.epoch = try await support.epoch.current(for: caller.app, deadline: caller.deadline)
        }
        let identities = try await support.directory.basic(
            patched.added.isEmpty ? [] : patched.all, in: caller.app, deadline: caller.deadline)
        var changes: [Change] = []
        if let place = patched.participants {
            changes.append(participantsChange(patched, at: place, of: id, naming: identities, by: caller))
        }
        if let (place, effects) = patched.metadata {
            changes.append(
                caller.change(
                    in: id, at: place.position, createdAt: place.createdAt, messageCount: patched.messageCount,
                    content: .metadataChanged(effects)))
        }
        support.publisher.publish(changes)
        if let place = patched.participants {
            support.publisher.notify(
                patched.added.map {
                    UserNotice(appID: caller.app, user: $0, content: .added(id, position: place.position))
                })
        }
        // Users who remove themselves see that change and no later one.
        let lastVisible = patched.removed.contains(caller.user) ? changes.first : changes.last
        return (changes, written.place ?? LogPosition(position: lastVisible?.position))
    }

    /// Returns the named users that are participants after the patch.
    static func mentioned(_ operations: [ProtoParticipantOperation]) -> [String] {
        var users: Set<UserID> = []
        for operation in operations {
            let named = operation.userIds.map { UserID(trusted: $0) }
            switch operation.kind {
            case .remove: users.subtract(named)
            case .set: users = Set(named)
            default: users.formUnion(named)
            }
        }
        return users.map(\.rawValue)
    }

    /// Reads the result of a patch.
    /// - Throws: the ``StrataModel/Failure`` of a refused patch.
    private func patched(_ row: PatchConversation.Row) throws -> Patched {
        let outcome = row.outcome
        if outcome == "too_many" {
            throw Failure.invalid("participants", reason: "would be more than \(support.participantsLimit) users")
        }
        if outcome == "none_left" { throw Failure.invalid("participants", reason: "must not become empty") }
        if outcome == "too_many_keys" { throw support.metadataLimits.tooManyKeys }
        if outcome == "too_large" { throw support.metadataLimits.tooLarge }
        try support.checkAdditions(outcome)
        try Refusal.check(outcome, what: "conversation")
        var patched = Patched()
        guard outcome == "ok" else { return patched }
        patched.messageCount = row.messageCount ?? 0
        patched.added = row.added ?? []
        patched.removed = row.removed ?? []
        patched.distinctCleared = row.distinctCleared ?? false
        patched.all = row.participants ?? []
        if let time = row.conversationCreatedAt { patched.conversationCreatedAt = time }
        patched.receiptPolicy = row.receiptPolicy ?? []
        if let place = row.place {
            patched.participants = place
            patched.counts = row.counts.counts(at: place.position)
        }
        if let place = row.metadataPlace, let effects = row.effects {
            patched.metadata = (place, try MetadataJSON.effects(effects))
        }
        return patched
    }

    private func participantsChange(
        _ patched: Patched, at place: LogPlace, of id: ConversationID,
        naming identities: [UserID: BasicIdentity], by caller: Caller
    ) -> Change {
        let conversation =
            patched.added.isEmpty
            ? nil
            : Conversation(
                id: id, createdAt: patched.conversationCreatedAt, isDistinct: false,
                participants: patched.all.map { identities[$0] ?? BasicIdentity(userID: $0) }, metadata: nil,
                position: place.position,
                epoch: patched.epoch, receiptPolicy: patched.receiptPolicy)
        return caller.change(
            in: id, at: place.position, createdAt: place.createdAt, messageCount: patched.messageCount,
            counts: patched.counts,
            content: .participantsChanged(
                added: patched.added.map { identities[$0] ?? BasicIdentity(userID: $0) }, removed: patched.removed,
                distinctCleared: patched.distinctCleared, conversation: conversation))
    }

    // MARK: Delete

    func deleteConversation(
        _ request: ProtoDeleteConversationRequest, in context: RPCContext
    ) async throws -> LogPosition {
        let caller = try Caller(
            app: request.appID, user: request.actor, origin: request.hasOrigin ? request.origin : nil,
            idempotencyKey: request.hasMutation ? request.mutation : nil, context)
        return try await support.idempotent(caller) { try await carryOut(request, for: caller) }
    }

    /// Writes the deletion, publishes its change, and notifies the gateways of the users concerned.
    /// - Returns: the change's log position. nil in the cases of ``ServiceContext/write(_:for:on:)``.
    private func carryOut(_ request: ProtoDeleteConversationRequest, for caller: Caller) async throws -> LogPosition? {
        let id = try ConversationID(contract: request.conversationID)
        guard let mode = DeletionMode(rawValue: request.mode) else {
            throw Failure.invalid("mode", reason: "must be all_participants or my_devices")
        }
        // The statement updates the rows of every participant, so it runs in its own transaction.
        let query = DeleteConversation(
            app: caller.app, user: caller.user, conversation: id, mode: mode, leaves: request.leave,
            origin: caller.origin,
            upTo: request.hasUpTo ? request.upTo : nil)
        guard let written = try await support.write(query, for: caller) else { return nil }
        let deleted = try self.deleted(written.row, of: id, mode: mode, by: caller)
        if let change = deleted.change { support.publisher.publish([change]) }
        support.publisher.notify(deleted.former)
        let place =
            written.place
            ?? LogPosition(position: deleted.change?.position, userPosition: deleted.hidden?.place.position)
        guard let hidden = deleted.hidden else { return place }
        var content = UserChange.Content.conversationHidden(id, upTo: hidden.upTo, wholly: true)
        if hidden.isPartial,
            let view = try await support.view(of: id, for: caller)
        {
            content = .messagesHidden(upTo: hidden.upTo, view: view)
        }
        let change = UserChange(
            appID: caller.app, user: caller.user, position: hidden.place.position,
            createdAt: hidden.place.createdAt, content: content)
        support.publisher.notify([UserNotice(appID: caller.app, user: caller.user, content: .change(change))])
        return place
    }

    private struct Deleted {
        var change: Change?
        /// The entry in the user's own log.
        var hidden: (upTo: Position, isPartial: Bool, place: LogPlace)?
        /// Notices for users who had left before.
        var former: [UserNotice] = []
    }

    /// Reads the result of a deletion.
    /// - Throws: the ``StrataModel/Failure`` of a refused deletion.
    private func deleted(
        _ row: DeleteConversation.Row, of id: ConversationID, mode: DeletionMode, by caller: Caller
    ) throws(Failure) -> Deleted {
        try Refusal.check(row.outcome, what: "conversation")
        var deleted = Deleted()
        deleted.former = row.former.notices(in: caller.app)
        if let place = row.place {
            let content: Change.Content =
                mode == .allParticipants
                ? .conversationDeleted
                : .participantsChanged(
                    added: [], removed: [caller.user], distinctCleared: row.distinctCleared ?? false,
                    conversation: nil)
            deleted.change = caller.change(
                in: id, at: place.position, createdAt: place.createdAt, messageCount: row.messageCount ?? 0,
                content: content)
        }
        if let place = row.userPlace { deleted.hidden = (row.upTo ?? .zero, row.isPartial ?? false, place) }
        return deleted
    }
}
