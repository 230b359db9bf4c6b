// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf

@testable import Conversations

/// Calls about announcements, with model types.
extension CallsFixture {
    @discardableResult
    func announce(
        _ users: [String], id: AnnouncementID = .random(), from name: String = "Support"
    ) async throws -> AnnouncementID {
        try await announceOnce("news", to: users, id: id, from: name)
        return id
    }

    /// Sends an announcement as the Server API does.
    @discardableResult
    func announceOnce(
        _ text: String, to users: [String], id: AnnouncementID = .random(), by user: String? = nil,
        from name: String = "Support", part: UUID = UUID()
    ) async throws -> ProtoAnnounceResponse {
        try await call(UsersAPI.announce) {
            $0.appID = Data(app)
            $0.id = Data(id)
            if let user { $0.senderUserID = user } else { $0.senderName = name }
            $0.recipients = users
            $0.parts = [ProtoMessagePart(.text(text, id: part))]
        }
    }

    func announcements(of user: String, pageSize: Int = 100, from: AnnouncementID? = nil) async throws -> [Announcement]
    {
        try await call(AccountAPI.listAnnouncements) {
            $0.appID = Data(app)
            $0.userID = user
            $0.pageSize = Int32(pageSize)
            if let from { $0.fromID = Data(from) }
        }
        .announcements.map { try Announcement($0) }
    }

    func announcementPage(of user: String, pageSize: Int, from: UUID? = nil, bytes: Int = 0) async throws -> Page<UUID>
    {
        let response = try await call(AccountAPI.listAnnouncements) {
            $0.appID = Data(app)
            $0.userID = user
            $0.pageSize = Int32(pageSize)
            if let from { $0.fromID = Data(uuid: from) }
            $0.maxBytes = Int64(bytes)
        }
        return Page(
            items: response.announcements.compactMap { UUID(contract: $0.id) }, total: response.total,
            isCut: response.isCut,
            end: try end(response.end))
    }

    func receipt(_ kind: ReceiptKind, _ id: AnnouncementID, by user: String) async throws {
        try await call(AccountAPI.giveAnnouncementReceipt) {
            $0.appID = Data(app)
            $0.userID = user
            $0.announcementID = Data(id)
            $0.kind = kind.rawValue
        }
    }

    func removeAnnouncement(_ id: AnnouncementID, by user: String) async throws {
        try await call(AccountAPI.deleteAnnouncement) {
            $0.appID = Data(app)
            $0.userID = user
            $0.announcementID = Data(id)
        }
    }
}
