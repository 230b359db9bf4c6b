// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("calls that fetch older messages", .timeLimit(.minutes(5)))
struct HistoryCallTests {
    private let user: SignedInClient
    private let chat: Conversation

    /// The server has 20 messages; only the newest is on the device.
    init() async throws {
        let (user, id) = (try SignedInClient(), ConversationID.test(1))
        let last = WireJSON.message(.test(21), in: id, at: 21, isUnread: false)
        try await user.apply(WireJSON.created(WireJSON.conversation(id, at: 21, total: 20, last: last)))
        self.user = user
        chat = try #require(try await user.client.conversation(id))
    }

    @Test(
        "calls return the event's progress, and a second call's error contains it",
        .proves("SYNC-11", "SYNC-66", "SYNC-67"))
    func progress() async throws {
        try await user.engine.becomeLive()
        let events = user.client.events
        let progress = try await chat.synchronizeMoreMessages(atLeast: 5)
        #expect(progress.completed == 0 && progress.total == 5)
        for await event in events {
            guard case .conversationSyncBegan(chat.id, let told) = event else { continue }
            #expect(told === progress)
            break
        }
        let error = await #expect(throws: StrataError.self) { try await chat.synchronizeAllMessages(.all) }
        #expect(error?.code == .manualSyncAlreadyInProgress && error?.progress === progress)
    }

    @Test("calls without a connection throw and store no request", .proves("SYNC-67"))
    func offline() async throws {
        let before = try await user.contents
        #expect(await errorCode { try await chat.synchronizeMoreMessages(atLeast: 5) } == .manualSyncFailedNoConnection)
        #expect(await errorCode { try await chat.synchronizeMoreMessages(atLeast: 0) } == .invalidArgument)
        #expect(try await user.contents == before)
    }
}

extension SyncEngine {
    /// Simulates a successful answer to the first request of a socket. Nothing is sent, because the engine is not
    /// running.
    fileprivate func becomeLive() {
        _ = machine.socketOpened(core.cursor, answered: [], history: [])
        _ = machine.baselineAnswered(isSuccess: true, timestamp: nil, cursor: core.cursor, at: .now)
    }
}
