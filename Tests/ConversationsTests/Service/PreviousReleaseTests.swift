// SPDX-License-Identifier: Apache-2.0
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
        .contentsForget, .contentSizes, .identitiesRead, .identitiesEnsure, .appKeyRead, .signIn, .sessionFind, .sessionsCheck, .sessionsRenew,
        .sessionEnd, .accountsSweep, .identitiesSweep, .followedList, .followedCheck, .followedAmong, .followed, .announcementApp, .announcementSend,
        .announcementGet, .announcementList, EarlierChange.find,
    ]
    private static let writes: [WriteStatement] = [
        .nothing, .conversationCreate, .conversationPatch, .conversationDelete, .conversationMarkAllRead, .messageSend, .messageDelete, .partsEdit,
        .receiptsGive, .follow, .unfollow, .announcementReceipt, .announcementRemove, .pushTokenSet, .pushTokenDelete,
    ]

    @Test("the statements of the previous release return the same columns on the present schema")
    func unchanged() async throws {
        let previous = PreviousRelease(
            "conversations", statements: Self.reads + Self.writes.flatMap { [$0.plain, $0.once] },
            sources: ["Services/Conversations", "Shared/Mutations"])
        #expect(try previous.unlisted() == [])
        #expect(try await previous.differences() == [])
    }
}
