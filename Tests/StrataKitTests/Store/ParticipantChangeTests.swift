// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("changing participants")
struct ParticipantChangeTests {
    private let store: StoreFixture
    private let chat = ConversationID.test(1)
    private let ana = WireJSON.ana
    private let ben = WireJSON.ben
    private let cleo = WireJSON.cleo

    init() throws {
        store = try StoreFixture()
        try store.apply(WireJSON.created(WireJSON.conversation(chat, isDistinct: true)))
    }

    @discardableResult
    private func add(_ users: UserID...) throws -> StoreCore.Outcome<Void> {
        try store.write { try $0.changeParticipants(users.map { .init(user: $0, isAdded: true) }, in: chat) }
    }

    @discardableResult
    private func remove(_ users: UserID...) throws -> StoreCore.Outcome<Void> {
        try store.write { try $0.changeParticipants(users.map { .init(user: $0, isAdded: false) }, in: chat) }
    }

    @Test(
        "a change shows at once, waits in the queue, and makes the conversation non-distinct",
        .proves("CONV-16", "CONV-21", "CONV-34", "CONV-44"))
    func added() throws {
        #expect(try add(cleo).words == ["conversation update participants", "conversation update isDistinct"])
        #expect(try store.participants(of: chat) == [ana, ben, cleo])
        #expect(store.pending == [.changeParticipants([.init(user: cleo, isAdded: true)])])
    }

    @Test("unsent addition and removal of the same user cancel out", .proves("OFF-4"))
    func opposites() throws {
        try add(cleo)
        #expect(try remove(cleo).words == ["conversation update participants", "conversation update isDistinct"])
        #expect(store.queue.isEmpty)
        #expect(try store.conversation(chat)?.isDistinct == true)
        try remove(ben)
        try add(ben)
        #expect(store.queue.isEmpty)
    }

    @Test("other users in a folded change are kept", .proves("OFF-4"))
    func partly() throws {
        try add(cleo, UserID(trusted: "dora"))
        try remove(cleo)
        #expect(store.pending == [.changeParticipants([.init(user: UserID(trusted: "dora"), isAdded: true)])])
    }

    @Test("another change reverts a sent one")
    func attempted() throws {
        try add(cleo)
        try store.attempt(store.queue[0])
        try remove(cleo)
        try add(cleo)
        try remove(cleo)
        #expect(
            store.pending == [
                .changeParticipants([.init(user: cleo, isAdded: true)]),
                .changeParticipants([.init(user: cleo, isAdded: false)]),
            ])
        #expect(try store.participants(of: chat) == [ana, ben])
    }

    @Test("a repeated addition has no effect, and removing a non-participant throws", .proves("CONV-39", "CONV-20"))
    func needless() throws {
        #expect(try add(ben).changes.isEmpty)
        #expect(store.code { try remove(cleo) } == .participantNotAParticipant)
        #expect(store.queue.isEmpty)
    }

    @Test("exceeding the participant limit throws, in a draft too, and so does sending to too many", .proves("CONV-30"))
    func limit() throws {
        let many = (1...Limits.participants).map { UserID(trusted: "user\($0)") }
        #expect(
            store.code {
                try store.write { try $0.changeParticipants(many.map { .init(user: $0, isAdded: true) }, in: chat) }
            }
                == .tooManyParticipants)
        let draft = try store.write { try $0.createDraft(StoreFixture.newConversation(many)) }.value
        #expect(
            store.code { try store.write { try $0.changeParticipants([.init(user: ana, isAdded: true)], in: draft) } }
                == .tooManyParticipants)
        try store.addConversation(.test(2), participants: [ana] + many)
        #expect(store.code { try store.send(.test(1), in: .test(2)) } == .tooManyParticipants)
    }

    @Test("a user who removes themselves sees no participants and can change nothing", .proves("CONV-19", "CONV-40"))
    func removedMyself() throws {
        try remove(ana)
        #expect(try store.participants(of: chat) == [])
        #expect(store.code { try add(cleo) } == .userNotAParticipant)
    }

    @Test("a refused change is reverted and reported", .proves("CONV-44", "OFF-6"))
    func refused() throws {
        try add(cleo)
        let outcome = try store.refuse(store.queue[0], .userNotAParticipant)
        #expect(try store.participants(of: chat) == [ana, ben])
        #expect(try store.conversation(chat)?.isDistinct == true)
        #expect(outcome.words == ["conversation update participants", "conversation update isDistinct"])
        #expect(outcome.findings.failures.map(\.operation) == ["changeParticipants"])
        #expect(outcome.findings.failures.first?.error.code == .userNotAParticipant)
    }
}
