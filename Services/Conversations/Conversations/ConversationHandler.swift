// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import FoundationEssentials
import Mutations
import Postgres
import RPC
import StrataModel
import SwiftProtobuf

/// Answers the calls about conversations. Each write is one function in the database. The handler returns its result to
/// the caller and publishes it.
struct ConversationHandler: CallHandler {
    private let support: ServiceContext
    private var database: Database { support.database }

    /// The maximum number of conversations or messages on a page. It overrides the caller's page size.
    static let pageLimit: Int32 = 1000

    init(_ support: ServiceContext) { self.support = support }

    func register(on router: inout CallRouter) {
        router.register(ConversationsAPI.createConversation) { try await self.createConversation($0, in: $1) }
        router.register(ConversationsAPI.getConversation) { try await self.getConversation($0, in: $1) }
        router.register(ConversationsAPI.getConversations) { try await self.getConversations($0, in: $1) }
        router.register(ConversationsAPI.listConversations) { try await self.listConversations($0, in: $1) }
        router.register(ConversationsAPI.patchConversation) { try await self.patchConversation($0, in: $1) }
        router.register(ConversationsAPI.deleteConversation) { try await self.deleteConversation($0, in: $1) }
        router.register(ConversationsAPI.markAllRead) { try await self.markAllRead($0, in: $1) }
    }

    // MARK: Create

    private func createConversation(
        _ request: ProtoCreateConversationRequest, in context: RPCContext
    ) async throws -> ProtoCreateConversationResponse {
        let caller = try Caller(
            app: request.appID, user: request.actor, origin: request.hasOrigin ? request.origin : nil,
            idempotencyKey: request.hasMutation ? request.mutation : nil, context)
        return try await support.idempotent(caller) {
            try await carryOut(request, for: caller)
        } answer: { earlier in
            let id = earlier.object.map { ConversationID(rawValue: $0) }
            guard let id, let view = try await support.row(of: id, withTree: true, for: caller) else {
                throw Failure.notFound("conversation")
            }
            let proto = try await protos(of: [view], caller)[0]
            return .with {
                $0.view = proto
                $0.created = earlier.outcome == "created"
                $0.place = ProtoChangePlace(earlier.place)
            }
        }
    }

    /// Creates or finds the conversation, publishes its creation, and notifies the gateways of its participants.
    /// - Returns: nil in the cases of ``ServiceContext/write(_:for:on:)``.
    private func carryOut(
        _ request: ProtoCreateConversationRequest, for caller: Caller
    ) async throws -> ProtoCreateConversationResponse? {
        let id = try ConversationID(contract: request.id)
        let leaves = request.hasMetadata ? request.metadata.modelLeaves : nil
        if let leaves {
            try support.metadataValidation.checkTree(leaves)
            try support.metadataLimits.checkLimits(of: leaves)
        }
        try await support.ensureUsers(
            request.participants + (caller.isServer ? [] : [caller.user.rawValue]), for: caller
        ) { () throws(Failure) in
            try await support.answer(IsConversationFree(conversation: id), deadline: caller.deadline)
        }
        let query = CreateConversation(
            app: caller.app, user: caller.user, conversation: id, participants: request.participants,
            isDistinct: request.distinct,
            metadataPaths: leaves?.map(\.path.dotted), metadataValues: leaves?.map(\.value),
            participantsLimit: support.participantsLimit,
            origin: caller.origin, receiptPolicy: Int64(request.receiptPolicy & 3),
            isLimited: !caller.isServer && !request.byServer)
        // A creation locks two keys, the id and the set of participants, so it runs in its own transaction.
        let route: ServiceContext.Route = leaves?.isLarge == true ? .large : .exclusive
        guard let written = try await support.write(query, for: caller, on: route) else { return nil }
        let (outcome, shown) = (written.row.outcome, written.row.shown)
        if outcome == "too_many" {
            throw Failure.invalid("participants", reason: "names more than \(support.participantsLimit) users")
        }
        try support.checkAdditions(outcome)
        try Refusal.check(outcome, what: "conversation")
        guard let view = written.row.view else { throw Failure(.idInUse, "The id is in use.") }
        if let shown { try await announceShown(view, at: shown, to: caller) }
        var named = try await support.named(view, in: caller.app, deadline: caller.deadline)
        named.conversation.metadata =
            outcome == "created" ? MetadataTree(leaves: leaves ?? []) : view.tree.map { MetadataTree($0) }
        switch outcome {
        case "created": announceCreated(named, at: written.row.changedAt ?? view.createdAt, by: caller)
        case "found": break
        case "conflict":
            throw Failure(
                .conflict, "A distinct conversation with these participants exists, with other metadata.",
                detail: .conversation(named))
        default: throw Failure(.idInUse, "The id is in use.", detail: .conversation(named))
        }
        let place = LogPosition(position: named.conversation.position, userPosition: shown?.position)
        return .with {
            $0.view = ProtoConversationView(named)
            $0.created = outcome == "created"
            $0.place = ProtoChangePlace(written.place ?? place)
        }
    }

