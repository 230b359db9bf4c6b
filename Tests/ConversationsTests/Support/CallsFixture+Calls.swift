// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf

@testable import Conversations

/// The calls, with model types.
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
        let response = try await call(
            ConversationsAPI.createConversation,
            .with {
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
            })
        return Created(view: try ConversationView(response.view), isNew: response.created)
    }

    /// Creates a conversation of ana and the given users.
    func conversation(
        _ participants: [String] = ["ben"], metadata: [String: String]? = nil
    ) async throws -> ConversationID {
        try await create(participants, metadata: metadata).id
    }

    func get(_ id: ConversationID, as user: String = "ana") async throws -> ConversationView {
        try ConversationView(
            await call(
                ConversationsAPI.getConversation,
                .with {
                    $0.appID = Data(app)
                    $0.userID = user
                    $0.conversationID = Data(id)
                }))
    }

    func list(
        as user: String = "ana", byLastMessage: Bool = false, pageSize: Int = 100, from: ConversationID? = nil
    ) async throws -> (views: [ConversationView], total: Int64) {
        let response = try await call(
            ConversationsAPI.listConversations,
            .with {
                $0.appID = Data(app)
                $0.userID = user
                $0.byLastMessage = byLastMessage
                $0.pageSize = Int32(pageSize)
                if let from { $0.fromID = Data(from) }
            })
        return (try response.views.map { try ConversationView($0) }, response.total)
    }

    @discardableResult
    func patch(
        _ id: ConversationID, by actor: String = "ana", _ participants: [ParticipantOperation] = [],
        metadata: [MetadataOperation] = [],
        origin: Change.Origin? = nil, byServer: Bool = false
    ) async throws -> [Change] {
        let response = try await call(
            ConversationsAPI.patchConversation,
            .with {
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
            })
        return try response.changes.map { try Change($0) }
    }

    func delete(
        _ id: ConversationID, by actor: String = "ana", _ mode: DeletionMode = .myDevices, leave: Bool = false,
        upTo: Position? = nil
    ) async throws {
        _ = try await call(
            ConversationsAPI.deleteConversation,
            .with {
                $0.appID = Data(app)
                $0.actor = actor
                $0.conversationID = Data(id)
                $0.mode = mode.rawValue
                $0.leave = leave
                if let upTo { $0.upTo = upTo.rawValue }
            })
    }

    func markAllRead(_ id: ConversationID, by actor: String, upTo: Position? = nil) async throws {
        _ = try await call(
            ConversationsAPI.markAllRead,
            .with {
                $0.appID = Data(app)
                $0.actor = actor
                $0.conversationID = Data(id)
                if let upTo { $0.upTo = upTo.rawValue }
            })
    }

    @discardableResult
    func send(
        _ conversation: ConversationID, by actor: String = "ana", _ text: String = "hello", id: MessageID = .random(),
        notification: String? = nil,
        origin: Change.Origin? = nil
    ) async throws -> StrataModel.Message {
        let response = try await call(
            ConversationsAPI.sendMessage,
            .with {
                $0.appID = Data(app)
                $0.actor = actor
                $0.conversationID = Data(conversation)
                $0.id = Data(id)
                $0.parts = [
                    ProtoMessagePart(MessagePart(id: UUID(), mimeType: "text/plain", body: text, size: text.utf8.count))
                ]
                if let notification { $0.notification = notification }
                if let origin { $0.origin = ProtoOrigin(origin) }
            })
        return try StrataModel.Message(response.message)
    }

    func message(_ id: MessageID, as user: String) async throws -> StrataModel.Message {
        try StrataModel.Message(
            await call(
                ConversationsAPI.getMessage,
                .with {
                    $0.appID = Data(app)
                    $0.userID = user
                    $0.messageID = Data(id)
                }))
    }

    func messages(
        _ conversation: ConversationID, as user: String = "ana", pageSize: Int = 100, from: MessageID? = nil
    ) async throws -> (messages: [StrataModel.Message], total: Int64) {
        let response = try await call(
            ConversationsAPI.listMessages,
            .with {
                $0.appID = Data(app)
                $0.userID = user
                $0.conversationID = Data(conversation)
                $0.pageSize = Int32(pageSize)
                if let from { $0.fromID = Data(from) }
            })
        return (try response.messages.map { try StrataModel.Message($0) }, response.total)
    }

    func delete(_ message: MessageID, by actor: String, _ mode: DeletionMode) async throws {
        _ = try await call(
            ConversationsAPI.deleteMessage,
            .with {
                $0.appID = Data(app)
                $0.actor = actor
                $0.messageID = Data(message)
                $0.mode = mode.rawValue
            })
    }

    func receipt(_ kind: ReceiptKind, _ message: MessageID, by actor: String) async throws {
        _ = try await call(
            ConversationsAPI.giveReceipt,
            .with {
                $0.appID = Data(app)
                $0.actor = actor
                $0.messageID = Data(message)
                $0.kind = kind.rawValue
            })
    }

    @discardableResult
    func receipts(
        _ kind: ReceiptKind, _ messages: [MessageID], in conversation: ConversationID, by actor: String
    ) async throws -> (ignored: [MessageID], position: Position?) {
        let response = try await call(
            ConversationsAPI.giveReceipts,
            .with {
                $0.appID = Data(app)
                $0.actor = actor
                $0.conversationID = Data(conversation)
                $0.messageIds = messages.map { Data($0) }
                $0.kind = kind.rawValue
            })
        return (
            try response.ignored.map { try MessageID(contract: $0) },
            response.place.hasPosition ? Position(response.place.position) : nil
        )
    }
}

func add(_ user: String) -> ParticipantOperation { .add(UserID(trusted: user)) }
func remove(_ user: String) -> ParticipantOperation { .remove(UserID(trusted: user)) }
func replace(_ users: [String]) -> ParticipantOperation { .set(users.map { UserID(trusted: $0) }) }

func set(_ path: String, _ value: String) -> MetadataOperation {
    .set(MetadataPath(trusted: path), leaves: [MetadataLeaf(path: MetadataPath(trusted: path), value: value)])
}
func set(_ path: String, _ leaves: [String: String]) -> MetadataOperation {
    .set(
        MetadataPath(trusted: path),
        leaves: leaves.map { MetadataLeaf(path: MetadataPath(trusted: $0.key), value: $0.value) })
}
func delete(_ path: String) -> MetadataOperation { .delete(MetadataPath(trusted: path)) }
