// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import Mutations
import Postgres
import TestSupport
import Testing

@testable import Conversations

/// While an upgrade goes on, instances of the previous release run on the new schema.
@Suite struct PreviousReleaseTests {
    private static let reads: [Statement] = [
        .maintainPartitions, .treesSweep, .mutationsSweep, .logsSweep, .epochCheck, .conversationIsFree, .conversationHas, .conversationGet,
        .conversationList, .conversationLoad, .conversationsGet, .messageGet, .messageList, .messagesLocate, .messagesSeen, .receiptsGive, .baseline,
        .replayBaseline, .recentBaseline, .readLogs, .readChanges, .heads, .contentCreate, .contentFinish, .contentGet, .contentsSweep,
        .contentsForget, .contentSizes, .identitiesRead, .identitiesEnsure, .appKeyRead, .serverTokenFind, .userFind, .signIn, .sessionFind, .sessionsCheck, .sessionsRenew,
        .sessionEnd, .accountsSweep, .identitiesSweep, .followedList, .followedCheck, .followedAmong, .followed, .announcementApp, .announcementSend,
        .announcementGet, .announcementList, EarlierChange.find,
    ]
    private static let writes: [WriteStatement] = [
        .nothing, .conversationCreate, .conversationPatch, .conversationDelete, .conversationMarkAllRead, .messageSend, .messageDelete, .partsEdit,
        .receiptsGive, .follow, .unfollow, .announcementReceipt, .announcementRemove, .pushTokenSet, .pushTokenDelete,
    ]

    /// All statements of the service.
    static let statements = reads + writes.flatMap { [$0.plain, $0.once] }

    @Test("the statements of the previous release return the same columns on the present schema")
    func unchanged() async throws {
        let previous = PreviousRelease(
            "conversations", statements: Self.statements,
            sources: ["Services/Conversations", "Shared/Mutations", "Shared/DatabaseKit"], role: "strata_conversations")
        #expect(try previous.unlisted() == [])
        #expect(try await previous.differences() == [])
    }
}
