// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf

@testable import Conversations

/// Calls about conversations, with model types.
extension CallsFixture {
    struct Created {
        let view: ConversationView
        let isNew: Bool
        var id: ConversationID { view.conversation.id }
    }

    func create(
        _ participants: [String], by actor: String = "ana", id: ConversationID = .random(), distinct: Bool = false,
        metadata: [String: String]? = nil, origin: Change.Origin? = nil, byServer: Bool = false
    ) async throws -> Created {
        let response = try await call(ConversationsAPI.createConversation) {
            $0.appID = Data(app)
            $0.actor = actor
            $0.id = Data(id)
            $0.participants = participants
            $0.distinct = distinct
            $0.byServer = byServer
            if let metadata {
                $0.metadata = ProtoTree(
                    metadata.map { MetadataLeaf(path: MetadataPath(trusted: $0.key), value: $0.value) })
            }
            if let origin { $0.origin = ProtoOrigin(origin) }
        }
        return Created(view: try ConversationView(response.view), isNew: response.created)
    }

    /// Creates a conversation of ana and the given users.
    func conversation(
        _ participants: [String] = ["ben"], metadata: [String: String]? = nil
    ) async throws -> ConversationID {
        try await create(participants, metadata: metadata).id
    }

    func get(
        _ id: ConversationID, as user: String = "ana", withMetadata: Bool = true
    ) async throws -> ConversationView {
        try ConversationView(
            await call(ConversationsAPI.getConversation) {
                $0.appID = Data(app)
                $0.userID = user
                $0.conversationID = Data(id)
                $0.withMetadata = withMetadata
            })
    }

    /// Requests conversations together. Repeats the request for the ids that an answer does not cover.
    func views(of ids: [ConversationID], as user: String, bytes: Int) async throws -> [ConversationView] {
        var (left, views) = (ids[...], [ConversationView]())
        while !left.isEmpty {
            let answer = try await call(ConversationsAPI.getConversations) {
                $0.appID = Data(app)
                $0.userID = user
                $0.conversationIds = left.map { Data($0) }
                $0.maxBytes = Int64(bytes)
            }
            guard answer.covered > 0 else { break }
            left = left.dropFirst(Int(answer.covered))
            views += try answer.views.map { try ConversationView($0) }
        }
        return views
    }

    /// A page of a list, and whether more objects follow it.
    struct Page<Item> {
        let items: [Item]
        let total: Int64
        /// True if the answer holds only a part of the page.
        let isCut: Bool
        /// The id of the page's last object; nil if none follows it.
        let end: UUID?
    }

    func end(_ proto: ProtoPageEnd) throws -> UUID? { proto.hasLastID ? UUID(contract: proto.lastID) : nil }

    func list(
        as user: String = "ana", byLastMessage: Bool = false, pageSize: Int = 100, from: ConversationID? = nil
    ) async throws -> (views: [ConversationView], total: Int64) {
        let response = try await call(ConversationsAPI.listConversations) {
            $0.appID = Data(app)
            $0.userID = user
            $0.byLastMessage = byLastMessage
            $0.pageSize = Int32(pageSize)
            if let from { $0.fromID = Data(from) }
        }
        return (try response.views.map { try ConversationView($0) }, response.total)
    }

    /// Returns the ids of a page, including those of conversations without a view.
    func listPage(
        as user: String = "ana", byLastMessage: Bool = false, pageSize: Int, from: UUID? = nil, bytes: Int = 0
    ) async throws -> Page<UUID> {
        let response = try await call(ConversationsAPI.listConversations) {
            $0.appID = Data(app)
            $0.userID = user
            $0.byLastMessage = byLastMessage
            $0.pageSize = Int32(pageSize)
            if let from { $0.fromID = Data(uuid: from) }
            $0.maxBytes = Int64(bytes)
        }
        let ids = response.views.map(\.conversation.id) + response.later
        return Page(
            items: ids.compactMap { UUID(contract: $0) }, total: response.total, isCut: !response.later.isEmpty,
            end: try end(response.end))
    }

    /// - Parameters:
    ///   - messages: nil requests all messages from the first unread one on.
    ///   - bytes: The byte limit; 0: none.
    func load(
        as user: String = "ana", byLastMessage: Bool = false, pageSize: Int = 100, from: UUID? = nil,
        messages: Int? = nil, bytes: Int = 0
    ) async throws -> Page<LoadedConversation> {
        let response = try await call(ConversationsAPI.loadConversations) {
            $0.appID = Data(app)
            $0.userID = user
            $0.byLastMessage = byLastMessage
            $0.pageSize = Int32(pageSize)
            if let from { $0.fromID = Data(uuid: from) }
            if let messages { $0.messages = Int32(messages) }
            $0.maxBytes = Int64(bytes)
        }
        let items = try response.items.map { try LoadedConversation($0) }
        return Page(items: items, total: response.total, isCut: false, end: try end(response.end))
    }

    func loadAll(
        as user: String, byLastMessage: Bool = false, pageSize: Int = 100, messages: Int?, bytes: Int = 0
    ) async throws -> [LoadedConversation] {
        var all: [LoadedConversation] = []
        var from: UUID?
        repeat {
            let page = try await load(
                as: user, byLastMessage: byLastMessage, pageSize: pageSize, from: from, messages: messages, bytes: bytes
            )
            all += page.items
            from = page.end
        } while from != nil
        return all
    }

    @discardableResult
    func patch(
        _ id: ConversationID, by actor: String = "ana", _ participants: [ParticipantOperation] = [],
        metadata: [MetadataOperation] = [],
        origin: Change.Origin? = nil, byServer: Bool = false
    ) async throws -> [Change] {
        let response = try await call(ConversationsAPI.patchConversation) {
            $0.appID = Data(app)
            $0.actor = actor
            $0.conversationID = Data(id)
            $0.participants = participants.map { operation in
                .with {
                    switch operation {
                    case .add(let user): ($0.kind, $0.userIds) = (.add, [user.rawValue])
                    case .remove(let user): ($0.kind, $0.userIds) = (.remove, [user.rawValue])
                    case .set(let users): ($0.kind, $0.userIds) = (.set, users.map(\.rawValue))
                    }
                }
            }
            $0.metadata = metadata.map { ProtoMetadataOperation($0) }
            $0.byServer = byServer
            if let origin { $0.origin = ProtoOrigin(origin) }
        }
        return try response.changes.map { try Change($0) }
    }

    func delete(
        _ id: ConversationID, by actor: String = "ana", _ mode: DeletionMode = .myDevices, leave: Bool = false,
        upTo: Position? = nil
    ) async throws {
        try await call(ConversationsAPI.deleteConversation) {
            $0.appID = Data(app)
            $0.actor = actor
            $0.conversationID = Data(id)
            $0.mode = mode.rawValue
            $0.leave = leave
            if let upTo { $0.upTo = upTo.rawValue }
        }
    }
}

func add(_ user: String) -> ParticipantOperation { .add(UserID(trusted: user)) }
func remove(_ user: String) -> ParticipantOperation { .remove(UserID(trusted: user)) }
func replace(_ users: [String]) -> ParticipantOperation { .set(users.map { UserID(trusted: $0) }) }
