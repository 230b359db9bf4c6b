// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
import Foundation
import Mutations
import Postgres
import StrataModel
import TestSupport

@testable import Conversations

/// An example of every query of the service, with a value for each parameter.
enum Queries {
    private static let app = AppID(rawValue: UUID())
    private static let user = UserID(trusted: "ana")
    private static let conversation = ConversationID(rawValue: UUID())
    private static let message = MessageID(rawValue: UUID())
    private static let content = ContentID(rawValue: UUID())
    private static let announcement = AnnouncementID(rawValue: UUID())
    private static let origin = Change.Origin(connection: 1, request: 2)
    private static let time = PostgresTimestamp(microseconds: 1)
    private static let digest = [UInt8](repeating: 1, count: 32)

    private static let conversations: [QueryCheck] = [
        QueryCheck(IsConversationFree(conversation: conversation)),
        QueryCheck(IsParticipant(conversation: conversation, user: user)),
        QueryCheck(GetConversation(app: app, user: user, conversation: conversation, withTree: true)),
        QueryCheck(
            ListConversations(app: app, user: user, byLastMessage: true, pageSize: 1, from: conversation, maxBytes: 1)),
        QueryCheck(
            LoadConversations(
                app: app, user: user, byLastMessage: true, pageSize: 1, from: conversation, messages: 1,
                messagesLimit: 1, maxBytes: 1)),
        QueryCheck(GetConversations(app: app, user: user, conversations: [UUID()], maxBytes: 1)),
        QueryCheck(
            CreateConversation(
                app: app, user: user, conversation: conversation, participants: ["ben"], isDistinct: true,
                metadataPaths: ["a"],
                metadataValues: ["1"], participantsLimit: 25, origin: origin, receiptPolicy: 1, isLimited: true)),
        QueryCheck(
            PatchConversation(
                app: app, user: user, conversation: conversation, participants: "[]", participantsLimit: 25,
                metadata: "[]", origin: origin,
                maxKeys: 1, maxBytes: 1, isLimited: true)),
        QueryCheck(
            DeleteConversation(
                app: app, user: user, conversation: conversation, mode: .myDevices, leaves: true, origin: origin,
                upTo: 1)),
        QueryCheck(
            MarkAllRead(app: app, user: user, conversation: conversation, upTo: 1, audienceLimit: 1, origin: origin)),
    ]

    private static let sending = SendMessage(
        app: app, user: user, conversation: conversation, message: message, parts: [1], notification: "x",
        origin: origin)

    private static let messages: [QueryCheck] = [
        QueryCheck(GetMessage(app: app, user: user, message: message)),
        QueryCheck(
            ListMessages(app: app, user: user, conversation: conversation, pageSize: 1, from: message, maxBytes: 1)),
        QueryCheck(LocateMessages(app: app, users: ["ana"], messages: [UUID()])),
        QueryCheck(SeenMessages(app: app, user: user, conversation: conversation, messages: [message])),
        QueryCheck(
            GiveGatheredReceipts(
                app: app, conversation: conversation, users: ["ana"], messages: [UUID()], statuses: [2],
                audienceLimit: 1)),
        QueryCheck(
            GiveRecordedReceipts(
                receipts: GiveGatheredReceipts(
                    app: app, conversation: conversation, users: ["ana"], messages: [UUID()], statuses: [2],
                    audienceLimit: 1))),
        QueryCheck(
            GiveReceipts(
                app: app, user: user, conversation: conversation, messages: [message], status: 2, audienceLimit: 1,
                origin: origin)),
        QueryCheck(sending), QueryCheck(SendMessageAlone(message: sending, contents: [content])),
        QueryCheck(SendServerMessage(message: sending, contents: [content], senderName: "Concierge")),
        QueryCheck(
            DelayMessage(
                message: SendServerMessage(message: sending, contents: [content], senderName: "Concierge"), delay: 1,
                typing: 1, limit: 1)),
        QueryCheck(DueDelayed(after: app, apps: 1, limit: 1)), QueryCheck(SendDelayed(message: UUID())),
        QueryCheck(PutOffDelayed(message: UUID())),
        QueryCheck(TypeDelayed(app: app, limit: 1)),
        QueryCheck(
            DeleteMessage(
                app: app, user: user, message: message, mode: .myDevices, origin: origin, conversation: conversation)),
        QueryCheck(
            EditParts(
                app: app, user: user, message: message, stored: [1], parts: [2], edits: "[]", time: time,
                contents: [content], origin: origin)),
        QueryCheck(
            CreateContent(
                content: content, app: app, owner: user, mimeType: "text/plain", size: 1, uploads: 1, uploadBytes: 1,
                appUploads: 1,
                appUploadBytes: 1, conversation: conversation)),
        QueryCheck(GetServerContent(app: app, conversation: conversation, content: content), unread: ["content_id"]),
        QueryCheck(IsConversation(app: app, conversation: conversation)),
        QueryCheck(FindAbsence(app: app, conversation: conversation)),
        QueryCheck(FinishContent(content: content)),
        QueryCheck(GetContent(app: app, user: user, content: content), unread: ["content_id"]),
        QueryCheck(SweepContents(age: 1, limit: 1)), QueryCheck(ForgetContents(contents: [UUID()])),
        QueryCheck(ReadContentSizes(app: app, contents: [content], user: user)),
    ]

