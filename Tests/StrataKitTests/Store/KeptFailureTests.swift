// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import TestTiers
import Testing

@testable import StrataKit

@Suite("unconfirmed refused changes")
struct KeptFailureTests {
    private let chat = ConversationID.test(1)

    private func failures(_ store: StoreFixture) throws -> [OperationFailure] {
        try store.core.database.read { try StoreReader(db: $0, me: WireJSON.ana, contentFolder: nil).failures() }
    }

    @Test(
        "a refused change is stored in the transaction that reverts it, also across restarts, until the app confirms it",
        .proves("ERR-3"))
    func kept() throws {
        let store = try StoreFixture()
        try store.addConversation(chat)
        for title in ["one", "two"] {
            try store.set("title", title, in: chat)
            let outcome = try store.refuse(store.queue[0], .userNotAParticipant)
            #expect(try outcome.findings.failures == Array(failures(store).suffix(1)))
        }
        try store.reopen()
        let kept = try failures(store)
        #expect(kept.map(\.operation) == ["setMetadata", "setMetadata"])
        #expect(kept.map(\.conversation) == [chat, chat])
        #expect(kept.map(\.error.code) == [.userNotAParticipant, .userNotAParticipant])
        try store.write { try $0.forgetFailure(kept[0]) }
        #expect(try failures(store) == [kept[1]])
    }

    @Test("the newest 1,000 are kept if the app never confirms refused changes")
    func bounded() throws {
        let store = try StoreFixture()
        try store.addConversation(chat)
        try store.write { store in
            for number in 1...1002 {
                store.findings.failures.append(
                    OperationFailure(
                        operation: "\(number)", id: UUID(), conversation: nil, messages: [],
                        error: StrataError(.conversationDeleted, "")))
            }
        }
        #expect(try failures(store).map(\.operation) == (3...1002).map { "\($0)" })
    }
}
