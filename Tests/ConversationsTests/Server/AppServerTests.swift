// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf
import Testing

@testable import Conversations

extension StoreTests {
    /// Changes that an app's own server makes in its own name. They use the same functions, log and positions as a
    /// client's changes.
    @Suite struct AppServerTests {
        private let server = ""

        @Test(
            "a conversation without a creator is visible to its participants at once, and a distinct one is found again"
        )
        func create() async throws {
            try await CallsFixture.run { calls in
                let created = try await calls.create(
                    ["ben", "ana"], by: server, distinct: true, metadata: ["topic": "lunch"])
                #expect(
                    created.isNew && created.view.conversation.participants.map(\.userID.rawValue) == ["ana", "ben"])
                #expect(created.view.conversation.position == Position(1))
                let change = try #require(try calls.publishedChanges(of: created.id).first)
                #expect(change.actor == nil)
                #expect(try await calls.readChanges(created.id).changes == [change.withoutTree])
                for user in ["ana", "ben"] {
                    #expect(try calls.notices(user) == [.added(created.id, position: Position(1))])
                    #expect(try await calls.list(as: user).views.map(\.conversation.id) == [created.id])
                }
                // A user's creation with the same participants finds it, and vice versa.
                #expect(try await calls.create(["ben"], by: "ana", distinct: true).isNew == false)
                let again = try await calls.create(["ana", "ben"], by: server, distinct: true)
                #expect(again.id == created.id && !again.isNew && again.view.lastMessage == nil)
                let conflict = try await calls.refusal {
                    try await calls.create(["ana", "ben"], by: server, distinct: true, metadata: ["topic": "x"])
                }
                #expect(conflict?.code == .conflict)
                let taken = try await calls.refusal { try await calls.create(["cleo"], by: server, id: created.id) }
                #expect(taken?.code == .idInUse)
                if case .conversation(let view)? = taken?.detail {
                    #expect(view.conversation.id == created.id)
                } else {
                    Issue.record("no conversation")
                }
            }
        }