    private static let synchronization: [QueryCheck] = [
        QueryCheck(
            ReadLogs(app: app, user: user, conversations: [UUID()], afters: [1], userAfter: 1, limit: 1, maxBytes: 1),
            unread: ["m_deleted", "m_present"]),
        QueryCheck(
            ReadChanges(conversation: conversation, after: 1, limit: 1, users: ["ana"], maxBytes: 1),
            unread: ["m_deleted", "m_present"]),
        QueryCheck(ReadBaseline(app: app, user: user, since: time)),
        QueryCheck(ReadListed(app: app, user: user)),
        QueryCheck(RecentBaseline(app: app, user: user, recent: 1, notBefore: time)),
        QueryCheck(
            ReplayBaseline(app: app, user: user, since: time, knownEpoch: "a", walEnd: 1)),
        QueryCheck(ReadHeads(since: time)), QueryCheck(CheckEpoch(epoch: "a", walEnd: 1)),
        QueryCheck(ReadRecordedApps()), QueryCheck(ReadDepartures()), QueryCheck(ReadAppState(app: app)),
        QueryCheck(ReadMovedApps()),
        QueryCheck(ChangeNothing(app: app, conversation: conversation)),
        QueryCheck(IdempotencyRecord.Find(IdempotencyKey(id: UUID(), fingerprint: 1), of: user, in: app)),
    ]

    private static let people: [QueryCheck] = [
        QueryCheck(ReadIdentities(app: app, users: ["ana"])), QueryCheck(EnsureIdentities(app: app, users: ["ana"])),
        QueryCheck(ReadAppKey(app: app, key: UUID())), QueryCheck(FindServerToken(app: app, digest: [1])),
        QueryCheck(FindUser(app: app, user: user)),
        QueryCheck(
            OpenSession(
                app: app, user: user, nonceDigest: digest, nonceExpiresAt: time, digest: digest, lifetime: 1,
                claims: "{}")),
        QueryCheck(FindSession(digest: digest, lifetime: 1)), QueryCheck(CheckSessions(digests: [digest], lifetime: 1)),
        QueryCheck(RenewSessions(digests: [digest], lifetime: 1)), QueryCheck(EndSession(digest: digest)),
        QueryCheck(ListFollowed(app: app, user: user, pageSize: 1, from: "ben")),
        QueryCheck(IsFollowed(app: app, user: user, followed: user)),
        QueryCheck(FollowedAmong(app: app, user: user, users: [user])),
        QueryCheck(ListAllFollowed(app: app, user: user)),
        QueryCheck(Follow(app: app, user: user, users: [user], limit: 1)),
        QueryCheck(Unfollow(app: app, user: user, followed: "ben")),
        QueryCheck(ChangeBlocks(app: app, user: user, operations: "[]", limit: 1)),
        QueryCheck(ListBlocks(app: app, user: user, pageSize: 1, from: "ben")),
        QueryCheck(BlockPairs(app: app, user: user, from: nil, pageSize: 1)),
        QueryCheck(GetAnnouncingApp(app: app)),
        QueryCheck(
            Announce(
                app: app, announcement: announcement, senderName: "Ana", senderUser: user, recipients: [user],
                parts: [1], notification: "x",
                digest: digest)),
        QueryCheck(GetSentAnnouncement(app: app, announcement: announcement)),
        QueryCheck(GetAnnouncement(app: app, user: user, announcement: announcement)),
        QueryCheck(ListAnnouncements(app: app, user: user, pageSize: 1, from: announcement, maxBytes: 1)),
        QueryCheck(GiveAnnouncementReceipt(app: app, user: user, announcement: announcement, status: 2)),
        QueryCheck(RemoveAnnouncement(app: app, user: user, announcement: announcement)),
        QueryCheck(
            SetPushToken(
                app: app, device: "d", user: user, type: "apns", token: "t", bundle: "b", sender: "s", version: "1",
                limit: 1)),
        QueryCheck(DeletePushToken(app: app, user: user, device: "d")),
    ]

