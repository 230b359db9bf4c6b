// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    /// Positions have no gaps: only an effective change takes one.
    @Suite struct PositionTests {
        /// A value that passes all checks of the service and fails in the database.
        private static let unlucky = "unlucky"

        @Test("refused writes and writes without effect leave no gap in the positions")
        func refused() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo"])
                let first = try await calls.send(id, by: "ben")
                try await calls.patch(id, [remove("cleo")], metadata: [set("a", "1")])
                try await calls.receipt(.read, first.id, by: "ana")
                let head = try await calls.readChanges(id).head
                #expect(head == Position(5))
                try await calls.refuseInDatabase(Self.unlucky)
                let tooLong = String(repeating: "x", count: 2049)
                let refused: [(String, Failure.Code?, () async throws -> Void)] = [
                    ("send by a former participant", .accessDenied, { try await calls.send(id, by: "cleo") }),
                    ("send by a stranger", .notFound, { try await calls.send(id, by: "eve") }),
                    ("send with an id in use", .idInUse, { try await calls.send(id, by: "ana", id: first.id) }),
                    (
                        "too many participants", .invalidProperty,
                        { try await calls.patch(id, (0..<6).map { add("u\($0)") }, metadata: [set("b", "1")]) }
                    ),
                    ("adding one who is there", nil, { try await calls.patch(id, [add("ben")]) }),
                    ("removing one who is not", nil, { try await calls.patch(id, [remove("cleo")]) }),
                    ("setting what is", nil, { try await calls.patch(id, metadata: [set("a", "1")]) }),
                    (
                        "a value that is too long", .invalidProperty,
                        { try await calls.patch(id, [add("dora")], metadata: [set("b", tooLong)]) }
                    ),
                    (
                        "an error of the database", .internalServerError,
                        { try await calls.patch(id, [add("dora")], metadata: [set("b", Self.unlucky)]) }
                    ),
                    ("receipt without effect", nil, { try await calls.receipt(.delivery, first.id, by: "ana") }),
                    ("own receipt", nil, { try await calls.receipt(.read, first.id, by: "ben") }),
                    (
                        "receipt by a former participant", .accessDenied,
                        { try await calls.receipt(.read, first.id, by: "cleo") }
                    ),
                    ("mark all read without effect", nil, { try await calls.markAllRead(id, by: "ana") }),
                    (
                        "deletion of an unknown message", .notFound,
                        { try await calls.delete(.random(), by: "ana", .allParticipants) }
                    ),
                    (
                        "deletion for all by a former participant", .accessDenied,
                        { try await calls.delete(id, by: "cleo", .allParticipants) }
                    ),
                ]
                for (what, code, write) in refused {
                    #expect(try await calls.refusal { try await write() }?.code == code, "\(what)")
                    #expect(try await calls.readChanges(id).head == head, "\(what)")
                }
                #expect(try await calls.send(id, by: "ana").position == head.next)
                #expect(try calls.publishedChanges(of: id).map(\.position.rawValue) == Array(1...6))
                #expect(try await calls.tree(id) == ["a": "1"])
            }
        }

        @Test("refused writes in shared transactions leave no gap, and the other writes succeed")
        func refusedAmongOthers() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                try await calls.refuseInDatabase(Self.unlucky)
                let sent = try await withThrowingTaskGroup(of: Position?.self) { group in
                    for index in 0..<60 {
                        let calls = index % 3 == 0 ? calls.otherInstance : calls
                        group.addTask {
                            switch index % 4 {
                            case 0:
                                #expect(
                                    try await calls.refusal { try await calls.send(id, by: "eve") }?.code == .notFound)
                            case 1:
                                // A database error, which rolls back all statements in the transaction.
                                let failure = try await calls.refusal {
                                    try await calls.patch(id, metadata: [set("a", Self.unlucky)])
                                }
                                #expect(failure?.code == .internalServerError)
                            default: return try await calls.send(id, by: index % 4 == 2 ? "ana" : "ben").position
                            }
                            return nil
                        }
                    }
                    return try await group.reduce(into: [Position]()) { sent, position in
                        if let position { sent.append(position) }
                    }
                }
                #expect(sent.map(\.rawValue).sorted() == Array(2...31))
                #expect(try await calls.messages(id).messages.map(\.ordinal) == (1...30).reversed())
                #expect(try await calls.readChanges(id).changes.map(\.position.rawValue) == Array(1...31))
            }
        }
    }
}
