// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Model
import Postgres
import RPC
import SwiftProtobuf

/// Answers the calls about conversations. Every write is one function in the database; what it decided is told to the caller and published.
struct ConversationCalls: Sendable {
    private let support: CallSupport
    private var database: Database { support.database }

    /// The most conversations or messages on a page, whatever a caller asks for.
    static let pageLimit: Int32 = 1000

    init(_ support: CallSupport) { self.support = support }

    /// Adds the methods to `router`.
    func register(on router: inout CallRouter) {
        router.register(ConversationsAPI.createConversation) { try await self.create($0, $1) }
        router.register(ConversationsAPI.getConversation) { try await self.get($0, $1) }
        router.register(ConversationsAPI.getConversations) { try await self.getMany($0, $1) }
        router.register(ConversationsAPI.listConversations) { try await self.list($0, $1) }
        router.register(ConversationsAPI.patchConversation) { try await self.patch($0, $1) }
        router.register(ConversationsAPI.deleteConversation) { try await self.delete($0, $1) }
        router.register(ConversationsAPI.markAllRead) { try await self.markAllRead($0, $1) }
    }

    // MARK: Create

    private func create(_ request: ProtoCreateConversationRequest, _ context: RPCContext) async throws -> ProtoCreateConversationResponse {
        let caller = try Caller(app: request.appID, user: request.actor, origin: request.hasOrigin ? request.origin : nil, context)
        let id = try ConversationID(contract: request.id)
        let leaves = request.hasMetadata ? request.metadata.modelLeaves : nil
        if let leaves {
            try support.metadataValidation.check(tree: leaves)
            try support.metadataLimits.check(leaves)
        }
        try await support.ensureUsers(request.participants + [caller.user.rawValue], caller) { () throws(Failure) in
            try await support.answer(.conversationIsFree, [.uuid(id.rawValue)], deadline: caller.deadline)
        }
        let values: [Value] =
            [
                .uuid(caller.app.rawValue), .text(caller.user.rawValue), .uuid(id.rawValue), .textArray(request.participants),
                .bool(request.distinct), leaves.map { .textArray($0.map(\.path.dotted)) } ?? .null,
                leaves.map { .textArray($0.map(\.value)) } ?? .null, .int8(Int64(support.participantsLimit)),
            ] + caller.originValues + [.int8(Int64(request.receiptPolicy & 3))]
        // A creation meets two keys, its id and its set of participants: alone in its transaction.
        let rows =
            if leaves?.isLarge == true {
                try await database.runLarge(.conversationCreate, values, deadline: caller.deadline)
            } else {
                try await database.runAlone(.conversationCreate, values, for: caller)
            }
        let row = try support.row(rows)
        let (outcome, createdAt, shownAt, view) = try support.reading {
            var cursor = RowCursor(row)
            let outcome: String = try cursor.next()
            cursor.skip(1)
            let createdAt = try cursor.optionalTime()
            let userPosition = try cursor.optional(Int64.self)
            let userTime = try cursor.optionalTime()
            let shownAt = userPosition.flatMap { position in userTime.map { (Position(position), $0) } }
            return (outcome, createdAt, shownAt, try ViewRow(&cursor))
        }
        if outcome == "too_many" { throw Failure.invalid("participants", "names more than \(support.participantsLimit) users") }
        try Refusal.check(outcome, what: "conversation")
        guard let view else { throw Failure(.idInUse, "The id is in use.") }
        if let shownAt { try await announceShown(view, at: shownAt, caller) }
        let named = try await support.named(
            view, in: caller.app, metadata: outcome == "created" ? MetadataTree(leaves: leaves ?? []) : nil, deadline: caller.deadline)
        switch outcome {
        case "created": announceCreated(named, at: createdAt ?? view.createdAt, caller)
        case "found": break
        case "conflict":
            throw Failure(.conflict, "There is such a conversation, with other metadata.", detail: .conversation(named))
        default: throw Failure(.idInUse, "The id is in use.", detail: .conversation(named))
        }
        return .with {
            $0.view = ProtoConversationView(named)
            $0.created = outcome == "created"
        }
    }

    private func announceCreated(_ view: ConversationView, at time: Model.Timestamp, _ caller: Caller) {
        let conversation = view.conversation
        support.publisher.publish([
            caller.change(conversation.id, at: conversation.position, time, messageCount: 0, .conversationCreated(conversation))
        ])
        support.publisher.notify(
            conversation.participants.map {
                UserNotice(appID: caller.app, user: $0.userID, content: .added(conversation.id, position: conversation.position))
            })
    }

    private func announceShown(_ view: ViewRow, at place: (Position, Model.Timestamp), _ caller: Caller) async throws(Failure) {
        let named = try await support.named(view, in: caller.app, deadline: caller.deadline)
        let change = UserChange(
            appID: caller.app, user: caller.user, position: place.0, createdAt: place.1, content: .conversationShown(named))
        support.publisher.notify([UserNotice(appID: caller.app, user: caller.user, content: .change(change))])
    }

    // MARK: Read

    private func get(_ request: ProtoGetConversationRequest, _ context: RPCContext) async throws -> ProtoConversationView {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let id = try ConversationID(contract: request.conversationID)
        return ProtoConversationView(try await view(of: id, for: caller))
    }

    private func view(of id: ConversationID, for caller: Caller) async throws(Failure) -> ConversationView {
        guard let view = try await support.view(of: id, for: caller.user, in: caller.app, deadline: caller.deadline) else {
            throw .notFound("conversation")
        }
        return view
    }

