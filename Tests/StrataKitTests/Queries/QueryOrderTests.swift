// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestTiers
import Testing

@testable import StrataKit

@Suite("order and extent of results")
struct QueryOrderTests {
    @Test(
        "a result is ordered by its keys, with absent values first if ascending", .proves("QRY-6"),
        arguments: [
            ("lastMessage.receivedAt", true, "3 1 2 4"), ("lastMessage.receivedAt", false, "4 2 1 3"),
            ("createdAt", false, "4 3 2 1"),
            ("metadata.title", true, "2 3 1 4"), ("metadata.title", false, "4 1 3 2"), ("isDistinct", true, "2 4 1 3"),
            ("lastMessage", true, "3 1 2 4"), ("identifier", false, "4 3 2 1"),
        ])
    func conversations(name: String, isAscending: Bool, expected: String) throws {
        let query = Query<Conversation>(sortBy: [try .init(name, ascending: isAscending)])
        #expect(try QueryStore().list(query).joined(separator: " ") == expected)
    }

    @Test("unsent messages are last in the order by position", .proves("MSG-5"))
    func position() throws {
        let store = try QueryStore()
        #expect(try store.list(Query<Message>(sortBy: [.ascending(\.position)])) == ["1", "2", "3", "5", "4"])
        #expect(try store.list(Query<Message>(sortBy: [.descending(\.position)])) == ["4", "5", "3", "2", "1"])
    }

    @Test("a later key orders equal values of an earlier one", .proves("QRY-6"))
    func severalKeys() throws {
        let query = Query<Message>(sortBy: [
            .descending(\.isUnread), .ascending(\.sender.displayName), .descending(\.sentAt),
        ])
        #expect(try QueryStore().list(query) == ["3", "5", "4", "2", "1"])
    }

    @Test("ties are ordered by id, in the direction of the last key", .proves("QRY-6"))
    func ties() throws {
        let store = try QueryStore(isEmpty: true)
        for number in [3, 1, 2] { try store.addConversation(number, ["me"], created: 7) }
        #expect(try store.list(Query<Conversation>()) == ["1", "2", "3"])
        #expect(try store.list(Query<Conversation>(sortBy: [.ascending(\.createdAt)])) == ["1", "2", "3"])
        #expect(try store.list(Query<Conversation>(sortBy: [.descending(\.createdAt)])) == ["3", "2", "1"])
    }

    @Test(
        "sorting by a multi-valued or unknown property is error 12002", .proves("QRY-8"),
        arguments: ["participants", "metadata", "metadata.", "lunch", ""])
    func unsortable(name: String) {
        expectStrataError(.unsupportedSort) { _ = try Query<Conversation>.SortDescriptor(name, ascending: true) }
    }

    @Test(
        "messages and announcements cannot be sorted by their parts", .proves("QRY-8"),
        arguments: ["parts.size", "parts.MIMEType", "parts.transferStatus"])
    func parts(name: String) {
        expectStrataError(.unsupportedSort) { _ = try Query<Message>.SortDescriptor(name, ascending: true) }
        expectStrataError(.unsupportedSort) { _ = try Query<Announcement>.SortDescriptor(name, ascending: true) }
    }

    @Test(
        "limit and offset select a part; an offset without a limit has no effect", .proves("QRY-5"),
        arguments: [(2, 0, "1 2"), (2, 1, "2 3"), (9, 3, "4"), (2, 9, ""), (0, 0, ""), (nil, 2, "1 2 3 4")]
            as [(Int?, Int, String)])
    func extent(limit: Int?, offset: Int, expected: String) throws {
        #expect(
            try QueryStore().list(Query<Conversation>(limit: limit, offset: offset)).joined(separator: " ") == expected)
    }

    @Test("a limit or offset below 0 is refused")
    func negative() throws {
        let store = try QueryStore()
        expectStrataError(.invalidArgument) { _ = try store.list(Query<Message>(limit: -1)) }
        expectStrataError(.invalidArgument) { _ = try store.list(Query<Message>(offset: -1)) }
    }

    @Test("every kind of query can return objects, ids and a count", .proves("QRY-7"))
    func kinds() throws {
        let store = try QueryStore()
        #expect(
            try store.list(Query<MessagePart>(sortBy: [.ascending(\.size)])) == [
                "2.0", "4.0", "1.0", "5.0", "3.0", "2.1",
            ])
        #expect(try store.list(Query<Announcement>(sortBy: [.descending(\.position)])) == ["2", "1"])
        #expect(try store.list(Query<Identity>(sortBy: [.descending(\.displayName)])) == ["ben", "ana", "me"])
        #expect(try store.read { try $0.ids(Query<Identity>(limit: 1)) } == ["layer:///identities/ana"])
    }

    @Test("an object appears once, however many of its parts or participants match", .proves("QRY-7"))
    func once() throws {
        let store = try QueryStore()
        #expect(
            try store.list(Query<Message>(where: { $0.conversationID == Example.conversation(1) && $0.parts.size > 1 }))
                == ["1", "2"])
        #expect(
            try store.list(Query<Conversation>(where: { $0.participants.isIn(["ana", "ben", "me"]) })) == [
                "1", "2", "3",
            ])
    }
}
