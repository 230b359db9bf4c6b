// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf

@testable import Conversations

/// Calls about messages and their parts, with model types.
extension CallsFixture {
    @discardableResult
    func send(
        _ conversation: ConversationID, by actor: String = "ana", _ text: String = "hello", id: MessageID = .random(),
        notification: String? = nil, origin: Change.Origin? = nil
    ) async throws -> StrataModel.Message {
        try await send(
            conversation, by: actor, parts: [.text(text)], id: id, notification: notification, origin: origin)
    }

    @discardableResult
    func send(
        _ conversation: ConversationID, by actor: String = "ana", parts: [MessagePart], id: MessageID = .random(),
        notification: String? = nil, origin: Change.Origin? = nil
    ) async throws -> StrataModel.Message {
        let response = try await call(ConversationsAPI.sendMessage) {
            $0.appID = Data(app)
            $0.actor = actor
            $0.conversationID = Data(conversation)
            $0.id = Data(id)
            $0.parts = parts.map { ProtoMessagePart($0) }
            if let notification { $0.notification = notification }
            if let origin { $0.origin = ProtoOrigin(origin) }
        }
        return try StrataModel.Message(response.message)
    }

    @discardableResult
    func edit(
        _ message: MessageID, by actor: String = "ana", _ edit: ProtoEditPartsRequest.OneOf_Edit
    ) async throws -> StrataModel.Message {
        let answer = try await call(ConversationsAPI.editParts) {
            $0.appID = Data(app)
            $0.actor = actor
            $0.messageID = Data(message)
            $0.edit = edit
        }
        return try StrataModel.Message(answer.message)
    }

    func message(_ id: MessageID, as user: String) async throws -> StrataModel.Message {
        try StrataModel.Message(
            await call(ConversationsAPI.getMessage) {
                $0.appID = Data(app)
                $0.userID = user
                $0.messageID = Data(id)
            })
    }

    func messages(
        _ conversation: ConversationID, as user: String = "ana", pageSize: Int = 100, from: MessageID? = nil
    ) async throws -> (messages: [StrataModel.Message], total: Int64) {
        let response = try await call(ConversationsAPI.listMessages) {
            $0.appID = Data(app)
            $0.userID = user
            $0.conversationID = Data(conversation)
            $0.pageSize = Int32(pageSize)
            if let from { $0.fromID = Data(from) }
        }
        return (try response.messages.map { try StrataModel.Message($0) }, response.total)
    }

    func messagePage(
        _ conversation: ConversationID, as user: String = "ana", pageSize: Int, from: UUID? = nil, bytes: Int = 0
    ) async throws -> Page<UUID> {
        let response = try await call(ConversationsAPI.listMessages) {
            $0.appID = Data(app)
            $0.userID = user
            $0.conversationID = Data(conversation)
            $0.pageSize = Int32(pageSize)
            if let from { $0.fromID = Data(uuid: from) }
            $0.maxBytes = Int64(bytes)
        }
        return Page(
            items: response.messages.compactMap { UUID(contract: $0.id) }, total: response.total, isCut: response.isCut,
            end: try end(response.end))
    }

    /// Returns the texts that a user sees in a conversation, oldest first.
    func texts(_ id: ConversationID, as user: String) async throws -> [String] {
        try await messages(id, as: user).messages.reversed().map { $0.parts.first?.body ?? "" }
    }

    func delete(_ message: MessageID, by actor: String, _ mode: DeletionMode) async throws {
        try await call(ConversationsAPI.deleteMessage) {
            $0.appID = Data(app)
            $0.actor = actor
            $0.messageID = Data(message)
            $0.mode = mode.rawValue
        }
    }
}

extension MessagePart {
    static func text(_ body: String, id: UUID = UUID()) -> MessagePart {
        MessagePart(id: id, mimeType: "text/plain", body: body, size: body.utf8.count)
    }
    static func content(_ content: ContentID) -> MessagePart {
        MessagePart(id: UUID(), mimeType: "image/png", body: nil, size: 0, contentID: content)
    }
}

extension ProtoPartReference {
    static func id(_ id: UUID) -> ProtoPartReference { .with { $0.id = Data(uuid: id) } }
    static func index(_ index: Int32) -> ProtoPartReference { .with { $0.index = index } }
}
