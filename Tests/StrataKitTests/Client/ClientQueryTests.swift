// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("queries of a client", .timeLimit(.minutes(5)))
struct ClientQueryTests {
    private let user: SignedInClient

    init() throws { user = try SignedInClient() }

    private func counts() async throws -> [Int] {
        let client = user.client
        return [
            try await client.count(Query<Conversation>()), try await client.count(Query<Message>()),
            try await client.count(Query<MessagePart>()),
            try await client.count(Query<Announcement>()), try await client.count(Query<Identity>()),
        ]
    }

    @Test("queries find every kind of object, except drafts and deleted objects", .proves("QRY-1"))
    func kinds() async throws {
        let announcement = AnnouncementID.test(1)
        try await user.apply(
            WireJSON.created(WireJSON.conversation(.test(1))),
            WireJSON.created(WireJSON.message(.test(2), in: .test(1), at: 2)),
            WireJSON.created(WireJSON.conversation(.test(2))),
            WireJSON.change(
                "create", "Announcement", announcement.layerID, user: 3, WireJSON.announcement(announcement)))
        #expect(try await counts() == [2, 1, 1, 1, 2])
        let draft = try await user.client.newConversation(with: [WireJSON.ben])
        #expect(try await counts() == [2, 1, 1, 1, 2])
        try await user.send("Hi", in: draft)
        #expect(try await counts() == [3, 2, 2, 1, 2])
        for id in [draft.id, .test(1)] { try await user.client.conversation(id)?.delete(.allParticipants) }
        #expect(try await counts() == [1, 0, 0, 1, 2])
        try await user.client.execute(Query<Announcement>()).first?.delete()
        #expect(try await counts() == [1, 0, 0, 0, 2])
    }

    @Test("a query on identifier finds conversations and messages by their ids", .proves("SYNC-41"))
    func identifier() async throws {
        try await user.apply(
            WireJSON.created(WireJSON.conversation(.test(1))), WireJSON.created(WireJSON.conversation(.test(2))),
            WireJSON.created(WireJSON.message(.test(3), in: .test(1), at: 2)),
            WireJSON.created(WireJSON.message(.test(4), in: .test(1), at: 3)))
        let (conversation, message) = (ConversationID.test(2), MessageID.test(4))
        #expect(
            try await user.client.execute(Query<Conversation>(where: { $0.id == conversation })).map(\.id) == [
                conversation
            ])
        let named = Query<Message>(predicate: try .where("identifier", .isEqualTo, message.layerID))
        #expect(try await user.client.execute(named).map(\.id) == [message])
        #expect(try await user.client.count(Query<Conversation>(where: { $0.id == .test(9) })) == 0)
    }

    @Test("queries throw without a signed-in user, and create no controller", .proves("QRY-12", "QC-8"))
    func signedOut() async throws {
        let client = try SignedInClient(nil).client
        let attempts: [() async throws -> Void] = [
            { _ = try await client.execute(Query<Message>()) },
            { _ = try await client.identifiers(Query<Conversation>()) },
            { _ = try await client.count(Query<Identity>()) },
            { _ = try await client.queryController(Query<Announcement>()) },
        ]
        for attempt in attempts {
            #expect(await errorCode { try await attempt() } == .notAuthenticated)
        }
    }

    @Test("a conversation moves when its last message changes", .proves("QC-4", "QC-1"))
    func moves() async throws {
        for number in 1...3 { try await add(number, at: number) }
        let controller = try await user.client.queryController(
            Query<Conversation>(sortBy: [.descending(\.lastMessage.sentAt)]))
        try await controller.execute()
        let (objects, updates) = await controller.observe()
        #expect(objects.map(\.label) == ["3", "2", "1"])
        var iterator = updates.makeAsyncIterator()
        try await user.apply(WireJSON.created(message(9, in: 1, at: 9)))
        #expect(await iterator.next()?.lines == ["update 1 2", "move 1 2 0"])
        #expect(await controller.objects.map(\.label) == ["1", "3", "2"])
    }

    private func add(_ number: Int, at minute: Int) async throws {
        try await user.apply(
            WireJSON.created(WireJSON.conversation(Example.conversation(number))),
            WireJSON.created(message(number, in: number, at: minute)))
    }

    private func message(_ number: Int, in conversation: Int, at minute: Int) -> JSONValue {
        var message = WireJSON.message(
            Example.message(number), in: Example.conversation(conversation), at: Int64(number) + 1)
        message["sent_at"] = .string("2018-05-04T09:0\(minute):00.000Z")
        return message
    }
}
