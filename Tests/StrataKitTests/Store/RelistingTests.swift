// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("a full reload")
struct RelistingTests {
    private let store: StoreFixture
    private let dora = UserID(trusted: "dora")

    init() throws {
        store = try StoreFixture()
        for number in 1...2 { try store.addConversation(.test(number), metadata: ["title": "old"]) }
        try store.addMessages(2...4, in: .test(1))
        try store.write { store in
            store.cursor.epoch = "first"
            store.cursor.userPosition = 9
        }
    }

    private func begin() throws { try store.write { try $0.beginListing(epoch: nil, timestamp: "later") } }

    @discardableResult
    private func list(_ objects: JSONValue..., next: String? = nil) throws -> StoreCore.Outcome<Void> {
        try store.write { try $0.storeConversationPage(.array(objects), next: next) }
    }

    private func conversation(
        _ number: Int, at position: Int64 = 9, unread: Int = 0, total: Int = 0, _ messages: JSONValue...
    ) -> JSONValue {
        var object = WireJSON.conversation(
            .test(number), at: position, metadata: ["title": "new"], unread: unread, total: total,
            last: messages.first ?? .null, epoch: "second")
        object["messages"] = .array(messages)
        return object
    }

    @Test("objects missing from all lists are deleted", .proves("SYNC-73"))
    func gone() throws {
        try begin()
        #expect(
            try list(conversation(2)).words.suffix(4) == [
                "conversation delete", "message delete", "message delete", "message delete",
            ])
        #expect(try store.conversation(.test(1)) == nil)
        #expect(try store.metadata(of: .test(2)) == ["title": "new"])
        #expect(store.core.cursor.epoch == "second" && store.core.cursor.userPosition == 0)
    }

    @Test("nothing is deleted before the last page has arrived")
    func pages() throws {
        try begin()
        try list(conversation(2), next: "/conversations?page=2")
        #expect(try store.conversation(.test(1)) != nil)
        try store.reopen()
        #expect(store.core.cursor.listing?.nextConversations == "/conversations?page=2")
        try list()
        #expect(try store.conversation(.test(1)) == nil)
        #expect(store.core.cursor.listing?.hasConversations == true)
    }

    @Test("conversations that arrive by packets meanwhile stay")
    func packets() throws {
        try begin()
        try store.apply(WireJSON.created(WireJSON.conversation(.test(3), epoch: "second")))
        try list(conversation(1, WireJSON.message(.test(4), in: .test(1), at: 4)))
        #expect(try store.conversation(.test(3)) != nil)
    }

    @Test("stored messages are compared, down to the oldest, and missing ones are deleted", .proves("SYNC-65"))
    func messages() throws {
        try begin()
        let outcome = try list(
            conversation(1, total: 2, WireJSON.message(.test(5), in: .test(1), at: 5, isUnread: false)), conversation(2)
        )
        #expect(outcome.findings.historyWanted == [.test(1)])
        #expect(try store.messages(in: .test(1)) == [.test(2), .test(3), .test(4), .test(5)])
        let page: JSONValue = [WireJSON.message(.test(3), in: .test(1), at: 3, isUnread: false)]
        let end = try store.write { try $0.storeHistoryPage(page, of: .test(1), below: 5 * 8192, hasMore: false) }
        #expect(try store.messages(in: .test(1)) == [.test(3), .test(5)])
        #expect(end.findings.historyWanted.isEmpty)
        #expect(try store.message(.test(3))?.isUnread == false)
    }

    @Test("a conversation without messages on the server loses its stored ones")
    func emptied() throws {
        try begin()
        try list(conversation(1), conversation(2))
        #expect(try store.messages(in: .test(1)).isEmpty)
        #expect(try store.conversation(.test(1))?.hasUnreadMessages == false)
    }

    @Test("pending history fetches run after the comparison", .proves("SYNC-33"))
    func goals() throws {
        let last = WireJSON.message(.test(20), in: .test(3), at: 20)
        try store.apply(WireJSON.created(WireJSON.conversation(.test(3), at: 20, unread: 5, total: 9, last: last)))
        #expect(try store.progress(of: .test(3))?.goal == .firstUnread)
        try begin()
        try list(conversation(3, at: 22, unread: 6, total: 10, WireJSON.message(.test(21), in: .test(3), at: 21)))
        #expect(try store.progress(of: .test(3))?.goal == .position(20 * 8192, then: .firstUnread))
        let page: JSONValue = [last]
        try store.write { try $0.storeHistoryPage(page, of: .test(3), below: 21 * 8192, hasMore: true) }
        #expect(try store.progress(of: .test(3))?.goal == .firstUnread)
    }

    @Test("unsent changes stay and are shown on top of the lists", .proves("SYNC-73", "OFF-8"))
    func unsent() throws {
        try store.send(.test(50), in: .test(1))
        try store.set("mine", "x", in: .test(1))
        try begin()
        try list(conversation(1), conversation(2))
        #expect(try store.messages(in: .test(1)) == [.test(50)])
        #expect(try store.metadata(of: .test(1)) == ["title": "new", "mine": "x"])
        #expect(store.pendingNames == ["sendMessage", "setMetadata"])
    }

    @Test("lists contain answered changes", .proves("OFF-8"))
    func answered() throws {
        try store.set("title", "mine", in: .test(1))
        try store.succeed(store.queue[0], at: 7)
        try begin()
        #expect(try store.metadata(of: .test(1)) == ["title": "mine"])
        try list(conversation(1), conversation(2))
        #expect(store.queue.isEmpty)
        #expect(try store.metadata(of: .test(1)) == ["title": "new"])
    }

    @Test("users who are no longer followed are deleted, participants and newly followed users are not")
    func identities() throws {
        for user in [dora, WireJSON.cleo] {
            try store.apply(
                WireJSON.change("create", "Identity", user.layerID, user: 20, WireJSON.identity(user, name: "Name")))
        }
        try begin()
        let eve = UserID(trusted: "eve")
        try store.write { try $0.storeIdentityPage([WireJSON.identity(WireJSON.cleo)], next: "/identities?page=2") }
        try store.apply(
            WireJSON.change("create", "Identity", eve.layerID, user: 1, WireJSON.identity(eve, name: "Eve")))
        try store.write { try $0.storeIdentityPage([], next: nil) }
        let identities = try store.core.read { reader in
            try [dora, WireJSON.cleo, eve, WireJSON.ben].map { try reader.identityRecord($0) }
        }
        #expect(identities.map { $0?.isFollowed } == [nil, true, true, false])
    }

    @Test("missing announcements are deleted, and new ones stay")
    func announcements() throws {
        func created(_ number: Int, user: Int64) -> JSONValue {
            let id = AnnouncementID.test(number)
            return WireJSON.change("create", "Announcement", id.layerID, user: user, WireJSON.announcement(id))
        }
        try store.apply(created(101, user: 20), created(102, user: 21))
        try begin()
        try store.apply(created(103, user: 1))
        let outcome = try store.write { try $0.storeAnnouncementPage([WireJSON.announcement(.test(102))], next: nil) }
        #expect(outcome.words == ["announcement delete"])
        #expect(
            try store.core.read { reader in try [101, 102, 103].map { try reader.announcementRecord(.test($0)) != nil }
            } == [false, true, true])
    }

    @Test("the reload ends when all lists have ended")
    func complete() throws {
        try begin()
        try list(conversation(1), conversation(2))
        try store.write { try $0.storeIdentityPage([], next: nil) }
        #expect(store.core.cursor.listing != nil)
        try store.write { try $0.storeAnnouncementPage([], next: nil) }
        #expect(store.core.cursor.listing != nil)
        try store.write { try $0.storeBlockPage([], next: nil) }
        #expect(store.core.cursor.listing == nil)
        #expect(store.core.cursor.timestamp == "later")
    }

    @Test("a list that cannot be continued starts again")
    func restarted() throws {
        try begin()
        try list(conversation(2), next: "/conversations?page=2")
        try store.write { $0.restart(list: .conversations(next: "/conversations?page=2")) }
        #expect(store.core.cursor.listing == .init())
    }

    @Test("the policy of this start applies to new conversations, not to stored ones", .proves("SYNC-63", "SYNC-60"))
    func policy() throws {
        store.core.policy = .completeHistory
        let last = WireJSON.message(.test(20), in: .test(3), at: 20)
        try store.apply(WireJSON.created(WireJSON.conversation(.test(3), at: 20, total: 9, last: last)))
        #expect(try store.progress(of: .test(3))?.goal == .everything)
        #expect(try store.progress(of: .test(1))?.goal == nil)
    }

    @Test("a conversation that the server does not show is deleted")
    func oneConversation() throws {
        try store.write { try $0.storeConversation(nil, id: .test(1)) }
        #expect(try store.conversation(.test(1)) == nil)
        try store.write { try $0.storeConversation(WireJSON.conversation(.test(1), at: 3), id: .test(1)) }
        #expect(try store.conversation(.test(1)) != nil)
    }
}
