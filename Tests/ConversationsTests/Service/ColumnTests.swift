// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import Mutations
import Postgres
import TestSupport
import Testing

@testable import Conversations

/// The columns that rows are read by, against those that the server describes.
@Suite struct ColumnTests {
    private static let conversations: [ColumnCheck] = [
        ColumnCheck(ViewColumns.self, .conversationGet), ColumnCheck(ConversationListColumns.self, .conversationList),
        ColumnCheck(ConversationLoadColumns.self, .conversationLoad), ColumnCheck(ConversationsGetColumns.self, .conversationsGet),
        ColumnCheck(AnswerColumns.self, .conversationIsFree, .conversationHas),
        ColumnCheck(ConversationCreateColumns.self, WriteStatement.conversationCreate),
        ColumnCheck(ConversationPatchColumns.self, WriteStatement.conversationPatch),
        ColumnCheck(ConversationDeleteColumns.self, WriteStatement.conversationDelete),
        ColumnCheck(MarkAllReadColumns.self, WriteStatement.conversationMarkAllRead),
    ]

    private static let messages: [ColumnCheck] = [
        ColumnCheck(MessageColumns.self, .messageGet), ColumnCheck(MessageListColumns.self, .messageList),
        ColumnCheck(MessagesLocateColumns.self, .messagesLocate), ColumnCheck(MessagesSeenColumns.self, .messagesSeen),
        ColumnCheck(ReceiptsGiveColumns.self, Statement.receiptsGive), ColumnCheck(BulkReceiptColumns.self, WriteStatement.receiptsGive),
        ColumnCheck(MessageSendColumns.self, WriteStatement.messageSend), ColumnCheck(MessageDeleteColumns.self, WriteStatement.messageDelete),
        ColumnCheck(PartsEditColumns.self, WriteStatement.partsEdit),
        ColumnCheck(OutcomeColumns.self, Statement.contentCreate), ColumnCheck(ContentGetColumns.self, .contentGet, unread: ["content_id"]),
        ColumnCheck(ContentsSweepColumns.self, .contentsSweep), ColumnCheck(ContentSizesColumns.self, .contentSizes),
    ]

    private static let synchronization: [ColumnCheck] = [
        ColumnCheck(LogColumns.self, .readLogs, .readChanges, unread: ["m_deleted"]),
        ColumnCheck(BaselineColumns.self, .baseline, .recentBaseline, .replayBaseline, unread: ["epoch", "is_certain"]),
        ColumnCheck(
            EpochColumns.self, .replayBaseline,
            unread: [
                "conversation_id", "position", "after", "uncounted", "hidden", "message_count", "is_participant", "oldest_at", "as_of", "complete",
            ]),
        ColumnCheck(HeadsColumns.self, .heads), ColumnCheck(EpochCheckColumns.self, .epochCheck),
        ColumnCheck(OutcomeColumns.self, WriteStatement.nothing), ColumnCheck(EarlierChange.Columns.self, EarlierChange.find),
    ]

    private static let people: [ColumnCheck] = [
        ColumnCheck(IdentitiesColumns.self, .identitiesRead, .identitiesEnsure), ColumnCheck(AppKeyColumns.self, .appKeyRead),
        ColumnCheck(ServerTokenColumns.self, .serverTokenFind), ColumnCheck(UserFindColumns.self, .userFind),
        ColumnCheck(SignInColumns.self, .signIn), ColumnCheck(SessionFindColumns.self, .sessionFind),
        ColumnCheck(SessionsCheckColumns.self, .sessionsCheck), ColumnCheck(SessionEndColumns.self, .sessionEnd),
        ColumnCheck(FollowedListColumns.self, .followedList), ColumnCheck(AnswerColumns.self, .followedCheck),
        ColumnCheck(UserColumns.self, .followedAmong, .followed), ColumnCheck(FollowColumns.self, WriteStatement.follow),
        ColumnCheck(UserEntryColumns.self, WriteStatement.unfollow, .announcementReceipt, .announcementRemove),
        ColumnCheck(OutcomeColumns.self, WriteStatement.pushTokenSet, .pushTokenDelete),
        ColumnCheck(AnnouncementAppColumns.self, .announcementApp), ColumnCheck(AnnouncementSendColumns.self, .announcementSend),
        ColumnCheck(AnnouncementColumns.self, .announcementGet), ColumnCheck(AnnouncementListColumns.self, .announcementList),
        ColumnCheck(SweepColumns.self, .accountsSweep, .identitiesSweep, .logsSweep, .mutationsSweep, .treesSweep),
    ]

    private static let checks = conversations + messages + synchronization + people

    /// What these statements return is not read.
    private static let unread: Set<String> = ["maintenance.partitions", "content.finish", "content.forget", "session.renew"]

    @Test("every statement returns the columns that its rows are read by, with their types, and none that are not read")
    func described() async throws {
        #expect(try await ColumnCheck.differences(Self.checks) == [])
    }

    @Test("every statement is compared with the server's description, or its rows are not read")
    func complete() {
        #expect(Set(PreviousReleaseTests.statements.map(\.name)).subtracting(Self.checks.flatMap(\.names)) == Self.unread)
    }
}
