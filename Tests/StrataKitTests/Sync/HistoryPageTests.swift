// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("pages of older messages")
struct HistoryPageTests {
    private let store: StoreFixture
    private let chat = ConversationID.test(1)
    private let load: SyncLoad

    /// The newest of 9 messages is on the device, and all others are wanted.
    init() throws {
        store = try StoreFixture(policy: .completeHistory)
        load = .history(chat)
        let last = WireJSON.message(.test(10), in: chat, at: 10, isUnread: false)
        try store.apply(WireJSON.created(WireJSON.conversation(chat, at: 10, total: 9, last: last)))
    }

    private func first() throws -> LoadPage? { try store.write { try $0.historyPage(of: chat) }.value }

    private func put(_ positions: [Int64], _ page: LoadPage, next: String?) throws -> LoadPage? {
        let json = positions.map { WireJSON.message(.test(Int($0)), in: chat, at: $0, isUnread: false) }
        return try store.write { try $0.storePage(.array(json), of: load, page: page, next: next) }.value
    }

    @Test("the first page begins below the stored messages")
    func begin() throws {
        let page = try #require(try first())
        #expect(page.path == "/conversations/\(chat)/messages?page_size=100&from_id=\(MessageID.test(10).layerID)")
        #expect(page.below == 10 * Position.wireStep)
    }

    @Test("an empty page with a link is followed until a message arrives")
    func empty() throws {
        let page = try #require(try first())
        let second = try #require(try put([], page, next: "/second"))
        #expect(second == LoadPage(path: "/second", below: page.below))
        let third = try #require(try put([], second, next: "/third"))
        #expect(third == LoadPage(path: "/third", below: page.below))
        #expect(try store.messages(in: chat) == [.test(10)])
        #expect(try put([5, 4], third, next: "/fourth") == nil)
        #expect(try first()?.below == 4 * Position.wireStep)
    }

    @Test("messages missing from all pages are deleted")
    func between() throws {
        try store.apply(WireJSON.created(WireJSON.message(.test(7), in: chat, at: 7)))
        let page = try #require(try first())
        let second = try #require(try put([], page, next: "/second"))
        #expect(try put([5], second, next: "/third") == nil)
        #expect(try store.messages(in: chat) == [.test(5), .test(10)])
    }

    @Test("an empty page without a link ends the history")
    func end() throws {
        #expect(try put([], try #require(try first()), next: nil) == nil)
        #expect(try first() == nil)
    }

    @Test("a link to the same page is not followed")
    func circle() throws {
        let page = try #require(try first())
        #expect(try put([], page, next: page.path) == nil)
    }

    @Test("an unparsable page is skipped")
    func strange() throws {
        let page = try #require(try first())
        let outcome = try store.write { try $0.storePage([["id": "strange"]], of: load, page: page, next: "/second") }
        #expect(outcome.value == LoadPage(path: "/second", below: page.below))
        #expect(outcome.changes.isEmpty)
    }

    @Test("no page of a deleted conversation is requested")
    func gone() throws {
        try store.apply(WireJSON.deleted(chat))
        #expect(try first() == nil)
    }
}