        @Test("a message with a sender name is unread for all, shows the name to all, and has no user as its actor")
        func named() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ana", "ben"], by: server).id
                let message = try await calls.sendByServer(id, name: "Concierge", "Welcome")
                #expect(message.sender == .name("Concierge") && message.position == Position(2))
                #expect(message.recipients.map(\.status) == [.sent, .sent])
                let change = try #require(try calls.publishedChanges(of: id).last)
                #expect(
                    change.actor == nil && change.counts.isEmpty
                        && change.content == .messageCreated(id: message.id, ordinal: 1, message))
                #expect(try await calls.readChanges(id, after: Position(1)).changes == [change])
                for user in ["ana", "ben"] {
                    #expect(try await calls.message(message.id, as: user) == message)
                    let view = try await calls.get(id, as: user)
                    #expect(view.lastMessage == message && view.unreadCount == 1)
                    #expect(try await calls.readLogs(as: user, [id: Position(1)]).changes == [change])
                }
                // The receipt goes to all participants, because there is no sender to restrict it to.
                try await calls.receipt(.read, message.id, by: "ana")
                #expect(
                    try calls.publishedChanges(of: id).last?.content
                        == .receipts([
                            .init(
                                user: UserID(trusted: "ana"), messageID: message.id, ordinal: 1, status: .read,
                                sender: nil)
                        ]))
                #expect(try await calls.get(id, as: "ana").unreadCount == 0)
                try await calls.markAllRead(id, by: "ben")
                #expect(try await calls.get(id, as: "ben").unreadCount == 0)
            }
        }

        @Test(
            "a user must be a participant to send on their behalf, a bot need not; a sender without an identity is unknown"
        )
        func senders() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ana", "ben"], by: server).id
                let own = try await calls.sendByServer(id, by: "ana", "for ana")
                #expect(own.sender.userID?.rawValue == "ana" && own.status(of: UserID(trusted: "ana")) == .read)
                #expect(try calls.publishedChanges(of: id).last?.actor?.rawValue == "ana")
                #expect(try await calls.get(id, as: "ana").unreadCount == 0)

                try await calls.bot("robo")
                let bots = try await calls.sendByServer(id, by: "robo", "beep")
                #expect(bots.sender == .user(BasicIdentity(userID: UserID(trusted: "robo"), displayName: "Bot")))
                #expect(
                    bots.recipients.map(\.userID.rawValue) == ["ana", "ben"]
                        && bots.recipients.map(\.status) == [.sent, .sent])
                #expect(try await calls.get(id, as: "ana").unreadCount == 1)

                _ = try await calls.create(["eve"], by: server)
                #expect(try await calls.refusal { try await calls.sendByServer(id, by: "eve") }?.code == .accessDenied)
                try await calls.patch(id, by: server, [remove("ben")])
                #expect(try await calls.refusal { try await calls.sendByServer(id, by: "ben") }?.code == .accessDenied)
                let unknown = try await calls.refusal { try await calls.sendByServer(id, by: "who") }
                #expect(unknown?.code == .invalidProperty && unknown?.detail == .property("sender"))
                // A client that signs in as a bot has no such right.
                #expect(try await calls.refusal { try await calls.send(id, by: "robo") }?.code == .notFound)
            }
        }

        @Test("the server may send for a bot that has left, and the bot's earlier counts stay unchanged")
        func formerBot() async throws {
            try await CallsFixture.run { calls in
                try await calls.bot("robo")
                let id = try await calls.create(["ana", "robo"], by: server).id
                try await calls.sendByServer(id, by: "robo", "one")
                try await calls.patch(id, by: server, [remove("robo")])
                let before = try await calls.get(id, as: "robo")
                try await calls.sendByServer(id, by: "robo", "two")
                #expect(try await calls.get(id, as: "robo").counts == before.counts)
                #expect(try await calls.get(id, as: "ana").unreadCount == 2)
            }
        }

        @Test("a repeated id returns the same message in its conversation, and is in use in other conversations")
        func again() async throws {
            try await CallsFixture.run { calls in
                let (first, second) = (
                    try await calls.create(["ana"], by: server).id, try await calls.create(["ana"], by: server).id
                )
                let message = try await calls.sendByServer(first, name: "Concierge")
                for conversation in [first, second] {
                    let failure = try await calls.refusal {
                        try await calls.sendByServer(conversation, name: "Other", id: message.id)
                    }
                    #expect(failure?.code == .idInUse && failure?.detail == .message(message))
                }
                #expect(try await calls.messages(first).total == 1)
            }
        }

        @Test("the server sees all messages, in pages, regardless of one user's deletions")
        func reading() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ana", "ben"], by: server).id
                var sent: [StrataModel.Message] = []
                for number in 0..<5 { sent.append(try await calls.send(id, by: "ana", "\(number)")) }
                try await calls.delete(sent[1].id, by: "ben", .myDevices)
                try await calls.delete(sent[3].id, by: "ana", .allParticipants)
                let all = try await calls.messages(id, as: server)
                #expect(all.messages.map(\.id) == [sent[4].id, sent[2].id, sent[1].id, sent[0].id] && all.total == 4)
                #expect(all.messages[2] == sent[1])
                let page = try await calls.messages(id, as: server, pageSize: 2)
                #expect(page.messages.map(\.id) == [sent[4].id, sent[2].id])
                #expect(
                    try await calls.messages(id, as: server, pageSize: 2, from: sent[2].id).messages.map(\.id) == [
                        sent[1].id, sent[0].id,
                    ])
                #expect(
                    try await calls.refusal { try await calls.messages(id, as: server, from: .random()) }?.code
                        == .notFound)
                #expect(try await calls.message(sent[1].id, as: server) == sent[1])
                #expect(try await calls.refusal { try await calls.message(sent[3].id, as: server) }?.code == .notFound)
                #expect(
                    try await calls.with(app: .random())
                        .refusal { try await calls.with(app: .random()).get(id, as: server) }?
                        .code == .notFound)
                #expect(try await calls.get(id, as: server).messageCount == 5)
            }
        }

        @Test("the server changes participants and metadata without an actor; the last participant stays")
        func patch() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ana", "ben"], by: server, distinct: true).id
                let changes = try await calls.patch(
                    id, by: server, [add("cleo"), remove("ben"), add("ana")], metadata: [set("a.b", "1")])
                #expect(changes.map(\.actor) == [nil, nil] && changes.map(\.position.rawValue) == [2, 3])
                #expect(try await calls.get(id, as: "cleo").conversation.isDistinct == false)
                #expect(try await calls.get(id, as: "ben").isParticipant == false)
                #expect(try await calls.patch(id, by: server, [add("ana"), remove("eve")]).isEmpty)
                let empty = try await calls.refusal { try await calls.patch(id, by: server, [replace([])]) }
                #expect(empty?.code == .invalidProperty && empty?.detail == .property("participants"))
                let many = try await calls.refusal {
                    try await calls.patch(id, by: server, [replace((0..<7).map { "u\($0)" })])
                }
                #expect(many?.code == .invalidProperty)
                #expect(
                    try await calls.refusal { try await calls.patch(.random(), by: server, [add("x")]) }?.code
                        == .notFound)
                #expect(
                    try await calls.get(id, as: server).conversation.participants.map(\.userID.rawValue) == [
                        "ana", "cleo",
                    ])
            }
        }

        @Test("a server deletion applies to all users; later requests report that the conversation was deleted")
        func delete() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ana", "ben"], by: server).id
                let message = try await calls.sendByServer(id, name: "Concierge")
                try await calls.delete(id, by: server, .allParticipants)
                #expect(
                    try calls.publishedChanges(of: id).last?.content == .conversationDeleted
                        && calls.publishedChanges(of: id).last?.actor == nil)
                for user in ["ana", "ben"] {
                    #expect(try await calls.refusal { try await calls.get(id, as: user) }?.code == .notFound)
                }
                let asked: [() async throws -> Void] = [
                    { _ = try await calls.get(id, as: server) }, { _ = try await calls.messages(id, as: server) },
                    { try await calls.delete(id, by: server, .allParticipants) },
                    { _ = try await calls.patch(id, by: server, [add("x")]) },
                    { _ = try await calls.sendByServer(id, name: "Concierge") },
                    { try await calls.delay(id, name: "Concierge", milliseconds: 1000) },
                ]
                for ask in asked { #expect(try await calls.refusal(ask)?.code == .objectDeleted) }
                #expect(try await calls.refusal { try await calls.message(message.id, as: server) }?.code == .notFound)
                #expect(
                    try await calls.refusal {
                        try await calls.delete(.random() as ConversationID, by: server, .allParticipants)
                    }?
                    .code == .notFound)
            }
        }

        @Test("the server deletes and changes messages of every sender, only under the conversation they belong to")
        func messages() async throws {
            try await CallsFixture.run { calls in
                let (id, other) = (
                    try await calls.create(["ana", "ben"], by: server).id,
                    try await calls.create(["ana"], by: server).id
                )
                let (first, second) = (
                    try await calls.send(id, by: "ana", "one"),
                    try await calls.sendByServer(id, name: "Concierge", "two")
                )
                for (message, conversation) in [(first, other), (first, id), (second, id)] {
                    let edit = try await calls.refusal {
                        try await calls.call(ConversationsAPI.editParts) {
                            $0.appID = Data(calls.app)
                            $0.messageID = Data(message.id)
                            $0.conversationID = Data(conversation)
                            $0.add = ProtoMessagePart(.text("more"))
                        }
                    }
                    #expect(edit?.code == (conversation == id ? nil : .notFound))
                }
                #expect(try await calls.message(first.id, as: "ben").parts.map(\.body) == ["one", "more"])
                #expect(try calls.publishedChanges(of: id).last?.actor == nil)
                func remove(_ message: MessageID, in conversation: ConversationID) async throws -> Failure? {
                    try await calls.refusal {
                        try await calls.call(ConversationsAPI.deleteMessage) {
                            $0.appID = Data(calls.app)
                            $0.messageID = Data(message)
                            $0.conversationID = Data(conversation)
                            $0.mode = "all_participants"
                        }
                    }
                }
                #expect(try await remove(second.id, in: other)?.code == .notFound)
                #expect(try await remove(second.id, in: id) == nil)
                #expect(try await remove(second.id, in: id)?.code == .notFound)
                #expect(try await calls.get(id, as: "ben").lastMessage?.id == first.id)
                #expect(try await calls.get(id, as: "ben").unreadCount == 1)
            }
        }

        @Test("content that the server uploads belongs to one conversation, whose messages may reuse it")
        func content() async throws {
            try await CallsFixture.run { calls in
                let (id, other) = (
                    try await calls.create(["ana", "ben"], by: server).id,
                    try await calls.create(["ana"], by: server).id
                )
                let content = ContentID.random()
                func create(in conversation: ConversationID) async throws {
                    _ = try await calls.call(AccountAPI.createContent) {
                        $0.appID = Data(calls.app)
                        $0.id = Data(content)
                        $0.mimeType = "image/png"
                        $0.size = 10
                        $0.conversationID = Data(conversation)
                    }
                }
                #expect(try await calls.refusal { try await create(in: .random()) }?.code == .notFound)
                try await create(in: id)
                let parts = [ProtoMessagePart(.content(content))]
                let early = try await calls.refusal {
                    try await calls.sendByServer(id, name: "Concierge", parts: parts)
                }
                #expect(early?.detail == .property("parts.0.content"))
                _ = try await calls.call(AccountAPI.finishContent) { $0.contentID = Data(content) }
                let elsewhere = try await calls.refusal {
                    try await calls.sendByServer(other, name: "Concierge", parts: parts)
                }
                #expect(elsewhere?.detail == .property("parts.0.content"))
                let message = try await calls.sendByServer(id, by: "ana", parts: parts)
                #expect(message.parts.first?.size == 10)
                try await calls.sendByServer(id, name: "Concierge", parts: parts)
                #expect(try await calls.canSee(content, "ben"))
                #expect(try await calls.canSee(content, "cleo") == false)
                func found(in conversation: ConversationID) async throws -> Failure? {
                    try await calls.refusal {
                        try await calls.call(AccountAPI.getContent) {
                            $0.appID = Data(calls.app)
                            $0.contentID = Data(content)
                            $0.conversationID = Data(conversation)
                        }
                    }
                }
                #expect(try await found(in: id) == nil)
                #expect(try await found(in: other)?.code == .notFound)
            }
        }

        @Test("a content size from the server must equal the upload's size; a size from a client is ignored")
        func statedSize() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ana", "ben"], by: server).id
                let content = try await calls.content()
                func part(_ size: Int?) -> MessagePart {
                    MessagePart(
                        id: UUID(), mimeType: "image/png", body: nil, size: 0, contentID: content, statedSize: size)
                }
                let first = try await calls.send(id, by: "ana", parts: [.text("look"), part(11)])
                #expect(first.parts[1].size == 10 && first.parts[1].statedSize == nil)
                #expect(try await calls.message(first.id, as: "ben") == first)

                for size in [0, 9, 11, -1] {
                    let parts = [ProtoMessagePart(.text("look")), ProtoMessagePart(part(size))]
                    let refused = try await calls.refusal { try await calls.sendByServer(id, by: "ana", parts: parts) }
                    #expect(refused?.code == .invalidProperty && refused?.detail == .property("parts.1.content"))
                    let delayed = try await calls.refusal {
                        try await calls.delay(id, by: "ana", milliseconds: 1000, parts: parts)
                    }
                    #expect(delayed?.detail == .property("parts.1.content"))
                    let edited = try await calls.refusal { try await calls.edit(first.id, by: server, .add(parts[1])) }
                    #expect(edited?.detail == .property("parts.2.content"))
                }
                #expect(try await calls.get(id, as: server).messageCount == 1)
                #expect(try await calls.message(first.id, as: "ben") == first)

                for size in [nil, 10] {
                    let sent = try await calls.sendByServer(id, by: "ana", parts: [ProtoMessagePart(part(size))])
                    #expect(sent.parts[0].size == 10 && sent.parts[0].statedSize == nil)
                }
                #expect(
                    try await calls.edit(first.id, by: server, .add(ProtoMessagePart(part(10)))).parts[2].size == 10)
            }
        }
    }
}
