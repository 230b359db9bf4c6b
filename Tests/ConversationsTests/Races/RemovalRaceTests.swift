// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    /// A statement that waits for the conversation's lock is decided by the state committed meanwhile, not by the state
    /// when it began to wait.
    @Suite struct RemovalRaceTests {
        private let removal = #"[{"kind":"remove","users":["ben"]}]"#

        @Test("a send that waits for its sender's removal is refused without side effects")
        func sendBehindRemoval() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let message = MessageID.random()
                let failure = try await calls.holding(calls.sqlPatch(id, by: "ana", participants: removal)) {
                    try await calls.refusal { try await calls.send(id, by: "ben", id: message) }
                }
                #expect(failure?.code == .accessDenied)
                #expect(try await calls.readChanges(id).head == Position(2))
                #expect(try await calls.messages(id).total == 0)
                #expect(
                    try await calls.number(
                        "SELECT count(*) FROM conversations.message_place WHERE message_id = '\(message)'") == 0)
                // The position and the id are unused: the next message gets both.
                #expect(try await calls.send(id, by: "ana", id: message).position == Position(3))
            }
        }

        @Test("a removal that waits for a message has a later position, so the removed user keeps the message")
        func removalBehindSend() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let message = MessageID.random()
                let changes = try await calls.holding(calls.sqlSend(id, by: "ana", message)) {
                    try await calls.patch(id, [remove("ben")])
                }
                #expect(changes.map(\.position) == [Position(3)])
                let view = try await calls.get(id, as: "ben")
                #expect(view.lastMessage?.id == message && !view.isParticipant && view.totalCount == 1)
            }
        }

        @Test("every request of a participant that waits for their removal is refused")
        func everythingBehindRemoval() async throws {
            typealias Call = @Sendable (CallsFixture, ConversationID, MessageID) async throws -> Void
            let asked: [(String, Call)] = [
                ("patch of participants", { calls, id, _ in try await calls.patch(id, by: "ben", [add("cleo")]) }),
                (
                    "patch of metadata",
                    { calls, id, _ in try await calls.patch(id, by: "ben", metadata: [set("a", "1")]) }
                ),
                ("deletion for all", { calls, id, _ in try await calls.delete(id, by: "ben", .allParticipants) }),
                ("mark all read", { calls, id, _ in try await calls.markAllRead(id, by: "ben") }),
                ("receipt", { calls, _, message in try await calls.receipt(.read, message, by: "ben") }),
                (
                    "deletion of a message for all",
                    { calls, _, message in try await calls.delete(message, by: "ben", .allParticipants) }
                ),
            ]
            try await CallsFixture.run { calls in
                for (what, call) in asked {
                    let id = try await calls.conversation(["ben"])
                    let message = try await calls.send(id, by: "ana").id
                    let failure = try await calls.holding(calls.sqlPatch(id, by: "ana", participants: removal)) {
                        try await calls.refusal { try await call(calls, id, message) }
                    }
                    #expect(failure?.code == .accessDenied, "\(what)")
                    #expect(try await calls.readChanges(id).head == Position(3), "\(what)")
                }
            }
        }

        @Test("a send that waits for a deletion for all finds no conversation")
        func sendBehindDeletion() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let failure = try await calls.holding(calls.sqlDelete(id, by: "ana")) {
                    try await calls.refusal { try await calls.send(id, by: "ben") }
                }
                #expect(failure?.code == .notFound)
                #expect(try await calls.readChanges(id).head == Position(2))
            }
        }

        @Test(
            "during concurrent removals and sends, each stored message precedes its sender's removal, and other sends are refused"
        )
        func atOnce() async throws {
            try await CallsFixture.run { calls in
                for _ in 0..<10 {
                    let id = try await calls.conversation(["ben", "cleo"])
                    let sent = try await withThrowingTaskGroup(of: Position?.self) { group in
                        for _ in 0..<6 {
                            group.addTask {
                                var position: Position?
                                let failure = try await calls.refusal {
                                    position = try await calls.send(id, by: "ben").position
                                }
                                #expect(failure == nil || failure?.code == .accessDenied)
                                return position
                            }
                        }
                        group.addTask {
                            try await calls.otherInstance.patch(id, by: "cleo", [remove("ben")])
                            return nil
                        }
                        return try await group.reduce(into: [Position]()) { sent, position in
                            if let position { sent.append(position) }
                        }
                    }
                    let changes = try await calls.readChanges(id).changes
                    let removed = try #require(
                        changes.first { if case .participantsChanged = $0.content { true } else { false } })
                    #expect(sent.allSatisfy { $0 < removed.position })
                    #expect(changes.map(\.position.rawValue) == Array(1...Int64(sent.count + 2)))
                    let kept = try await calls.messages(id, as: "ben")
                    #expect(kept.total == Int64(sent.count) && kept.messages.count == sent.count)
                }
            }
        }
    }
}
