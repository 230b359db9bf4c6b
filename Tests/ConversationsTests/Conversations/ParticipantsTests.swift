// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct ParticipantsTests {
        private func names(_ view: ConversationView) -> [String] {
            view.conversation.participants.map(\.userID.rawValue)
        }

        @Test("a patch that adds, removes and replaces participants is one change that lists its operations")
        func operations() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ben"], distinct: true).id
                let origin = Change.Origin(connection: 9, request: 3)
                let changes = try await calls.patch(
                    id, [add("dora"), add("cleo"), remove("ben"), add("ana")], origin: origin)
                guard
                    case .participantsChanged(let added, let removed, true, let conversation?) = try #require(
                        changes.first
                    )
                    .content
                else {
                    Issue.record("not a change of participants: \(changes)")
                    return
                }
                #expect(added.map(\.userID.rawValue) == ["cleo", "dora"] && removed.map(\.rawValue) == ["ben"])
                #expect(changes.map(\.position) == [Position(2)] && changes.first?.origin == origin)
                #expect(
                    conversation.participants.map(\.userID.rawValue) == ["ana", "cleo", "dora"]
                        && !conversation.isDistinct)
                #expect(try calls.publishedChanges(of: id).last == changes.first)
                #expect(try await calls.readChanges(id).changes.last == changes.first?.withoutCounts)
                #expect(try calls.notices("dora") == [.added(id, position: Position(2))])
                #expect(names(try await calls.get(id)) == ["ana", "cleo", "dora"])

                let replaced = try await calls.patch(id, by: "dora", [replace(["ben", "ana", "ben"])])
                guard case .participantsChanged(let back, let gone, false, _) = try #require(replaced.first).content
                else {
                    Issue.record("not a change of participants: \(replaced)")
                    return
                }
                #expect(back.map(\.userID.rawValue) == ["ben"] && gone.map(\.rawValue) == ["cleo", "dora"])
                #expect(names(try await calls.get(id, as: "ben")) == ["ana", "ben"])
            }
        }

        @Test(
            "participant operations run in order; a patch without net effect makes no change and keeps the conversation distinct"
        )
        func withoutEffect() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ben"], distinct: true).id
                for operations in [
                    [add("ben")], [remove("cleo")], [add("cleo"), remove("cleo")], [replace(["ben", "ana"])], [],
                ] {
                    #expect(try await calls.patch(id, operations).isEmpty)
                }
                let view = try await calls.get(id)
                #expect(view.conversation.position == Position(1) && view.conversation.isDistinct)
                #expect(try calls.publishedChanges(of: id).count == 1)
            }
        }

        @Test("many operations equal their sequential execution; a patch that exceeds the participant limit is refused")
        func manyOperations() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let most = 4 * CallsFixture.participantsLimit + 1000
                let pairs = (0..<(most / 2 - 2)).flatMap { [add("user\($0)"), remove("user\($0)")] }
                // Two Unicode spellings of the same accented letter are two users.
                let some: [ParticipantOperation] = [add("\u{e9}"), remove("e\u{301}"), remove("ben"), add("cleo")]
                try await calls.patch(id, pairs + some)
                #expect(names(try await calls.get(id)) == ["ana", "cleo", "\u{e9}"])
                try await calls.patch(id, [remove("ana"), replace(["ana", "ben"]), add("cleo"), remove("ben")])
                #expect(names(try await calls.get(id)) == ["ana", "cleo"])
                let refusal = try await calls.refusal { try await calls.patch(id, pairs + some + [remove("x")]) }
                #expect(refusal?.code == .invalidProperty && refusal?.detail == .property("participants"))
                let far = try await calls.refusal {
                    try await calls.patch(id, [replace(Array(repeating: "ben", count: most + 1))])
                }
                #expect(far?.detail == .property("participants"))
                #expect(names(try await calls.get(id)) == ["ana", "cleo"])
            }
        }

        @Test("a participant who removes themselves loses all rights; even the last participant may leave")
        func oneself() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                try await calls.patch(id, by: "ben", [remove("ben")])
                #expect(
                    try await calls.refusal { try await calls.patch(id, by: "ben", [add("ben")]) }?.code
                        == .accessDenied)
                #expect(
                    try await calls.refusal { try await calls.patch(id, by: "eve", [add("eve")]) }?.code == .notFound)
                try await calls.patch(id, [remove("ana")])
                #expect(try await calls.get(id).conversation.position == Position(3))
                #expect(try await calls.readChanges(id, users: ["ana", "ben"]).counts.isEmpty)
            }
        }

        @Test("removed participants keep their history and see nothing later")
        func removed() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"], metadata: ["t": "1"])
                let first = try await calls.send(id, by: "ana", "one")
                let second = try await calls.send(id, by: "ana", "two")
                try await calls.receipt(.read, first.id, by: "ben")
                try await calls.patch(id, [remove("ben")])
                let third = try await calls.send(id, by: "ana", "three")
                try await calls.patch(id, [add("cleo")], metadata: [set("t", "2")])

                let view = try await calls.get(id, as: "ben")
                #expect(
                    !view.isParticipant && view.conversation.participants.isEmpty
                        && view.conversation.position == Position(5))
                #expect(view.totalCount == 2 && view.unreadCount == 1 && view.lastMessage?.id == second.id)
                let messages = try await calls.messages(id, as: "ben")
                #expect(messages.total == 2 && messages.messages.map(\.id) == [second.id, first.id])
                #expect(try await calls.message(first.id, as: "ben").status(of: UserID(trusted: "ben")) == .read)
                #expect(try await calls.refusal { try await calls.message(third.id, as: "ben") }?.code == .notFound)
                // A cursor does not disclose to Ben that a later message exists. An older message does not disclose who
                // joined later.
                #expect(
                    try await calls.refusal { try await calls.messages(id, as: "ben", from: third.id) }?.code
                        == .invalidProperty)
                #expect(
                    try await calls.message(first.id, as: "ben").recipients.map(\.userID.rawValue) == ["ana", "ben"])
                #expect(try await calls.keptTree(id, "ben") == ["t": "1"])
                let log = try await calls.readLogs(as: "ben", [id: .zero])
                #expect(log.positions == [1, 2, 3, 4, 5] && log.reachesHeads)
                #expect(
                    try await calls.message(third.id, as: "ana").recipients.map(\.userID.rawValue) == ["ana", "cleo"])
                #expect(
                    try await calls.message(first.id, as: "ana").recipients.map(\.userID.rawValue) == [
                        "ana", "ben", "cleo",
                    ])
            }
        }

        @Test("new participants see all messages, and existing messages count as read")
        func added() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let messages = [
                    try await calls.send(id, by: "ana"), try await calls.send(id, by: "ben"),
                    try await calls.send(id, by: "ana"),
                ]
                try await calls.delete(messages[1].id, by: "ana", .allParticipants)
                let changes = try await calls.patch(id, [add("cleo")])
                let view = try await calls.get(id, as: "cleo")
                #expect(view.unreadCount == 0 && view.totalCount == 2 && view.lastMessage?.id == messages[2].id)
                #expect(changes.first?.counts == [UserID(trusted: "cleo"): view.counts])
                #expect(
                    try await calls.messages(id, as: "cleo").messages.map(\.id) == [messages[2].id, messages[0].id])
                #expect(try await calls.message(messages[0].id, as: "ana").status(of: UserID(trusted: "cleo")) == .read)
                // Cleo's log begins with the addition of Cleo, which contains the conversation.
                let log = try await calls.readLogs(as: "cleo", [id: .zero])
                #expect(log.positions == [6])
                try await calls.send(id, by: "ben")
                #expect(try await calls.get(id, as: "cleo").unreadCount == 1)
            }
        }

        @Test("a re-added user sees everything as read, and so do other users")
        func addedAgain() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"], metadata: ["t": "1"])
                let before = try await calls.send(id, by: "ana")
                try await calls.patch(id, [remove("ben")])
                let (missed, deleted) = (try await calls.send(id, by: "ana"), try await calls.send(id, by: "ana"))
                try await calls.delete(deleted.id, by: "ana", .allParticipants)
                let changes = try await calls.patch(id, [add("ben")])
                let view = try await calls.get(id, as: "ben")
                #expect(
                    view.isParticipant && view.totalCount == 2 && view.unreadCount == 0
                        && view.lastMessage?.id == missed.id)
                #expect(changes.first?.counts == [UserID(trusted: "ben"): view.counts])
                #expect(try await calls.messages(id, as: "ben").messages.map(\.id) == [missed.id, before.id])
                #expect(try await calls.keptTree(id, "ben").isEmpty)
                for message in [before, missed] {
                    for user in ["ana", "ben"] {
                        #expect(
                            try await calls.message(message.id, as: user).status(of: UserID(trusted: "ben")) == .read)
                    }
                    // The receipt has no effect, because the message is already read.
                    try await calls.receipt(.read, message.id, by: "ben")
                }
                #expect(try await calls.get(id, as: "ben").conversation.position == view.conversation.position)
                try await calls.send(id, by: "ana")
                #expect(try await calls.get(id, as: "ben").unreadCount == 1)
            }
        }

        @Test("adding new or former participants reads no messages, and its counts are exact")
        func addedToLong() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                try await calls.fill(id, with: 1000)
                try await calls.delete(calls.bulkMessage(id, 1), by: "ana", .allParticipants)
                try await calls.delete(calls.bulkMessage(id, 2), by: "ben", .myDevices)
                try await calls.delete(calls.bulkMessage(id, 3), by: "ben", .myDevices)
                try await calls.patch(id, [remove("ben")])
                try await calls.fill(id, with: 1000)
                // Messages that the user has seen and hidden, has seen, and has missed.
                for ordinal in [2, 4, 1500] {
                    try await calls.delete(calls.bulkMessage(id, ordinal), by: "ana", .allParticipants)
                }
                #expect(try await calls.get(id, as: "ben").totalCount == 1000 - 4)
                let add = #"[{"kind":"add","users":["ben","cleo"]}]"#
                #expect(try await calls.messageRowsRead(by: calls.sqlPatch(id, by: "ana", participants: add)) == 0)
                for (user, hidden) in [("ana", 4), ("ben", 5), ("cleo", 4)] {
                    let view = try await calls.get(id, as: user)
                    #expect(view.totalCount == Int64(2000 - hidden), "\(user)")
                    #expect(user == "ana" || view.unreadCount == 0, "\(user)")
                }
                // Each further deletion counts once for each of them.
                try await calls.delete(calls.bulkMessage(id, 5), by: "ana", .allParticipants)
                for (user, hidden) in [("ana", 5), ("ben", 6), ("cleo", 5)] {
                    #expect(try await calls.get(id, as: user).totalCount == Int64(2000 - hidden), "\(user)")
                }
            }
        }

        @Test("participants and metadata in one patch are two changes in one transaction")
        func together() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let changes = try await calls.patch(id, [add("cleo")], metadata: [set("a", "1")])
                #expect(changes.map(\.position.rawValue) == [2, 3] && changes.last?.effects.descriptions == ["a=1"])
                #expect(try calls.publishedChanges(of: id).suffix(2) == changes[...])
                let failure = try await calls.refusal {
                    try await calls.patch(id, (0..<9).map { add("u\($0)") }, metadata: [set("a", "2")])
                }
                #expect(failure?.detail == .property("participants"))
                #expect(try await calls.tree(id) == ["a": "1"])
                // A user who leaves may still change metadata in the same patch.
                #expect(try await calls.patch(id, by: "ben", [remove("ben")], metadata: [set("a", "2")]).count == 2)
                #expect(try await calls.keptTree(id, "ben") == ["a": "1"])
                #expect(try await calls.readChanges(id).head == Position(5))
            }
        }
    }
}
