// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Model
import RPC
import SwiftProtobuf
import Synchronization
import Wire

/// Following, announcements and devices: what belongs to a user and to no conversation.
extension GatewayServices {
    // MARK: Following

    /// A page of the identities the user follows, newest first.
    func followed(pageSize: Int, from: UserID?, _ call: Call) async throws(Failure) -> (identities: [Identity], total: Int) {
        let request = ProtoListFollowedRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.pageSize = Int32(clamping: pageSize)
            if let from { $0.fromUserID = from.rawValue }
        }
        let answer = try await conversations.call(ConversationsAPI.listFollowed, request, deadline: call.deadline, trace: call.trace)
        return (answer.identities.map { Identity($0) }, Int(answer.total))
    }

    func follow(_ users: [UserID], _ call: Call) async throws(Failure) {
        let request = ProtoFollowRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.followed = users.map(\.rawValue)
        }
        _ = try await conversations.call(ConversationsAPI.follow, request, deadline: call.deadline, trace: call.trace)
    }

    func unfollow(_ user: UserID, _ call: Call) async throws(Failure) {
        let request = ProtoUnfollowRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.followed = user.rawValue
        }
        _ = try await conversations.call(ConversationsAPI.unfollow, request, deadline: call.deadline, trace: call.trace)
    }

    func isFollowed(_ user: UserID, _ call: Call) async throws(Failure) -> Bool {
        let request = ProtoIsFollowedRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.followed = user.rawValue
        }
        return try await conversations.call(ConversationsAPI.isFollowed, request, deadline: call.deadline, trace: call.trace).isFollowed
    }

    // MARK: Announcements

    func announcement(_ id: AnnouncementID, _ call: Call) async throws(Failure) -> Announcement {
        let request = ProtoGetAnnouncementRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.announcementID = Data(id)
        }
        let answer = try await conversations.call(AccountAPI.getAnnouncement, request, deadline: call.deadline, trace: call.trace)
        return try Self.converted { try Announcement(answer) }
    }

    func announcements(
        pageSize: Int, from: AnnouncementID?, _ call: Call
    ) async throws(Failure) -> (page: CursorBatches<Announcement>, total: Int) {
        let total = Mutex(0)
        let page = try await CursorBatches<Announcement>(pageSize: pageSize) { last, count throws(Failure) in
            let answer = try await someAnnouncements(count: count, from: last?.id ?? from, call.renewed)
            if last == nil { total.withLock { $0 = answer.total } }
            return (answer.items, answer.isCut)
        }
        return (page, total.withLock { $0 })
    }

    private func someAnnouncements(
        count: Int, from: AnnouncementID?, _ call: Call
    ) async throws(Failure) -> (items: [Announcement], isCut: Bool, total: Int) {
        let request = ProtoListAnnouncementsRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.pageSize = Int32(clamping: count)
            if let from { $0.fromID = Data(from) }
            $0.maxBytes = Int64(Self.batchBytes)
        }
        let answer = try await conversations.call(AccountAPI.listAnnouncements, request, deadline: call.deadline, trace: call.trace)
        return (try Self.converted { try answer.announcements.map { try Announcement($0) } }, answer.isCut, Int(answer.total))
    }

    func giveReceipt(_ id: AnnouncementID, kind: ReceiptKind, _ call: Call) async throws(Failure) {
        let request = ProtoGiveAnnouncementReceiptRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.announcementID = Data(id)
            $0.kind = kind.rawValue
        }
        _ = try await conversations.call(AccountAPI.giveAnnouncementReceipt, request, deadline: call.deadline, trace: call.trace)
    }

    func deleteAnnouncement(_ id: AnnouncementID, _ call: Call) async throws(Failure) {
        let request = ProtoDeleteAnnouncementRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.announcementID = Data(id)
        }
        _ = try await conversations.call(AccountAPI.deleteAnnouncement, request, deadline: call.deadline, trace: call.trace)
    }

    // MARK: Devices

    func setPushToken(_ body: PushTokenBody, _ call: Call) async throws(Failure) {
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
        _ = try await conversations.call(AccountAPI.setPushToken, request, deadline: call.deadline, trace: call.trace)
    }

    func deletePushToken(device: String, _ call: Call) async throws(Failure) {
        let request = ProtoDeletePushTokenRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.deviceID = device
        }
        _ = try await conversations.call(AccountAPI.deletePushToken, request, deadline: call.deadline, trace: call.trace)
    }
}
