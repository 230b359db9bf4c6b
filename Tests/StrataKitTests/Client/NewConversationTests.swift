// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import TestTiers
import Testing

@testable import StrataKit

@Suite("creating conversations", .timeLimit(.minutes(5)))
struct NewConversationTests {
    private let user: SignedInClient
    private let ben = WireJSON.ben

    init() throws { user = try SignedInClient() }

    @Test("participants are user ids as in identity tokens, at least one besides the user", .proves("CONV-3"))
    func participants() async throws {
        let strange = try #require(UserID("Ana López, 3rd/é"))
        let chat = try await user.client.newConversation(with: [ben, strange])
        #expect(chat.participantIDs == [WireJSON.ana, ben, strange])
        for none in [[], [WireJSON.ana]] as [Set<UserID>] {
            let error = await #expect(throws: StrataError.self) { try await user.client.newConversation(with: none) }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test(
        "a conversation without options is distinct, with receipts and without metadata", .proves("CONV-4", "CONV-11"))
    func options() async throws {
        let chat = try await user.client.newConversation(with: [ben])
        #expect(chat.isDistinct && chat.deliveryReceiptsEnabled && chat.readReceiptsEnabled && chat.metadata.isEmpty)
        let other = Conversation.Options(
            isDistinct: false, deliveryReceipts: false, readReceipts: false, metadata: ["a": "b"])
        let plain = try await user.client.newConversation(with: [ben], options: other)
        #expect(
            !plain.isDistinct && !plain.deliveryReceiptsEnabled && !plain.readReceiptsEnabled
                && plain.metadata == ["a": "b"])
    }

    @Test("an invalid conversation throws and is not created", .proves("CONV-5"))
    func impossible() async throws {
        let before = try await user.contents
        let many = Set((0..<Limits.participants).map { UserID(trusted: "user\($0)") })
        let attempts: [(Set<UserID>, Metadata, StrataError.Code)] = [
            ([], [:], .invalidArgument), (many, [:], .tooManyParticipants), ([ben], ["a key": "x"], .invalidKey),
            ([ben], ["key": .text(String(repeating: "x", count: 2049))], .invalidValue),
        ]
        for (users, metadata, code) in attempts {
            let error = await #expect(throws: StrataError.self) {
                try await user.client.newConversation(with: users, options: .init(metadata: metadata))
            }
            #expect(error?.code == code)
        }
        #expect(try await user.contents == before)
        let signedOut = try SignedInClient(nil)
        #expect(
            await #expect(throws: StrataError.self) { try await signedOut.client.newConversation(with: [ben]) }?.code
                == .notAuthenticated)
    }

    @Test("the same users can have any number of non-distinct conversations", .proves("CONV-15"))
    func several() async throws {
        var ids: Set<ConversationID> = []
        for number in 0..<3 {
            let chat = try await user.client.newConversation(with: [ben], options: .init(isDistinct: false))
            try await user.send("\(number)", in: chat)
            ids.insert(chat.id)
        }
        let distinct = try await user.client.newConversation(with: [ben])
        try await user.send("distinct", in: distinct)
        ids.insert(distinct.id)
        #expect(ids.count == 4)
        #expect(
            Set(try await user.client.identifiers(Query<Conversation>(where: { $0.participants == ["ben"] }))) == ids)
    }
}