    private func announceCreated(_ view: ConversationView, at time: StrataModel.Timestamp, by caller: Caller) {
        let conversation = view.conversation
        support.publisher.publish([
            caller.change(
                in: conversation.id, at: conversation.position, createdAt: time, messageCount: 0,
                content: .conversationCreated(conversation))
        ])
        support.publisher.notify(
            conversation.participants.map {
                UserNotice(
                    appID: caller.app, user: $0.userID,
                    content: .added(conversation.id, position: conversation.position))
            })
    }

    private func announceShown(
        _ view: ViewRow, at place: LogPlace, to caller: Caller
    ) async throws(Failure) {
        let named = try await support.named(view, in: caller.app, deadline: caller.deadline)
        let change = UserChange(
            appID: caller.app, user: caller.user, position: place.position, createdAt: place.createdAt,
            content: .conversationShown(named))
        support.publisher.notify([UserNotice(appID: caller.app, user: caller.user, content: .change(change))])
    }

    // MARK: Read

    private func getConversation(
        _ request: ProtoGetConversationRequest, in context: RPCContext
    ) async throws -> ProtoConversationView {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let id = try ConversationID(contract: request.conversationID)
        guard let view = try await support.row(of: id, withTree: request.withMetadata, for: caller) else {
            throw caller.isServer ? try await support.absence(of: id, for: caller) : .notFound("conversation")
        }
        return try await protos(of: [view], caller)[0]
    }

    private func listConversations(
        _ request: ProtoListConversationsRequest, in context: RPCContext
    ) async throws -> ProtoListConversationsResponse {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        let from = request.hasFromID ? try ConversationID(contract: request.fromID) : nil
        let rows = try await database.runExclusive(
            ListConversations(
                app: caller.app, user: caller.user, byLastMessage: request.byLastMessage,
                pageSize: Int64(min(max(request.pageSize, 1), Self.pageLimit)), from: from,
                maxBytes: ServiceContext.bound(request.maxBytes)), for: caller)
        let header = try support.row(rows)
        guard header.outcome != "unknown_cursor" else { throw Self.unknownCursor }
        let page = rows.dropFirst()
        let (later, views) = (page.compactMap(\.later), page.compactMap(\.view))
        // The last row has the outcome "more" if the list continues.
        let hasMore = page.contains { $0.outcome == "more" }
        let named = try await protos(of: views, caller)
        return .with {
            $0.views = named
            $0.later = later.map { Data($0) }
            $0.total = header.total ?? 0
            $0.end = ProtoPageEnd(lastID: hasMore ? (later.last ?? views.last?.id).map { Data($0) } : nil)
        }
    }

    /// The failure for a page whose cursor is not a conversation in the user's list.
    static var unknownCursor: Failure { .invalid("from_id", reason: "is not the id of a conversation in this list") }

    private func protos(of views: [ViewRow], _ caller: Caller) async throws -> [ProtoConversationView] {
        let identities = try await support.directory.basic(
            Array(Set(views.flatMap(\.users))), in: caller.app, deadline: caller.deadline)
        let epoch = try await support.epoch.current(for: caller.app, deadline: caller.deadline)
        return views.map { $0.proto(identities, epoch: epoch) }
    }

    private func getConversations(
        _ request: ProtoGetConversationsRequest, in context: RPCContext
    ) async throws -> ProtoGetConversationsResponse {
        let caller = try Caller(app: request.appID, user: request.userID, context)
        guard request.conversationIds.count <= Int(Self.pageLimit) else {
            throw Failure(.invalidRequest, "At most \(Self.pageLimit) conversations can be requested at once.")
        }
        let ids = try request.conversationIds.map { try ConversationID(contract: $0).rawValue }
        let rows = try await database.runExclusive(
            GetConversations(
                app: caller.app, user: caller.user, conversations: ids, maxBytes: ServiceContext.bound(request.maxBytes)
            ), for: caller)
        let named = try await protos(of: rows.compactMap(\.view), caller)
        return .with {
            $0.views = named
            $0.covered = Int32(clamping: rows.compactMap(\.covered).last ?? 0)
        }
    }

