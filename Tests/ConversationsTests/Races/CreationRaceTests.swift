// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    /// Two creations can meet at the set of participants and at the id chosen by the client.
    @Suite struct CreationRaceTests {
        /// The answer to the creator of a conversation.
        enum Answer: Equatable {
            case created(ConversationID)
            case found(ConversationID)
            case conflict(ConversationID)
            case taken(ConversationID?)

            var id: ConversationID? {
                switch self {
                case .created(let id), .found(let id), .conflict(let id): id
                case .taken(let id): id
                }
            }
        }

        private func create(
            _ calls: CallsFixture, _ participants: [String], by actor: String, id: ConversationID = .random(),
            distinct: Bool = true,
            metadata: [String: String]? = nil
        ) async throws -> Answer {
            do {
                let created = try await calls.create(
                    participants, by: actor, id: id, distinct: distinct, metadata: metadata)
                return created.isNew ? .created(created.id) : .found(created.id)
            } catch let failure as Failure {
                let existing: ConversationID? =
                    if case .conversation(let view) = failure.detail { view.conversation.id } else { nil }
                switch (failure.code, existing) {
                case (.conflict, let existing?): return .conflict(existing)
                case (.idInUse, _): return .taken(existing)
                default: throw failure
                }
            }
        }

        @Test(
            "one of two concurrent distinct creations succeeds; the other returns its conversation, or a conflict for other metadata",
            arguments: [
                (nil, nil), (["t": "1"], ["t": "1"]), (["t": "1"], nil), (["t": "1"], ["t": "2"]), ([:], ["t": "2"]),
            ]
                as [([String: String]?, [String: String]?)])
        func distinct(_ first: [String: String]?, _ second: [String: String]?) async throws {
            try await CallsFixture.run { calls in
                for round in 0..<8 {
                    let friend = "ben\(round)"
                    async let one = create(calls, [friend], by: "ana", metadata: first)
                    async let other = create(calls.otherInstance, ["ana"], by: friend, metadata: second)
                    let answers = try await [one, other]
                    #expect(answers[0].id == answers[1].id)
                    let winner = try #require(answers.firstIndex { if case .created = $0 { true } else { false } })
                    let id = try #require(answers[winner].id)
                    let (won, lost) = winner == 0 ? (first, second) : (second, first)
                    #expect(answers[1 - winner] == (lost == nil || lost == won ?? [:] ? .found(id) : .conflict(id)))
                    #expect(try await calls.tree(id) == won ?? [:])
                    #expect(try await calls.readChanges(id).head == Position(1))
                    #expect(try await calls.list(as: friend).total == 1)
                }
                #expect(try await calls.list().total == 8)
            }
        }

        @Test(
            "a creation that waits for a concurrent creation of the same set returns its conversation",
            arguments: [true, false])
        func waiting(equal: Bool) async throws {
            try await CallsFixture.run { calls in
                let id = ConversationID.random()
                let answer = try await calls.holding(calls.sqlCreate(["ben"], by: "ana", id: id, metadata: ["t": "1"]))
                {
                    try await create(calls, ["ana"], by: "ben", metadata: ["t": equal ? "1" : "2"])
                }
                #expect(answer == (equal ? .found(id) : .conflict(id)))
            }
        }

        @Test(
            "a creation makes a new conversation if its match becomes non-distinct or is deleted while it waits",
            arguments: [true, false],
            [true, false])
        func matchVanishes(deleted: Bool, isEarly: Bool) async throws {
            try await CallsFixture.run { calls in
                let old = try await calls.create(["ben"], distinct: true).id
                let statement =
                    deleted
                    ? calls.sqlDelete(old, by: "ana")
                    : calls.sqlPatch(old, by: "ana", participants: #"[{"kind":"add","users":["cleo"]}]"#)
                let new = ConversationID.random()
                // The creation waits for the key of the set, or, if that is not yet being released, for the
                // conversation.
                let answer = try await calls.holding(
                    isEarly ? statement : calls.sqlLock(old), then: isEarly ? nil : statement
                ) {
                    try await create(calls, ["ana"], by: "ben", id: new)
                }
                #expect(answer == .created(new))
                #expect(try await create(calls, ["ben"], by: "ana") == .found(new))
            }
        }

        @Test(
            "concurrent repeats of one creation create one conversation, also for a distinct set",
            arguments: [true, false])
        func repeated(distinct: Bool) async throws {
            try await CallsFixture.run { calls in
                for _ in 0..<8 {
                    let id = ConversationID.random()
                    let friend = "ben\(id)"
                    let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
                        for index in 0..<5 {
                            let instance = index % 2 == 0 ? calls : calls.otherInstance
                            group.addTask {
                                try await create(instance, [friend], by: "ana", id: id, distinct: distinct)
                            }
                        }
                        return try await group.reduce(into: []) { $0.append($1) }
                    }
                    #expect(answers.count { $0 == .created(id) } == 1)
                    #expect(answers.count { $0 == .taken(id) } == 4)
                    #expect(try calls.publishedChanges(of: id).count == 1)
                }
            }
        }

        @Test("a creation repeated by id returns the current conversation, for any request body")
        func repeatedLater() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ben"], distinct: true, metadata: ["t": "1"]).id
                let message = try await calls.send(id, by: "ben")
                try await calls.patch(id, [add("cleo")], metadata: [set("t", "2")])
                let heard = try calls.publishedChanges(of: id).count
                for participants in [["ben"], ["dora"], (0..<9).map { "user\($0)" }] {
                    let failure = try await calls.refusal {
                        try await calls.create(participants, id: id, distinct: true, metadata: ["t": "1"])
                    }
                    #expect(failure?.code == .idInUse)
                    guard case .conversation(let view) = failure?.detail else {
                        Issue.record("no conversation in \(String(describing: failure?.detail))")
                        continue
                    }
                    #expect(
                        view.conversation.id == id && view.lastMessage?.id == message.id
                            && view.conversation.position == Position(4))
                    #expect(view.conversation.participants.map(\.userID.rawValue) == ["ana", "ben", "cleo"])
                }
                #expect(try await calls.readChanges(id).head == Position(4))
                #expect(try calls.publishedChanges(of: id).count == heard)
            }
        }

        @Test(
            "a creation repeated by id after deletion, by a non-participant or for another app reports only an id in use"
        )
        func repeatedByStranger() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                #expect(try await create(calls, ["ben"], by: "eve", id: id) == .taken(nil))
                #expect(try await create(calls.with(app: .random()), ["ben"], by: "ana", id: id) == .taken(nil))
                #expect(try await calls.refusal { try await calls.get(id, as: "eve") }?.code == .notFound)
                try await calls.patch(id, [remove("ben")])
                #expect(try await create(calls, [], by: "ben", id: id) == .taken(id))
                try await calls.delete(id, .allParticipants)
                #expect(try await create(calls, ["ben"], by: "ana", id: id) == .taken(nil))
                #expect(try await calls.list(as: "eve").total == 0)
            }
        }
    }
}
