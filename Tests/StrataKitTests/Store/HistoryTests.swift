// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

/// A server with one conversation, from which a store loads older messages.
private struct HistoryServer {
    let store: StoreFixture
    let chat = ConversationID.test(1)
    /// The number of messages, at positions 2…(total + 1). The last `unread` are unread.
    let total: Int
    let unread: Int
    private(set) var requests: [Int] = []

    init(_ policy: SyncPolicy, total: Int, unread: Int) throws {
        store = try StoreFixture(policy: policy)
        (self.total, self.unread) = (total, unread)
        try store.write { try $0.beginListing(epoch: nil, timestamp: "now") }
    }

    private func messages(below position: Int64, _ count: Int) -> [JSONValue] {
        (2..<position).reversed().prefix(count)
            .map { position in
                let isUnread = Int(position) > total + 1 - unread
                return WireJSON.message(.test(Int(position)), in: chat, at: position, isUnread: isUnread)
            }
    }

    /// Sends the first load: the conversation with its newest messages.
    func list(_ count: Int) throws {
        let newest = messages(below: Int64(total) + 2, count)
        var object = WireJSON.conversation(
            chat, at: Int64(total) + 1, unread: unread, total: total, last: newest.first ?? .null)
        object["messages"] = .array(newest)
        try store.write { try $0.storeConversationPage([object], next: nil) }
    }

    /// Loads older messages while the store has a goal.
    mutating func loadHistory() throws {
        while try store.progress(of: chat)?.goal != nil, requests.count < 100 {
            let (start, size) = try store.write { (try $0.historyStart(in: chat), try $0.historyPageSize(in: chat)) }
                .value
            let position = start.map { $0.position / Position.wireStep } ?? Int64(total) + 2
            let page = messages(below: position, size)
            requests.append(size)
            try store.write {
                try $0.storeHistoryPage(
                    .array(page), of: chat, below: start?.position,
                    hasMore: (page.last?["position"].int ?? 0) > 2 * 8192)
            }
        }
    }

    mutating func want(_ goal: @escaping (Int) -> HistoryGoal) throws {
        try store.write { try $0.setHistoryGoal(of: chat) { _, known, _ in goal(known) } }
        try loadHistory()
    }

    var count: Int { get throws { try store.messages(in: chat).count } }
}

@Suite("fetching older messages")
struct HistoryTests {
    @Test(
        "unread only fetches back to the first unread message, or the newest one alone", .proves("SYNC-33", "SYNC-9"),
        arguments: [(3, 3), (50, 50), (0, 1), (130, 130)])
    func unreadOnly(_ unread: Int, _ expected: Int) throws {
        var server = try HistoryServer(.unreadOnly, total: 200, unread: unread)
        try server.list(max(1, min(unread, 20)))
        try server.loadHistory()
        #expect(try server.count == expected)
        #expect(try server.store.conversation(server.chat)?.totalMessageCount == 200)
        #expect(try server.store.conversation(server.chat)?.totalUnreadMessageCount == unread)
    }

    @Test(
        "partial history fetches a number of messages, or all if there are fewer", .proves("SYNC-34"),
        arguments: [(5, 5), (25, 25), (130, 130), (500, 200)])
    func partial(_ wanted: Int, _ expected: Int) throws {
        var server = try HistoryServer(.partialHistory(count: wanted), total: 200, unread: 3)
        try server.list(min(wanted, 100))
        try server.loadHistory()
        #expect(try server.count == expected)
    }

    @Test("a client without options does not fetch the complete history", .proves("SYNC-62", "SYNC-31"))
    func defaultPolicy() throws {
        let address = try #require(URL(string: "https://chat.example.org"))
        var server = try HistoryServer(StrataClient.Options(server: address).syncPolicy, total: 200, unread: 3)
        try server.list(3)
        try server.loadHistory()
        #expect(try server.count == 3)
        #expect(HistoryGoal(StrataClient.Options(server: address).syncPolicy) != .everything)
    }

    @Test("complete history fetches all messages", .proves("SYNC-32"))
    func complete() throws {
        var server = try HistoryServer(.completeHistory, total: 230, unread: 3)
        try server.list(100)
        try server.loadHistory()
        #expect(try server.count == 230)
        #expect(server.requests == [100, 100])
    }