    // MARK: Mark all read

    private func markAllRead(
        _ request: ProtoMarkAllReadRequest, in context: RPCContext
    ) async throws -> ProtoChangePlace {
        let caller = try Caller(
            app: request.appID, user: request.actor, origin: request.hasOrigin ? request.origin : nil,
            idempotencyKey: request.hasMutation ? request.mutation : nil, context)
        var readUpTo: Int64?
        let place = try await support.idempotent(caller) {
            try await carryOut(request, for: caller, readUpTo: &readUpTo)
        }
        var answer = ProtoChangePlace(place)
        if let readUpTo { answer.readUpTo = readUpTo }
        return answer
    }

    /// Writes the change and publishes it.
    /// - Parameter readUpTo: receives the position up to which all messages are read.
    /// - Returns: the change's log position. nil in the cases of ``ServiceContext/write(_:for:on:)``.
    private func carryOut(
        _ request: ProtoMarkAllReadRequest, for caller: Caller, readUpTo: inout Int64?
    ) async throws -> LogPosition? {
        let id = try ConversationID(contract: request.conversationID)
        let query = MarkAllRead(
            app: caller.app, user: caller.user, conversation: id, upTo: request.hasUpTo ? request.upTo : nil,
            audienceLimit: support.receiptAudienceLimit, origin: caller.origin)
        guard let written = try await support.write(query, for: caller, on: .shared(lockKey: id.lockKey)) else {
            return nil
        }
        let row = written.row
        readUpTo = row.upTo?.rawValue
        try Refusal.check(row.outcome, what: "conversation")
        let change = try support.reading {
            try row.change.map { read in
                let counts = UserCounts(
                    excluded: read.uncounted, hidden: read.hidden, position: read.place.position)
                // If a block hides a message from the user, the change names the visible messages instead of "all
                // read".
                let named = try read.receipts.map { try LogRow.receipts(in: $0) }
                return caller.change(
                    in: id, at: read.place.position, createdAt: read.place.createdAt, messageCount: read.messageCount,
                    counts: [caller.user: counts],
                    content: named ?? .allRead(user: caller.user, upTo: row.upTo ?? .zero, audience: read.told))
            }
        }
        if let change { support.publisher.publish([change]) }
        return written.place ?? LogPosition(position: change?.position)
    }

    private func patchConversation(
        _ request: ProtoPatchConversationRequest, in context: RPCContext
    ) async throws -> ProtoPatchConversationResponse {
        let (changes, place) = try await ConversationEditor(support).patchConversation(request, in: context)
        return .with {
            $0.changes = changes.map { ProtoChange($0) }
            $0.place = ProtoChangePlace(place)
        }
    }

    private func deleteConversation(
        _ request: ProtoDeleteConversationRequest, in context: RPCContext
    ) async throws -> ProtoChangePlace {
        ProtoChangePlace(try await ConversationEditor(support).deleteConversation(request, in: context))
    }
}

extension ServiceContext {
    /// Returns the reason why the app's own server does not find a conversation: it was deleted, or it never existed.
    func absence(of id: ConversationID, for caller: Caller) async throws(Failure) -> Failure {
        let rows = try await database.run(FindAbsence(app: caller.app, conversation: id), deadline: caller.deadline)
        let outcome = try row(rows).outcome
        do throws(Failure) {
            try Refusal.check(outcome, what: "conversation")
            return .notFound("conversation")
        } catch {
            return error
        }
    }

    /// Returns a conversation as the caller sees it, without its metadata. nil if the caller may not see it.
    func view(of id: ConversationID, for caller: Caller) async throws(Failure) -> ConversationView? {
        guard let row = try await row(of: id, withTree: false, for: caller) else { return nil }
        return try await named(row, in: caller.app, deadline: caller.deadline)
    }

    fileprivate func row(
        of id: ConversationID, withTree: Bool, for caller: Caller
    ) async throws(Failure) -> ViewRow? {
        let rows = try await database.run(
            GetConversation(app: caller.app, user: caller.user, conversation: id, withTree: withTree),
            deadline: caller.deadline)
        return rows.first?.view
    }
}
