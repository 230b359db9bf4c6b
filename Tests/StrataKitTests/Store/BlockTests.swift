// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("blocking and unblocking")
struct BlockTests {
    private let store: StoreFixture
    private let dora = UserID(trusted: "dora")
    private let emil = UserID(trusted: "emil")

    init() throws { store = try StoreFixture() }

    private func identity(_ user: UserID) throws -> Identity? {
        try store.core.read { try $0.identityRecord(user).map(StoreReader.identity) }
    }
    private func block(_ users: UserID...) throws -> [String] {
        try store.write { try $0.setBlocked(true, users) }.words
    }
    private func unblock(_ users: UserID...) throws -> [String] {
        try store.write { try $0.setBlocked(false, users) }.words
    }
    private func isBlocked(_ user: UserID) throws -> Bool? { try identity(user)?.isBlocked }

    private func told(_ user: UserID, _ isBlocked: Bool, at position: Int64 = 1) throws -> [String] {
        try store.apply(
            WireJSON.change(
                "update", "Identity", user.layerID, user: position, [WireJSON.set("blocked", .bool(isBlocked))])
        )
        .words
    }

    @Test(
        "several users are blocked together and shown as blocked at once; an unsent opposite change cancels out",
        .proves("POL-2"))
    func opposites() throws {
        #expect(try block(dora, emil, WireJSON.ana) == ["identity create", "identity create"])
        #expect(store.pending == [.block(dora), .block(emil)])
        #expect(try isBlocked(dora) == true)
        #expect(try block(dora).isEmpty && store.queue.count == 2)
        _ = try unblock(dora)
        #expect(store.pending == [.block(emil)])
        #expect(try isBlocked(dora) ?? false == false)
        try store.reopen()
        #expect(try isBlocked(emil) == true)
    }

    @Test("another change reverts a sent one, and a third reverts that", .proves("POL-2"))
    func sent() throws {
        _ = try block(dora)
        try store.attempt(store.queue[0])
        _ = try unblock(dora)
        #expect(store.pending == [.block(dora), .unblock(dora)])
        _ = try block(dora)
        #expect(store.pending == [.block(dora)])
        #expect(try isBlocked(dora) == true)
    }

    @Test(
        "blocks from the server are shown, also of unknown users, and repeating one makes no change", .proves("POL-1"))
    func told() throws {
        #expect(try told(dora, true) == ["identity create"])
        #expect(try isBlocked(dora) == true)
        #expect(try block(dora).isEmpty && store.queue.isEmpty)
        #expect(try told(dora, false, at: 2) == ["identity update blocked"])
        #expect(try unblock(dora).isEmpty && store.queue.isEmpty)
        // An identity packet does not contain the block state.
        _ = try told(dora, true, at: 3)
        try store.apply(
            WireJSON.change("create", "Identity", dora.layerID, user: 4, WireJSON.identity(dora, name: "Dora")))
        #expect(try identity(dora)?.displayName == "Dora" && isBlocked(dora) == true)
        // A blocked user who is unfollowed stays on the block list.
        try store.apply(WireJSON.change("delete", "Identity", dora.layerID, user: 5, nil))
        #expect(try isBlocked(dora) == true)
    }

    @Test("a refused change is reverted")
    func refused() throws {
        _ = try block(dora)
        _ = try store.refuse(store.queue[0])
        #expect(try isBlocked(dora) ?? false == false)
    }

    @Test("a reloaded block list determines who is blocked, except for pending changes", .proves("POL-1"))
    func listed() throws {
        _ = try told(dora, true)
        _ = try told(emil, true, at: 2)
        let eve = UserID(trusted: "eve")
        let fay = UserID(trusted: "fay")
        _ = try block(eve)
        try store.write { try $0.beginListing(epoch: nil, timestamp: "now") }
        let page: JSONValue = [
            ["id": .string(emil.layerID), "user_id": "emil", "display_name": "Emil", "avatar_url": nil]
        ]
        try store.write { try $0.storeBlockPage(page, next: "/blocks?page=2") }
        _ = try told(fay, true, at: 3)
        try store.write { try $0.storeBlockPage([], next: nil) }
        #expect(try [dora, emil, eve, fay].map { try isBlocked($0) } == [false, true, true, true])
        #expect(try identity(emil)?.displayName == "Emil")
    }

    @Test(
        "a conversation with only a blocked user is refused; one with another user too is accepted", .proves("CONV-33"))
    func conversations() throws {
        _ = try block(dora)
        func new(_ others: UserID...) -> LocalChange.NewConversation {
            .init(
                participants: (others + [WireJSON.ana]).sorted(), isDistinct: true, deliveryReceipts: true,
                readReceipts: true, metadata: [:])
        }
        #expect(
            store.code { try store.write { _ = try $0.newConversation(new(dora)) } } == .participantsContainBlockedUser)
        try store.write { _ = try $0.newConversation(new(dora, emil)) }
        _ = try unblock(dora)
        try store.write { _ = try $0.newConversation(new(dora)) }
    }
}
