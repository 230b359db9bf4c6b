// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import StrataKit
import TestCluster
import TestTiers
import Testing

extension EndToEnd {
    /// Synchronization of older messages, and fetching of more.
    @Suite("StrataKit: history")
    struct KitHistoryTests {
        /// Creates three conversations with ben: all 30 messages read; 3 of 50 unread; all 20 unread.
        private func conversations(_ app: TestApp) async throws -> [ConversationID] {
            let users = try await app.signIn(["ana", "ben"])
            var ids: [ConversationID] = []
            for (count, unread) in [(30, 0), (50, 3), (20, 20)] {
                let conversation = try await users[0].converse(with: [users[1]], distinct: false)
                for number in 0..<count {
                    let id = try await users[0].send("\(number)", to: conversation)
                    if number == count - unread - 1 {
                        try await users[1].does("POST", conversation.path + "/mark_all_read", ["position": nil])
                    }
                    _ = id
                }
                ids.append(try #require(ConversationID(parsing: conversation.id)))
            }
            return ids
        }

        @Test(
            "each policy fetches exactly its range, and totals include messages that are not on the device",
            .proves(
                "SYNC-9", "SYNC-30", "SYNC-31", "SYNC-32", "SYNC-33", "SYNC-34", "SYNC-35", "SYNC-50", "SYNC-51",
                "SYNC-61"))
        func policies() async throws {
            let app = try await Cluster.shared().app()
            let ids = try await conversations(app)
            let expected: [(SyncPolicy, [Int])] = [
                (.unreadOnly, [1, 3, 20]), (.partialHistory(count: 7), [7, 7, 7]), (.partialHistory(), [25, 25, 20]),
                (.completeHistory, [30, 50, 20]),
            ]
            for (policy, counts) in expected {
                let ben = try await KitUser.signIn("ben", to: app, policy: policy)
                for (id, count) in zip(ids, counts) {
                    #expect(try await ben.client.messages(in: id).count == count, "\(policy)")
                }
                let totals = try await ids.asyncMap { try await ben.client.conversation($0) }
                #expect(totals.map { $0?.totalMessageCount } == [30, 50, 20])
                #expect(totals.map { $0?.totalUnreadMessageCount } == [0, 3, 20])
                #expect(totals.map { $0?.hasUnreadMessages } == [false, true, true])
            }
        }

        @Test(
            "more history is fetched on demand: a number, back to the first unread message, or everything; then none is left",
            .proves(
                "SYNC-3", "SYNC-11", "SYNC-36", "SYNC-52", "SYNC-53", "SYNC-54", "SYNC-55", "SYNC-66", "SYNC-67",
                "SYNC-68", "SYNC-69"))
        func moreHistory() async throws {
            let app = try await Cluster.shared().app()
            let id = try await conversations(app)[1]
            let ben = try await KitUser.signIn("ben", to: app, policy: .partialHistory(count: 1))
            let chat = try #require(try await ben.client.conversation(id))
            func fetch(_ body: @escaping @Sendable () async throws -> Void) async throws {
                let events = ben.client.events
                try await body()
                try await within("the history is fetched") {
                    var progress: TransferProgress?
                    for await event in events {
                        if case .conversationSyncBegan(id, let begun) = event { progress = begun }
                        guard case .conversationSyncFinished(id) = event else { continue }
                        #expect(progress?.isFinished == true && progress?.fraction == 1)
                        return
                    }
                }
            }
            try await fetch { try await chat.synchronizeAllMessages(.toFirstUnread) }
            #expect(try await ben.client.messages(in: id).count == 3)
            #expect(
                await #expect(throws: StrataError.self) { try await chat.synchronizeAllMessages(.toFirstUnread) }?.code
                    == .manualSyncNothingToSync)
            try await fetch { try await chat.synchronizeMoreMessages(atLeast: 20) }
            #expect(try await ben.client.messages(in: id).count >= 23)
            try await fetch { try await chat.synchronizeAllMessages(.all) }
            #expect(try await ben.texts(in: id) == (0..<50).map(String.init))
            #expect(
                await #expect(throws: StrataError.self) { try await chat.synchronizeAllMessages(.all) }?.code
                    == .manualSyncAlreadyFullySynced)
            #expect(
                await #expect(throws: StrataError.self) { try await chat.synchronizeMoreMessages(atLeast: 0) }?.code
                    == .invalidArgument)
            await ben.client.disconnect()
            #expect(
                await #expect(throws: StrataError.self) { try await chat.synchronizeAllMessages(.all) }?.code
                    == .manualSyncFailedNoConnection)
        }

        @Test(
            "marking all as read marks the messages on this device and lowers the badge by their number",
            .proves("SYNC-8", "SYNC-10", "RCPT-4", "RCPT-5"))
        func partialRead() async throws {
            let app = try await Cluster.shared().app()
            let id = try await conversations(app)[2]
            let ben = try await KitUser.signIn("ben", to: app, policy: .partialHistory(count: 1))
            let chat = try #require(try await ben.client.conversation(id))
            #expect(try await chat.markAllMessagesAsRead() == 1)
            #expect(try await ben.client.conversation(id)?.totalUnreadMessageCount == 19)
            try await ben.isIdle()
            // The packet with the counts follows that with the status.
            try await eventually("one message is read") {
                try await ben.client.conversation(id)?.totalUnreadMessageCount == 19
            }
            let fresh = try await KitUser.signIn("ben", to: app, policy: .completeHistory)
            #expect(try await fresh.client.conversation(id)?.totalUnreadMessageCount == 19)
            #expect(try await fresh.client.messages(in: id).filter(\.isUnread).count == 19)
        }
    }
}

extension Sequence {
    func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
