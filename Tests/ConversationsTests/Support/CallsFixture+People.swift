// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import Postgres
import StrataModel
import SwiftProtobuf

@testable import Conversations

/// Calls about following, announcements, content and parts, with model types.
extension CallsFixture {
    func follow(_ users: [String], by user: String = "ana") async throws {
        _ = try await call(
            ConversationsAPI.follow,
            .with {
                $0.appID = Data(app)
                $0.userID = user
                $0.followed = users
            })
    }

    func unfollow(_ other: String, by user: String = "ana") async throws {
        _ = try await call(
            ConversationsAPI.unfollow,
            .with {
                $0.appID = Data(app)
                $0.userID = user
                $0.followed = other
            })
    }

    func isFollowed(_ other: String, by user: String = "ana") async throws -> Bool {
        try await call(
            ConversationsAPI.isFollowed,
            .with {
                $0.appID = Data(app)
                $0.userID = user
                $0.followed = other
            }
        )
        .isFollowed
    }

    func listFollowed(
        by user: String = "ana", pageSize: Int = 100, from: String? = nil
    ) async throws -> (users: [String], total: Int64) {
        let answer = try await call(
            ConversationsAPI.listFollowed,
            .with {
                $0.appID = Data(app)
                $0.userID = user
                $0.pageSize = Int32(pageSize)
                if let from { $0.fromUserID = from }
            })
        return (answer.identities.map(\.basic.userID), answer.total)
    }

    /// Registers the app, which only some calls require.
    func register(suspended: Bool = false) async throws {
        _ = try await admin.query(
            Statement(
                "test.register",
                sql: """
                    INSERT INTO conversations.app (id, name, provider_id, suspended) VALUES ($1, 'test', gen_random_uuid(), $2)
                    ON CONFLICT (id) DO UPDATE SET suspended = $2
                    """), with: [.uuid(app.rawValue), .bool(suspended)], deadline: .soon)
    }

    @discardableResult
    func announce(
        _ users: [String], id: AnnouncementID = .random(), from name: String = "Support"
    ) async throws -> AnnouncementID {
        _ = try await call(
            UsersAPI.announce,
            .with {
                $0.appID = Data(app)
                $0.id = Data(id)
                $0.senderName = name
                $0.recipients = users
                $0.parts = [ProtoMessagePart(MessagePart(id: UUID(), mimeType: "text/plain", body: "news", size: 4))]
            })
        return id
    }

    func announcements(of user: String, pageSize: Int = 100, from: AnnouncementID? = nil) async throws -> [Announcement]
    {
        try await call(
            AccountAPI.listAnnouncements,
            .with {
                $0.appID = Data(app)
                $0.userID = user
                $0.pageSize = Int32(pageSize)
                if let from { $0.fromID = Data(from) }
            }
        )
        .announcements.map { try Announcement($0) }
    }

    func receipt(_ kind: ReceiptKind, _ id: AnnouncementID, by user: String) async throws {
        _ = try await call(
            AccountAPI.giveAnnouncementReceipt,
            .with {
                $0.appID = Data(app)
                $0.userID = user
                $0.announcementID = Data(id)
                $0.kind = kind.rawValue
            })
    }

    func removeAnnouncement(_ id: AnnouncementID, by user: String) async throws {
        _ = try await call(
            AccountAPI.deleteAnnouncement,
            .with {
                $0.appID = Data(app)
                $0.userID = user
                $0.announcementID = Data(id)
            })
    }

    /// Announces content, whose upload is complete unless `uploaded` is false.
    func content(of owner: String = "ana", size: Int64 = 10, uploaded: Bool = true) async throws -> ContentID {
        let id = ContentID.random()
        _ = try await call(
            AccountAPI.createContent,
            .with {
                $0.appID = Data(app)
                $0.owner = owner
                $0.id = Data(id)
                $0.mimeType = "image/png"
                $0.size = size
            })
        if uploaded { _ = try await call(AccountAPI.finishContent, .with { $0.contentID = Data(id) }) }
        return id
    }

    func canSee(_ id: ContentID, _ user: String) async throws -> Bool {
        try await refusal {
            try await call(
                AccountAPI.getContent,
                .with {
                    $0.appID = Data(app)
                    $0.userID = user
                    $0.contentID = Data(id)
                })
        }?
        .code != .notFound
    }

    @discardableResult
    func sweepContents(olderThan age: Int64) async throws -> [ContentID] {
        try await call(
            AccountAPI.sweepContents,
            .with {
                $0.age = age
                $0.limit = 1000
            }
        )
        .doomed.map { try ContentID(contract: $0) }
    }

    func send(
        _ conversation: ConversationID, by actor: String = "ana", parts: [MessagePart]
    ) async throws -> StrataModel.Message {
        let response = try await call(
            ConversationsAPI.sendMessage,
            .with {
                $0.appID = Data(app)
                $0.actor = actor
                $0.conversationID = Data(conversation)
                $0.id = Data(MessageID.random())
                $0.parts = parts.map { ProtoMessagePart($0) }
            })
        return try StrataModel.Message(response.message)
    }

    @discardableResult
    func edit(
        _ message: MessageID, by actor: String = "ana", _ edit: ProtoEditPartsRequest.OneOf_Edit
    ) async throws -> StrataModel.Message {
        let answer = try await call(
            ConversationsAPI.editParts,
            .with {
                $0.appID = Data(app)
                $0.actor = actor
                $0.messageID = Data(message)
                $0.edit = edit
            })
        return try StrataModel.Message(answer.message)
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
