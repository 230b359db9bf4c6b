// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct CreationTests {
        @Test("a creation adds its caller and each named user once, and notifies each of them")
        func new() async throws {
            try await CallsFixture.run { calls in
                let origin = Change.Origin(connection: .max, request: 7)
                let id = ConversationID.random()
                let created = try await calls.create(
                    ["zoe", "ben", "ben", "ana"], id: id, metadata: ["a.b": "1", "c": "2"], origin: origin)
                let conversation = created.view.conversation
                #expect(
                    created.isNew && created.id == id && !conversation.isDistinct
                        && conversation.position == Position(1))
                #expect(conversation.participants.map(\.userID.rawValue) == ["ana", "ben", "zoe"])
                #expect(conversation.metadata?.flat == ["a.b": "1", "c": "2"])
                #expect(try await calls.tree(id) == ["a.b": "1", "c": "2"])
                #expect(created.view.isParticipant && created.view.lastMessage == nil)
                #expect(created.view.unreadCount == 0 && created.view.totalCount == 0)
                let change = Change(
                    appID: calls.app, conversationID: id, position: Position(1),
                    createdAt: try #require(try calls.publishedChanges(of: id).first).createdAt,
                    actor: UserID(trusted: "ana"), origin: origin, messageCount: 0, counts: [:],
                    content: .conversationCreated(conversation))
                #expect(try calls.publishedChanges(of: id) == [change])
                #expect(try await calls.readChanges(id).changes == [change.withoutTree])
                for user in ["ana", "ben", "zoe"] {
                    #expect(try calls.notices(user) == [.added(id, position: Position(1))])
                    #expect(try await calls.get(id, as: user).conversation.participants == conversation.participants)
                }
            }
        }

        @Test("a non-distinct creation always makes a new conversation, even with the caller alone")
        func notDistinct() async throws {
            try await CallsFixture.run { calls in
                let first = try await calls.create(["ben"])
                let second = try await calls.create(["ben"])
                let alone = try await calls.create([])
                #expect(first.isNew && second.isNew && alone.isNew && first.id != second.id)
                #expect(alone.view.conversation.participants.map(\.userID.rawValue) == ["ana"])
                #expect(try await calls.create(["ben"], distinct: true).isNew)
                #expect(try await calls.list().total == 4)
            }
        }

        @Test(
            "every caller finds a distinct match for any spelling of the set, with its last message and without an announcement"
        )
        func found() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ben", "cleo"], distinct: true, metadata: ["t": "1"]).id
                let message = try await calls.send(id, by: "ben")
                let published = calls.published.all.count
                for (actor, others) in [
                    ("ana", ["cleo", "ben"]), ("ben", ["ana", "cleo", "ana"]), ("cleo", ["ana", "ben", "cleo"]),
                ] {
                    for metadata in [nil, ["t": "1"]] {
                        let found = try await calls.create(others, by: actor, distinct: true, metadata: metadata)
                        #expect(
                            !found.isNew && found.id == id && found.view.lastMessage?.id == message.id
                                && found.view.conversation.isDistinct)
                    }
                }
                #expect(calls.published.all.count == published)
                #expect(try await calls.readChanges(id).head == Position(2))
            }
        }

        @Test("a distinct match with different metadata is a conflict that names the match")
        func conflict() async throws {
            try await CallsFixture.run { calls in
                let with = try await calls.create(["ben"], distinct: true, metadata: ["t": "1", "u.v": "2"]).id
                let without = try await calls.create(["cleo"], distinct: true).id
                let others: [(String, ConversationID, [String: String])] = [
                    ("ben", with, [:]), ("ben", with, ["t": "1"]), ("ben", with, ["t": "1", "u.v": "3"]),
                    ("ben", with, ["t": "1", "u.v": "2", "w": ""]), ("cleo", without, ["t": "1"]),
                ]
                for (friend, id, metadata) in others {
                    let failure = try await calls.refusal {
                        try await calls.create([friend], distinct: true, metadata: metadata)
                    }
                    #expect(failure?.code == .conflict)
                    guard case .conversation(let view) = failure?.detail else {
                        Issue.record("no conversation for \(metadata)")
                        continue
                    }
                    #expect(view.conversation.id == id)
                }
                #expect(try await calls.create(["ben"], distinct: true, metadata: ["u.v": "2", "t": "1"]).id == with)
                #expect(try await calls.create(["cleo"], distinct: true, metadata: [:]).id == without)
                // The current metadata is compared.
                try await calls.patch(without, metadata: [set("t", "1")])
                #expect(try await calls.create(["cleo"], distinct: true, metadata: ["t": "1"]).id == without)
            }
        }

        @Test("a conversation with other participants, of another app, changed or deleted for all is no distinct match")
        func noMatch() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ben", "cleo"], distinct: true).id
                #expect(try await calls.create(["ben"], distinct: true).isNew)
                #expect(try await calls.create(["ben", "cleo", "dora"], distinct: true).isNew)
                #expect(try await calls.with(app: .random()).create(["ben", "cleo"], distinct: true).isNew)
                // A change of participants permanently ends distinctness, even if the same participants are restored.
                try await calls.patch(id, [add("eve")])
                #expect(try await !calls.get(id).conversation.isDistinct)
                try await calls.patch(id, [remove("eve")])
                let second = try await calls.create(["ben", "cleo"], distinct: true)
                #expect(second.isNew && second.id != id)
                try await calls.delete(second.id, .allParticipants)
                #expect(try await calls.create(["ben", "cleo"], distinct: true).isNew)
            }
        }

        @Test("a distinct match that its caller had deleted reappears empty, and the caller's devices are notified")
        func shownAgain() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ben"], distinct: true).id
                try await calls.send(id, by: "ben")
                try await calls.delete(id, by: "ana", .myDevices)
                #expect(try await calls.list().total == 0)
                let found = try await calls.create(["ben"], distinct: true)
                #expect(
                    !found.isNew && found.id == id && found.view.lastMessage == nil && found.view.totalCount == 0
                        && found.view.unreadCount == 0)
                #expect(try await calls.list().total == 1)
                guard case .change(let change)? = try calls.notices("ana").last,
                    case .conversationShown(let view?) = change.content
                else {
                    Issue.record("no notice in \(try calls.notices("ana"))")
                    return
                }
                #expect(change.position == Position(2) && view.conversation.id == id)
                let published = calls.published.all.count
                #expect(try await calls.create(["ben"], distinct: true).id == id)
                #expect(calls.published.all.count == published)
                #expect(try await calls.get(id, as: "ben").totalCount == 1)
            }
        }

        @Test("the participant limit includes the caller, and a refused creation stores nothing")
        func limit() async throws {
            try await CallsFixture.run { calls in
                let id = ConversationID.random()
                let others = (1..<CallsFixture.participantsLimit).map { "user\($0)" }
                let failure = try await calls.refusal {
                    try await calls.create(others + ["ben"], id: id, distinct: true)
                }
                #expect(failure?.code == .invalidProperty && failure?.detail == .property("participants"))
                #expect(
                    try await calls.refusal { try await calls.create([""], id: id) }?.detail
                        == .property("participants"))
                #expect(try await calls.refusal { try await calls.get(id) }?.code == .notFound)
                #expect(calls.published.all.isEmpty)
                #expect(try await calls.create(others + ["ana"], id: id, distinct: true).isNew)
            }
        }
    }
}
