// SPDX-License-Identifier: Apache-2.0
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("typing: storage", .timeLimit(.minutes(5)))
struct TypingStoreTests {
    @Test("neither the user's nor others' typing is in the store, the queue or the changes", .proves("TYPE-9"))
    func nothing() async throws {
        let user = try SignedInClient()
        let chat = try await user.addConversation(.test(1))
        let before = try await user.contents
        var changes = user.client.objectChanges.makeAsyncIterator()
        for action in TypingAction.allCases {
            try await chat.sendTypingIndicator(action)
            var packet = TypingIndicator.packet(action, in: chat.id)
            packet["body"]["data"]["sender"] = ["id": .string(WireJSON.ben.layerID), "display_name": "Ben"]
            #expect(TypingIndicator(packet: packet) != nil)
            try await user.apply(packet)
        }
        #expect(try await user.contents == before)
        #expect(await user.client.pendingChangeCount == 0)
        try await chat.setMetadata("Lunch", at: "title")
        #expect(await changes.next()?.map(\.words) == ["conversation update metadata"])
    }
}
