// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("a conversation that gets the participants of a distinct one")
struct DistinctParticipantTests {
    private let store: StoreFixture
    private let pair = ConversationID.test(1)
    private let group = ConversationID.test(2)

    init() throws {
        store = try StoreFixture()
        try store.apply(WireJSON.created(WireJSON.conversation(pair, isDistinct: true)))
        let participants = [WireJSON.ana, WireJSON.ben, WireJSON.cleo]
        try store.apply(WireJSON.created(WireJSON.conversation(group, participants: participants, isDistinct: true)))
    }

    private func expectBoth() throws {
        let both = try [pair, group].map { try #require(try store.conversation($0)) }
        #expect(both.map(\.id) == [pair, group])
        #expect(both.allSatisfy { $0.participantIDs == [WireJSON.ana, WireJSON.ben] })
        #expect(both.map(\.isDistinct) == [true, false])
        let found = try store.write { try $0.distinctConversation(of: [WireJSON.ana, WireJSON.ben])?.id }.value
        #expect(found == pair)
        try store.send(.test(20), in: pair)
        try store.send(.test(21), in: group)
        #expect(try store.messages(in: pair) == [.test(20)] && store.messages(in: group) == [.test(21)])
    }

    @Test("two conversations coexist if this user changes the participants", .proves("CONV-22"))
    func local() throws {
        try store.write { try $0.changeParticipants([.init(user: WireJSON.cleo, isAdded: false)], in: group) }
        try expectBoth()
    }

    @Test("two conversations coexist if another user changes the participants", .proves("CONV-22"))
    func remote() throws {
        try store.apply(WireJSON.updated(group, at: 2, WireJSON.remove(WireJSON.cleo), WireJSON.set("distinct", false)))
        try expectBoth()
    }
}
