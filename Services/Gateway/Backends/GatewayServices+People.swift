// SPDX-License-Identifier: Apache-2.0
import Contracts
import FanOut
import FoundationEssentials
import RPC
import StrataModel
import StrataWire
import SwiftProtobuf

/// Following, announcements and devices, which belong to a user and to no conversation.
extension GatewayServices {
    // MARK: Following

    /// Returns a page of the identities that the user follows, the newest first.
    func followed(pageSize: Int, from: UserID?, for call: Call) async throws(Failure) -> ListPage<[Identity]> {
        let request = ProtoListFollowedRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            // Request one more to learn whether there is another page.
            $0.pageSize = Int32(clamping: pageSize + 1)
            if let from { $0.fromUserID = from.rawValue }
        }
        let answer = try await conversations.call(ConversationsAPI.listFollowed, with: request, for: call)
        let identities = answer.identities.prefix(pageSize).map { Identity($0) }
        let hasMore = answer.identities.count > pageSize
        return ListPage(
            objects: identities, total: Int(answer.total),
            nextFrom: hasMore ? identities.last?.basic.userID.layerID : nil)
    }

    func follow(_ users: [UserID], for call: Call) async throws(Failure) -> LogPosition {
        let request = ProtoFollowRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.followed = users.map(\.rawValue)
        }
        return LogPosition(try await conversations.call(ConversationsAPI.follow, with: request, for: call))
    }

    func unfollow(_ user: UserID, for call: Call) async throws(Failure) -> LogPosition {
        let request = ProtoUnfollowRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.followed = user.rawValue
        }
        return LogPosition(try await conversations.call(ConversationsAPI.unfollow, with: request, for: call))
    }

    func isFollowed(_ user: UserID, for call: Call) async throws(Failure) -> Bool {
        let request = ProtoIsFollowedRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.followed = user.rawValue
        }
        return try await conversations.call(ConversationsAPI.isFollowed, with: request, for: call).isFollowed
    }

    // MARK: Announcements

    func announcement(_ id: AnnouncementID, for call: Call) async throws(Failure) -> Announcement {
        let request = ProtoGetAnnouncementRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.announcementID = Data(id)
        }
        let answer = try await conversations.call(AccountAPI.getAnnouncement, with: request, for: call)
        return try Self.converted { try Announcement(answer) }
    }

    func announcements(
        pageSize: Int, from: AnnouncementID?, for call: Call
    ) async throws(Failure) -> ListPage<CursorBatches<Announcement>> {
        try await CursorBatches.page(size: pageSize) { last, count throws(Failure) in
            try await announcementBatch(count: count, from: last?.id ?? from, for: call.renewed)
        }
    }

    private func announcementBatch(
        count: Int, from: AnnouncementID?, for call: Call
    ) async throws(Failure) -> CursorBatches<Announcement>.Answer {
        let request = ProtoListAnnouncementsRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.pageSize = Int32(clamping: count)
            if let from { $0.fromID = Data(from) }
            $0.maxBytes = Int64(Self.batchBytes)
        }
        let answer = try await conversations.call(AccountAPI.listAnnouncements, with: request, for: call)
        let announcements = try Self.converted { try answer.announcements.map { try Announcement($0) } }
        return CursorBatches.Answer(
            items: announcements, isCut: answer.isCut, total: Int(answer.total),
            nextFrom: try Self.nextFrom(answer.end, AnnouncementID.self))
    }

    func giveReceipt(_ id: AnnouncementID, kind: ReceiptKind, for call: Call) async throws(Failure) -> LogPosition {
        let request = ProtoGiveAnnouncementReceiptRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.announcementID = Data(id)
            $0.kind = kind.rawValue
        }
        return LogPosition(try await conversations.call(AccountAPI.giveAnnouncementReceipt, with: request, for: call))
    }

    func deleteAnnouncement(_ id: AnnouncementID, for call: Call) async throws(Failure) -> LogPosition {
        let request = ProtoDeleteAnnouncementRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.announcementID = Data(id)
        }
        return LogPosition(try await conversations.call(AccountAPI.deleteAnnouncement, with: request, for: call))
    }

    // MARK: Devices

    func setPushToken(_ body: PushTokenBody, for call: Call) async throws(Failure) {
        let request = ProtoSetPushTokenRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.token = .with {
                $0.deviceID = body.deviceID
                $0.type = body.type
                $0.token = body.token
                if let value = body.apnsBundleID { $0.apnsBundleID = value }
                if let value = body.gcmSenderID { $0.gcmSenderID = value }
                if let value = body.iosVersion { $0.iosVersion = value }
            }
        }
        _ = try await conversations.call(AccountAPI.setPushToken, with: request, for: call)
    }

    func deletePushToken(device: String, for call: Call) async throws(Failure) {
        let request = ProtoDeletePushTokenRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.deviceID = device
        }
        _ = try await conversations.call(AccountAPI.deletePushToken, with: request, for: call)
    }
}