    private func list(_ request: ProtoListConversationsRequest, _ context: RPCContext) async throws -> ProtoListConversationsResponse {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let from = request.hasFromID ? try ConversationID(contract: request.fromID) : nil
        let rows = try await database.runAlone(
            .conversationList,
            [
                .uuid(caller.app.rawValue), .text(caller.user.rawValue), .bool(request.byLastMessage),
                .int8(Int64(min(max(request.pageSize, 1), Self.pageLimit))), from.map { .uuid($0.rawValue) } ?? .null,
                CallSupport.bound(request.maxBytes),
            ], for: caller)
        let header = try support.row(rows)
        let (total, later, views) = try support.reading {
            guard try header.get(0, as: String.self) != "unknown_cursor" else {
                throw Failure.invalid("from_id", "is not the id of a conversation in this list")
            }
            return (
                try header.get(1, as: Int64.self),
                try rows.compactMap { row in try row.getOptional(2, as: UUID.self).map { Data(uuid: $0) } },
                try rows.dropFirst()
                    .compactMap { row in
                        var cursor = RowCursor(row, at: 3)
                        return try ViewRow(&cursor)
                    }
            )
        }
        let named = try await protos(of: views, caller)
        return .with {
            $0.views = named
            $0.later = later
            $0.total = total
        }
    }

    private func protos(of views: [ViewRow], _ caller: Caller) async throws -> [ProtoConversationView] {
        let identities = try await support.directory.basic(
            Array(Set(views.flatMap(\.users))), in: caller.app, deadline: caller.deadline)
        let epoch = try await support.epoch.current(deadline: caller.deadline)
        return views.map { ProtoConversationView($0.view(identities, epoch: epoch)) }
    }

    private func getMany(_ request: ProtoGetConversationsRequest, _ context: RPCContext) async throws -> ProtoGetConversationsResponse {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        guard request.conversationIds.count <= Int(Self.pageLimit) else {
            throw Failure(.invalidRequest, "At most \(Self.pageLimit) conversations can be asked for at once.")
        }
        let ids = try request.conversationIds.map { try ConversationID(contract: $0).rawValue }
        let rows = try await database.runAlone(
            .conversationsGet,
            [.uuid(caller.app.rawValue), .text(caller.user.rawValue), .uuidArray(ids), CallSupport.bound(request.maxBytes)],
            for: caller)
        let (views, covered) = try support.reading {
            (
                try rows.compactMap { row in
                    var cursor = RowCursor(row, at: 1)
                    return try ViewRow(&cursor)
                }, try rows.compactMap { try $0.getOptional(0, as: Int64.self) }.last ?? 0
            )
        }
        let named = try await protos(of: views, caller)
        return .with {
            $0.views = named
            $0.covered = Int32(clamping: covered)
        }
    }

    // MARK: Mark all read

    private func markAllRead(_ request: ProtoMarkAllReadRequest, _ context: RPCContext) async throws -> ProtoEmpty {
        let caller = try Caller(app: request.appID, user: request.actor, origin: request.hasOrigin ? request.origin : nil, context)
        let id = try ConversationID(contract: request.conversationID)
        let rows = try await database.run(
            .conversationMarkAllRead,
            [
                .uuid(caller.app.rawValue), .text(caller.user.rawValue), .uuid(id.rawValue),
                request.hasUpTo ? .int8(request.upTo) : .null, .int8(Int64(support.receiptAudienceLimit)),
            ] + caller.originValues, lockKey: id.lockKey, deadline: caller.deadline)
        let row = try support.row(rows)
        let change: Change? = try support.reading {
            var cursor = RowCursor(row)
            let outcome: String = try cursor.next()
            try Refusal.check(outcome, what: "conversation")
            guard outcome == "ok" else { return nil }
            let (position, createdAt, messageCount) = (try cursor.position(), try cursor.time(), try cursor.next(Int64.self))
            let upTo = try cursor.position()
            let numbers = UserNumbers(uncounted: try cursor.next(), hidden: try cursor.next(), position: position)
            let told = try cursor.optional([String].self)?.map { UserID(trusted: $0) }
            return caller.change(
                id, at: position, createdAt, messageCount: messageCount, numbers: [caller.user: numbers],
                .allRead(user: caller.user, upTo: upTo, toldTo: told))
        }
        if let change { support.publisher.publish([change]) }
        return ProtoEmpty()
    }

    private func patch(_ request: ProtoPatchConversationRequest, _ context: RPCContext) async throws -> ProtoPatchConversationResponse {
        let changes = try await ParticipantChanges(support).patch(request, context)
        return .with { $0.changes = changes.map { ProtoChange($0) } }
    }

    private func delete(_ request: ProtoDeleteConversationRequest, _ context: RPCContext) async throws -> ProtoEmpty {
        try await ParticipantChanges(support).delete(request, context)
        return ProtoEmpty()
    }
}

extension CallSupport {
    /// A conversation as a user sees it, without its metadata; nil if he may not know of it.
    func view(
        of id: ConversationID, for user: UserID, in app: AppID, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ConversationView? {
        let rows = try await database.run(
            .conversationGet, [.uuid(app.rawValue), .text(user.rawValue), .uuid(id.rawValue)], deadline: deadline)
        let view: ViewRow? = try reading {
            guard let row = rows.first else { return nil }
            var cursor = RowCursor(row)
            return try ViewRow(&cursor)
        }
        guard let view else { return nil }
        return try await named(view, in: app, deadline: deadline)
    }
}