    @Test("partial history without a number means 25, and unread only is the default", .proves("SYNC-61", "SYNC-35"))
    func policies() {
        #expect(SyncPolicy.partialHistory() == .partialHistory(count: 25))
        #expect(HistoryGoal(.partialHistory(), after: nil) == .count(25))
    }

    @Test(
        "later goals fetch a number of messages, back to the first unread one, then all",
        .proves("SYNC-36", "SYNC-52", "SYNC-53", "SYNC-54", "SYNC-3"))
    func more() throws {
        var server = try HistoryServer(.partialHistory(count: 5), total: 200, unread: 80)
        try server.list(5)
        try server.want { .count($0 + 20) }
        #expect(try server.count == 25)
        try server.want { _ in .firstUnread }
        #expect(try server.count == 80)
        try server.want { _ in .everything }
        #expect(try server.count == 200)
    }

    @Test("unsent messages do not count as fetched", .proves("SYNC-52", "SYNC-34"))
    func unsent() throws {
        var server = try HistoryServer(.partialHistory(count: 5), total: 50, unread: 0)
        try server.list(2)
        for number in 300...302 { try server.store.send(.test(number), in: server.chat) }
        try server.loadHistory()
        #expect(try server.count == 8)
        try server.want { .count($0 + 4) }
        #expect(try server.count == 12)
    }

    @Test("a fetch call throws if all messages are stored, another fetch runs, or none is left")
    func errors() throws {
        var server = try HistoryServer(.partialHistory(count: 5), total: 20, unread: 3)
        try server.list(5)
        let (store, chat) = (server.store, server.chat)
        func code(_ goal: HistoryGoal) -> StrataError.Code? {
            store.code { try store.write { try $0.setHistoryGoal(of: chat) { _, _, _ in goal } } }
        }
        #expect(code(.firstUnread) == .manualSyncNothingToSync)
        #expect(code(.everything) == nil)
        #expect(code(.everything) == .manualSyncAlreadyInProgress)
        try server.loadHistory()
        try store.send(.test(300), in: chat)
        #expect(code(.everything) == .manualSyncAlreadyFullySynced)
        #expect(
            store.code { try store.write { try $0.setHistoryGoal(of: .test(9)) { _, _, _ in .everything } } }
                == .conversationDeleted)
    }

    @Test("fetched messages are ordinary creations", .proves("SYNC-69"))
    func changes() throws {
        let server = try HistoryServer(.partialHistory(count: 5), total: 20, unread: 0)
        try server.list(5)
        let start = try #require(try server.store.write { try $0.historyStart(in: server.chat) }.value)
        let page: JSONValue = [WireJSON.message(.test(16), in: server.chat, at: 16, isUnread: false)]
        let outcome = try server.store.write {
            try $0.storeHistoryPage(page, of: server.chat, below: start.position, hasMore: true)
        }
        #expect(outcome.words == ["message create"])
        #expect(server.store.queue.isEmpty)
    }

    @Test("a page replaces its range, so that messages missing from it are deleted")
    func reconciled() throws {
        var server = try HistoryServer(.completeHistory, total: 20, unread: 0)
        try server.list(5)
        let ghost = WireJSON.message(.test(99), in: server.chat, at: 10)
        try server.store.apply(WireJSON.created(ghost))
        // On a real server positions are unique; here the ghost shares one.
        try server.loadHistory()
        #expect(try server.store.message(.test(99)) == nil)
        #expect(try server.count == 20)
    }

    @Test("the goal survives the end of the app, and the newest conversation goes first", .proves("SYNC-64"))
    func resumed() throws {
        let store = try StoreFixture(policy: .completeHistory)
        func conversation(_ number: Int, sentAt: String) -> JSONValue {
            var last = WireJSON.message(.test(number), in: .test(number), at: 5)
            last["sent_at"] = .string(sentAt)
            return WireJSON.conversation(.test(number), at: 5, total: 9, last: last)
        }
        let outcome = try store.apply(
            WireJSON.created(conversation(1, sentAt: "2018-05-04T09:31:00.000Z")),
            WireJSON.created(conversation(2, sentAt: "2018-05-04T09:33:00.000Z")),
            WireJSON.created(conversation(3, sentAt: "2018-05-04T09:32:00.000Z")))
        #expect(outcome.findings.historyWanted == [.test(2), .test(3), .test(1)])
        try store.reopen()
        #expect(try store.write { try $0.conversationsWithGoals() }.value == [.test(2), .test(3), .test(1)])
    }
}
