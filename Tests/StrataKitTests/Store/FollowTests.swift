// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("following and unfollowing")
struct FollowTests {
    private let store: StoreFixture
    private let dora = UserID(trusted: "dora")
    private let emil = UserID(trusted: "emil")

    init() throws { store = try StoreFixture() }

    private func identity(_ user: UserID) throws -> Identity? {
        try store.core.read { try $0.identityRecord(user).map(StoreReader.identity) }
    }
    private func follow(_ users: UserID...) throws -> [String] { try store.write { try $0.follow(users) }.words }
    private func unfollow(_ users: UserID...) throws -> [String] { try store.write { try $0.unfollow(users) }.words }

    private func told(_ user: UserID, at position: Int64 = 1) throws {
        try store.apply(
            WireJSON.change("create", "Identity", user.layerID, user: position, WireJSON.identity(user, name: "Name")))
    }

    @Test("unsent follow and unfollow of the same user cancel out", .proves("OFF-4", "IDN-3"))
    func opposites() throws {
        #expect(try follow(dora, emil) == ["identity create", "identity create"])
        #expect(try unfollow(dora) == ["identity delete"])
        #expect(store.pending == [.follow([emil])])
        #expect(try unfollow(emil) == ["identity delete"])
        #expect(store.queue.isEmpty)
    }

    @Test("unsent unfollow and follow cancel out, and the identity stays unchanged", .proves("OFF-4"))
    func backAgain() throws {
        try told(dora)
        #expect(try unfollow(dora) == ["identity delete"])
        try store.reopen()
        #expect(try follow(dora) == ["identity create"])
        #expect(store.queue.isEmpty)
        #expect(try identity(dora)?.displayName == "Name" && identity(dora)?.isFollowed == true)
    }

    @Test("a change that is already pending is not made twice", .proves("OFF-4"))
    func twice() throws {
        for _ in 1...2 { _ = try follow(dora) }
        #expect(store.pending == [.follow([dora])])
        try told(emil)
        for _ in 1...2 { _ = try unfollow(emil) }
        #expect(store.pending == [.follow([dora]), .unfollow([emil])])
    }

    @Test("another request reverts a sent one, and is folded itself")
    func attempted() throws {
        _ = try follow(dora)
        try store.attempt(store.queue[0])
        #expect(try unfollow(dora) == ["identity delete"])
        #expect(store.pending == [.follow([dora]), .unfollow([dora])])
        #expect(try follow(dora) == ["identity create"])
        #expect(store.pending == [.follow([dora])])
    }

    @Test(
        "a refused follow removes the identity that it created, also after a restart", .proves("OFF-6"),
        arguments: [true, false])
    func refusedFollow(_ isReopened: Bool) throws {
        _ = try follow(dora)
        if isReopened { try store.reopen() }
        let outcome = try store.refuse(store.queue[0])
        #expect(outcome.words == ["identity delete"])
        #expect(outcome.findings.failures.map(\.operation) == ["follow"])
        #expect(try identity(dora) == nil && store.queue.isEmpty)
    }

    @Test("a refused follow keeps an identity that is known from elsewhere")
    func refusedFollowOfKnown() throws {
        _ = try follow(dora)
        try store.addConversation(.test(1), participants: [WireJSON.ana, dora])
        #expect(try store.refuse(store.queue[0]).changes.isEmpty)
        #expect(try identity(dora)?.isFollowed == true)
    }

    @Test("a refused unfollow restores the identity in its current state", .proves("OFF-6"), arguments: [true, false])
    func refusedUnfollow(_ isReopened: Bool) throws {
        try told(dora)
        _ = try unfollow(dora)
        if isReopened { try store.reopen() }
        let update = WireJSON.change(
            "update", "Identity", dora.layerID, user: 2, [WireJSON.set("display_name", "Dora")])
        #expect(try store.apply(update).changes.isEmpty)
        #expect(try store.refuse(store.queue[0]).words == ["identity create"])
        #expect(try identity(dora)?.displayName == "Dora")
    }

    @Test("an answered follow ends when the identity has arrived, an answered unfollow when it has gone")
    func answered() throws {
        _ = try follow(dora)
        try store.succeed(store.queue[0], user: 1)
        #expect(store.queue.count == 1)
        try told(dora)
        try store.write { try $0.finishOperations(in: [], open: nil) }
        #expect(try store.queue.isEmpty && identity(dora)?.displayName == "Name")
        _ = try unfollow(dora)
        try store.succeed(store.queue[0], user: 2)
        try store.apply(WireJSON.change("delete", "Identity", dora.layerID, user: 2, [:]))
        #expect(try store.write { try $0.finishOperations(in: [], open: nil) }.changes.isEmpty)
        #expect(try store.queue.isEmpty && identity(dora) == nil)
    }

    @Test("a user who becomes a participant is shown despite a pending unfollow", .proves("IDN-2"))
    func participant() throws {
        try told(dora)
        _ = try unfollow(dora)
        try store.addConversation(.test(1), participants: [WireJSON.ana, dora])
        #expect(try identity(dora)?.displayName == "Name")
    }

    @Test("during a full reload, an answered follow is shown until the list has arrived")
    func relisted() throws {
        _ = try follow(dora)
        try told(emil)
        _ = try unfollow(emil)
        try store.succeed(store.queue[0], user: 9)
        try store.write { try $0.beginListing(epoch: nil, timestamp: "now") }
        #expect(try store.write { try $0.finishOperations(in: [], open: nil) }.changes.isEmpty)
        let page: JSONValue = [WireJSON.identity(dora, name: "Dora")]
        try store.write { try $0.storeIdentityPage(page, next: nil) }
        #expect(store.pending == [.unfollow([emil])])
        #expect(try identity(dora)?.displayName == "Dora" && identity(dora)?.isFollowed == true)
        // The server no longer has this user as followed, so nothing is restored.
        #expect(try store.refuse(store.queue[0]).changes.isEmpty)
        #expect(try identity(emil) == nil)
    }

    @Test("a user does not follow themselves")
    func myself() throws {
        #expect(try follow(WireJSON.ana).isEmpty && unfollow(WireJSON.ana).isEmpty)
        #expect(store.queue.isEmpty)
    }
}

@Suite("identities of the operator")
struct OperatorIdentityTests {
    @Test("all operator properties are shown, and no change by the user affects them", .proves("IDN-1"))
    func shown() throws {
        let (store, dora) = (try StoreFixture(), UserID(trusted: "dora"))
        var told = WireJSON.identity(dora, name: "Dora")
        let members = ["first_name", "last_name", "email_address", "phone_number", "avatar_url", "public_key"]
        for member in members { told[member] = .string("its \(member)") }
        told["metadata"] = ["team": "red"]
        try store.apply(WireJSON.change("create", "Identity", dora.layerID, user: 1, told))
        var identity = try store.core.read { try $0.identity(dora) }
        let texts = [
            identity.firstName, identity.lastName, identity.emailAddress, identity.phoneNumber, identity.avatarImageURL,
            identity.publicKey,
        ]
        #expect(texts == members.map { "its \($0)" })
        #expect(identity.displayName == "Dora" && identity.metadata == ["team": "red"] && identity.isFollowed)
        let before = identity
        identity.displayName = "mine"
        try store.write { try $0.follow([dora]) }
        try store.write { try $0.unfollow([dora]) }
        try store.write { try $0.follow([dora]) }
        #expect(try store.core.read { try $0.identity(dora) } == before)
        #expect(store.pending.allSatisfy { !$0.users.isEmpty })
    }
}