    private static let users: [QueryCheck] = [
        QueryCheck(WriteIdentity(app: app, user: user, mode: .patch, values: "{}", metadata: "{}", keys: "{}")),
        QueryCheck(SuspendUser(app: app, user: user, isSuspended: true)),
        QueryCheck(ListSessions(app: app, user: user, pageSize: 1, from: UUID())),
        QueryCheck(EndUserSessions(app: app, user: user, session: UUID())),
        QueryCheck(
            SetApp(
                app: app, sessionTTL: 1, badgeCounts: "external", badgeAnnouncements: true,
                participantsAddedBy: "followed",
                strangerAdditionsPerHour: 1)),
        QueryCheck(ShortenSessions(app: app, after: "", limit: 1)),
        QueryCheck(SetBadge(app: app, user: user, count: 1)),
        QueryCheck(GetBadge(app: app, user: user)),
        QueryCheck(PushNotification(app: app, users: [user], notification: "{}", overrides: "{}", badges: [nil, 1])),
        QueryCheck(PushBadges(app: app, users: [user])), QueryCheck(EraseUser(app: app, user: user)),
        QueryCheck(EraseSome(app: app, limit: 1)),
        QueryCheck(AppsWithErasures(after: app, limit: 1)),
    ]

    private static let maintenance: [QueryCheck] = [
        QueryCheck(MaintainPartitions(retention: 1)), QueryCheck(SweepAccounts(limit: 1)),
        QueryCheck(SweepIdentities(limit: 1)),
        QueryCheck(SweepTrees(limit: 1)), QueryCheck(SweepMutations(retention: 1, limit: 1)),
        QueryCheck(SweepLogs(retention: 1, limit: 1)),
        QueryCheck(SweepAdditions(limit: 1)),
        QueryCheck(SweepDeleted(retention: 1, limit: 1)),
    ]

    private static let indexes: [QueryCheck] = [
        QueryCheck(
            FindConversations(
                app: app, user: user,
                condition: MetadataCondition(path: MetadataPath(trusted: "status"), test: .equals("open")), pageSize: 1,
                from: conversation)),
        QueryCheck(ListIndexes(app: app)),
        QueryCheck(AddIndex(app: app, path: MetadataPath(trusted: "status"), most: 1)),
        QueryCheck(RemoveIndex(app: app, path: MetadataPath(trusted: "status"))),
        QueryCheck(AppsWithUnfinishedIndexes()),
        QueryCheck(BuildIndexes(app: app, limit: 1)),
    ]

    private static let administration: [QueryCheck] = [
        QueryCheck(ReadReport(report: .apps, app: UUID(), conversation: UUID(), service: "{}")),
        QueryCheck(
            CreateApp(
                app: app, name: "App", provider: UUID(), key: UUID(), publicKey: "k", token: UUID(), digest: digest)),
        QueryCheck(SuspendApp(app: app, isSuspended: true)),
        QueryCheck(AddAppKey(app: app, key: UUID(), publicKey: "k", most: 1)),
        QueryCheck(RemoveAppKey(app: app, key: UUID())),
        QueryCheck(CreateServerToken(app: app, token: UUID(), name: "bot", digest: digest, lifetime: 1)),
        QueryCheck(RevokeServerToken(app: app, token: UUID())),
    ]

    static let all =
        conversations + messages + synchronization + people + users + maintenance + indexes + administration

    static let statements = all.flatMap(\.statements)
}
