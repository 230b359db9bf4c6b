// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf

@testable import Conversations

extension CallsFixture {
    /// A page of a list, and whether more objects follow it.
    struct Page<Item> {
        let items: [Item]
        let total: Int64
        /// True if the answer holds only a part of the page.
        let isCut: Bool
        /// The id of the page's last object; nil if none follows it.
        let end: UUID?
    }

    private func end(_ proto: ProtoPageEnd) throws -> UUID? { proto.hasLastID ? UUID(contract: proto.lastID) : nil }

    /// - Parameters:
    ///   - messages: nil requests all messages from the first unread one on.
    ///   - bytes: The byte limit; 0: none.
    func load(
        as user: String = "ana", byLastMessage: Bool = false, pageSize: Int = 100, from: UUID? = nil,
        messages: Int? = nil, bytes: Int = 0
    ) async throws -> Page<LoadedConversation> {
        let response = try await call(
            ConversationsAPI.loadConversations,
            .with {
                $0.appID = Data(app)
                $0.userID = user
                $0.byLastMessage = byLastMessage
                $0.pageSize = Int32(pageSize)
                if let from { $0.fromID = Data(uuid: from) }
                if let messages { $0.messages = Int32(messages) }
                $0.maxBytes = Int64(bytes)
            })
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

    /// Returns the ids of a page, including those of conversations without a view.
    func listPage(
        as user: String = "ana", byLastMessage: Bool = false, pageSize: Int, from: UUID? = nil, bytes: Int = 0
    ) async throws -> Page<UUID> {
        let response = try await call(
            ConversationsAPI.listConversations,
            .with {
                $0.appID = Data(app)
                $0.userID = user
                $0.byLastMessage = byLastMessage
                $0.pageSize = Int32(pageSize)
                if let from { $0.fromID = Data(uuid: from) }
                $0.maxBytes = Int64(bytes)
            })
        let ids = response.views.map(\.conversation.id) + response.later
        return Page(
            items: ids.compactMap { UUID(contract: $0) }, total: response.total, isCut: !response.later.isEmpty,
            end: try end(response.end))
    }

    func messagePage(
        _ conversation: ConversationID, as user: String = "ana", pageSize: Int, from: UUID? = nil, bytes: Int = 0
    ) async throws -> Page<UUID> {
        let response = try await call(
            ConversationsAPI.listMessages,
            .with {
                $0.appID = Data(app)
                $0.userID = user
                $0.conversationID = Data(conversation)
                $0.pageSize = Int32(pageSize)
                if let from { $0.fromID = Data(uuid: from) }
                $0.maxBytes = Int64(bytes)
            })
        return Page(
            items: response.messages.compactMap { UUID(contract: $0.id) }, total: response.total, isCut: response.isCut,
            end: try end(response.end))
    }

    func announcementPage(of user: String, pageSize: Int, from: UUID? = nil, bytes: Int = 0) async throws -> Page<UUID>
    {
        let response = try await call(
            AccountAPI.listAnnouncements,
            .with {
                $0.appID = Data(app)
                $0.userID = user
                $0.pageSize = Int32(pageSize)
                if let from { $0.fromID = Data(uuid: from) }
                $0.maxBytes = Int64(bytes)
            })
        return Page(
            items: response.announcements.compactMap { UUID(contract: $0.id) }, total: response.total,
            isCut: response.isCut,
            end: try end(response.end))
    }
}
