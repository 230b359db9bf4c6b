// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct SendTests {
        @Test(
            "a message has the next position and ordinal and all participants as recipients; its announcement equals its answer"
        )
        func send() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo"])
                let origin = Change.Origin(connection: 5, request: 6)
                let first = try await calls.send(id, by: "ben", "one", notification: #"{"title":"x"}"#, origin: origin)
                #expect(first.position == Position(2) && first.ordinal == 1 && first.sender.userID?.rawValue == "ben")
                #expect(first.recipients.map(\.userID.rawValue) == ["ana", "ben", "cleo"])
                #expect(first.recipients.map(\.status) == [.sent, .read, .sent])
                let second = try await calls.send(id, by: "ana", "two")
                #expect(second.position == Position(3) && second.ordinal == 2 && second.sentAt >= first.sentAt)
                let change = try #require(try calls.publishedChanges(of: id).dropFirst().first)
                #expect(change.content == .messageCreated(id: first.id, ordinal: 1, first))
                #expect(change.origin == origin && change.messageCount == 1 && change.createdAt == first.sentAt)
                #expect(
                    change.counts == [UserID(trusted: "ben"): UserCounts(excluded: 1, hidden: 0, position: Position(2))]
                )
                #expect(try await calls.readChanges(id, after: Position(1), limit: 1).changes == [change.withoutCounts])
                for user in ["ana", "ben", "cleo"] { #expect(try await calls.message(first.id, as: user) == first) }
                #expect(try await calls.get(id, as: "cleo").lastMessage == second)
                #expect(try await calls.get(id, as: "cleo").unreadCount == 2)
                #expect(try await calls.get(id, as: "ben").unreadCount == 1)
            }
        }

        @Test("a repeated id returns the first message, for any body; other senders receive it only if they may see it")
        func again() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let other = try await calls.create(["cleo"], by: "ben").id
                let first = try await calls.send(id, by: "ana", "one")
                let repeats: [(ConversationID, String, String, Bool)] = [
                    (id, "ana", "one", true), (id, "ana", "other text", true), (id, "ben", "one", true),
                    (other, "ben", "one", true),
                    (other, "cleo", "one", false), (id, "eve", "one", false), (.random(), "ana", "one", true),
                    (.random(), "eve", "one", false),
                ]
                for (conversation, user, text, isSeen) in repeats {
                    let failure = try await calls.refusal {
                        try await calls.send(conversation, by: user, text, id: first.id)
                    }
                    #expect(failure?.code == .idInUse)
                    #expect(failure?.detail == (isSeen ? .message(first) : Failure.Detail.none), "\(user) \(text)")
                }
                let foreign = calls.with(app: .random())
                let theirs = try await foreign.conversation()
                #expect(
                    try await foreign.refusal { try await foreign.send(theirs, by: "ana", id: first.id) }?.detail
                        == Failure.Detail.none)
                #expect(try calls.publishedChanges(of: id).count == 2)
                #expect(try await calls.messages(id).messages == [first])
                #expect(try await calls.messages(other, as: "ben").total == 0)
            }
        }

        @Test("a retry finds its message after its sender has left; the id of a deleted message stays in use")
        func againLater() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let message = try await calls.send(id, by: "ben")
                try await calls.patch(id, [remove("ben")])
                guard
                    case .message(let found) = try await calls.refusal({
                        try await calls.send(id, by: "ben", id: message.id)
                    })?
                    .detail
                else {
                    Issue.record("no message")
                    return
                }
                #expect(found == message)
                try await calls.delete(message.id, by: "ana", .allParticipants)
                let failure = try await calls.refusal { try await calls.send(id, by: "ana", id: message.id) }
                #expect(failure?.code == .idInUse && failure?.detail == Failure.Detail.none)
            }
        }

        @Test("concurrent sends of one message, or of one id to two conversations, store one message")
        func atOnce() async throws {
            try await CallsFixture.run { calls in
                for _ in 0..<10 {
                    let (first, second) = (try await calls.conversation(), try await calls.conversation())
                    let id = MessageID.random()
                    let sent = try await withThrowingTaskGroup(of: StrataModel.Message?.self) { group in
                        for index in 0..<6 {
                            let calls = index < 3 ? calls : calls.otherInstance
                            group.addTask {
                                var message: StrataModel.Message?
                                let failure = try await calls.refusal {
                                    message = try await calls.send(index % 2 == 0 ? first : second, by: "ana", id: id)
                                }
                                #expect((failure?.code == .idInUse) == (message == nil))
                                return message
                            }
                        }
                        return try await group.reduce(into: [StrataModel.Message]()) { sent, message in
                            if let message { sent.append(message) }
                        }
                    }
                    #expect(sent.count == 1)
                    let heads = [
                        try await calls.readChanges(first).head.rawValue,
                        try await calls.readChanges(second).head.rawValue,
                    ]
                    #expect(heads.sorted() == [1, 2])
                    #expect(try await calls.message(id, as: "ana") == sent.first)
                }
            }
        }

        @Test("the service refuses a part that no gateway would send before it writes anything")
        func brokenPart() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let failure = try await calls.refusal {
                    try await calls.call(ConversationsAPI.sendMessage) {
                        $0.appID = Data(calls.app)
                        $0.actor = "ana"
                        $0.conversationID = Data(id)
                        $0.id = Data(MessageID.random())
                        $0.parts = [.with { $0.id = Data([1, 2]) }]
                    }
                }
                #expect(failure?.code == .internalServerError)
                #expect(try await calls.readChanges(id).head == Position(1))
            }
        }

        @Test("non-participants and other apps find no conversation to send to")
        func rights() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let other = calls.with(app: .random())
                #expect(try await calls.refusal { try await calls.send(id, by: "eve") }?.code == .notFound)
                #expect(try await other.refusal { try await other.send(id, by: "ana") }?.code == .notFound)
                #expect(try await calls.refusal { try await calls.send(.random(), by: "ana") }?.code == .notFound)
                #expect(try await calls.readChanges(id).head == Position(1))
            }
        }
    }
}