extension GatewayServices {
    /// Returns a page of the users that the user has blocked, ordered by id.
    func blocks(pageSize: Int, from: UserID?, for call: Call) async throws(Failure) -> ListPage<[BasicIdentity]> {
        let request = ProtoListBlocksRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            // Request one more to learn whether there is another page.
            $0.pageSize = Int32(clamping: pageSize + 1)
            if let from { $0.fromUserID = from.rawValue }
        }
        let answer = try await conversations.call(BlocksAPI.listBlocks, with: request, for: call)
        let identities = answer.identities.prefix(pageSize).map { BasicIdentity($0) }
        let hasMore = answer.identities.count > pageSize
        return ListPage(
            objects: identities, total: Int(answer.total), nextFrom: hasMore ? identities.last?.userID.layerID : nil)
    }

    /// - Parameter createsUser: true if the user may be unknown to the app.
    func changeBlocks(
        _ operations: [BlockListOperation], createsUser: Bool = false, for call: Call
    ) async throws(Failure) -> LogPosition {
        let request = ProtoChangeBlocksRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.operations = operations.map { ProtoBlockOperation($0) }
            $0.createsUser = createsUser
        }
        return LogPosition(try await conversations.call(BlocksAPI.changeBlocks, with: request, for: call))
    }

    /// Returns all users who have a block with the user in either direction, read in pages. The user's own log contains
    /// changes between two pages, after `position`.
    /// - Parameter position: a position of the user's own log that was read before.
    func blockedUsers(since position: Position, for call: Call) async throws(Failure) -> BlockedUsers {
        var (blocked, blockedBy): (Set<UserID>, Set<UserID>) = ([], [])
        var from: UserID?
        while true {
            let request = ProtoListBlocksRequest.with {
                $0.appID = call.appData
                $0.userID = call.user
                $0.pageSize = Int32(BlocksAPI.pairsPageSize)
                if let from { $0.fromUserID = from.rawValue }
            }
            let answer = try await conversations.call(BlocksAPI.blockPairs, with: request, for: call)
            let page = (
                own: answer.blocked.map { UserID(trusted: $0) }, others: answer.blockedBy.map { UserID(trusted: $0) }
            )
            blocked.formUnion(page.own)
            blockedBy.formUnion(page.others)
            let users = Set(page.own).union(page.others)
            guard users.count >= BlocksAPI.pairsPageSize, let last = users.max() else { break }
            from = last
        }
        return BlockedUsers(blocked: blocked, blockedBy: blockedBy, position: position)
    }
}

extension ProtoBlockOperation {
    fileprivate init(_ operation: BlockListOperation) {
        self.init()
        switch operation {
        case .add(let users): (kind, userIds) = (.add, users.map(\.rawValue))
        case .remove(let users): (kind, userIds) = (.remove, users.map(\.rawValue))
        case .set(let users): (kind, userIds) = (.set, users.map(\.rawValue))
        }
    }
}
