// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf
import TestTiers
import Testing

@testable import Conversations

extension StoreTests {
    /// A statement that shares a transaction with others may wait for its conversation's lock only. Waiting for a
    /// second key, such as a message's id, could deadlock two transactions with everything in them.
    @Suite struct SecondKeyRaceTests {
        @Test(
            "a send waits for an id in another transaction without locks, so other sends to the conversation continue")
        func idInUse() async throws {
            try await CallsFixture.run { calls in
                let (first, second) = (try await calls.conversation(["ben"]), try await calls.conversation(["ben"]))
                let id = MessageID.random()
                let failure = try await calls.holding(
                    calls.sqlSend(first, by: "ana", id),
                    meanwhile: {
                        let sent = [
                            try await calls.send(second, by: "ben"),
                            try await calls.otherInstance.send(second, by: "ana"),
                        ]
                        #expect(sent.map(\.position) == [Position(2), Position(3)])
                    },
                    { try await calls.refusal { try await calls.send(second, by: "ben", id: id) } })
                #expect(failure?.code == .idInUse)
                guard case .message(let found)? = failure?.detail else {
                    Issue.record("the message is not shown")
                    return
                }
                #expect(found.id == id && found.conversationID == first)
                #expect(try await calls.messages(second).total == 2)
            }
        }

        @Test("two transactions with crossed ids and conversations do not deadlock, and the first one gets the id")
        func crossed() async throws {
            try await CallsFixture.run { calls in
                let (first, second) = (try await calls.conversation(["ben"]), try await calls.conversation(["ben"]))
                let id = MessageID.random()
                // The first transaction holds the id and then locks the second conversation. The second one holds that
                // conversation and wants the id. The first one must not wait: the database would resolve a deadlock
                // after a second, with the same results.
                let failure = try await calls.holding(
                    calls.sqlSend(first, by: "ana", id), then: "\(calls.sqlLock(second)) NOWAIT"
                ) {
                    try await calls.refusal { try await calls.send(second, by: "ben", id: id) }
                }
                #expect(failure?.code == .idInUse)
                #expect(try await calls.messages(first).messages.map(\.id) == [id])
                #expect(try await calls.messages(second).total == 0)
            }
        }

        @Test(
            "an id is free after a rollback of its first use; an id of an inaccessible conversation is in use without being shown"
        )
        func afterwards() async throws {
            try await CallsFixture.run { calls in
                let (first, second) = (
                    try await calls.conversation(["ben"]), try await calls.create(["cleo"], by: "cleo").id
                )
                let (free, taken) = (MessageID.random(), MessageID.random())
                await #expect(throws: (any Error).self) {
                    try await calls.holding(calls.sqlSend(first, by: "ana", free), then: "1 / 0") {
                        // The failure of the other statement does not cancel this one.
                        let sent = try await Task { try await calls.send(second, by: "cleo", id: free) }.value
                        #expect(sent.id == free)
                    }
                }
                #expect(try await calls.messages(first).total == 0)
                #expect(try await calls.messages(second, as: "cleo").messages.map(\.id) == [free])
                let failure = try await calls.holding(calls.sqlSend(first, by: "ana", taken)) {
                    try await calls.refusal { try await calls.send(second, by: "cleo", id: taken) }
                }
                #expect(failure?.code == .idInUse && failure?.detail == Failure.Detail.none)
                // Many concurrent sends, over two instances, in two conversations: exactly one succeeds.
                let contested = MessageID.random()
                let sent = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<12 {
                        let instance = number % 2 == 0 ? calls : calls.otherInstance
                        group.addTask {
                            let failure = try await calls.refusal {
                                if number % 3 == 0 {
                                    try await instance.send(second, by: "cleo", id: contested)
                                } else {
                                    try await instance.send(first, by: "ben", id: contested)
                                }
                            }
                            #expect(failure == nil || failure?.code == .idInUse)
                            return failure == nil
                        }
                    }
                    return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
                }
                #expect(sent == 1)
                let place = "FROM conversations.message m WHERE m.id = '\(contested)'"
                #expect(try await calls.number("SELECT count(*) \(place)") == 1)
            }
        }

        @Test(
            "a request that may wait for a second key has its own transaction and continues while other requests wait")
        func elsewhere() async throws {
            try await CallsFixture.run { calls in
                let quiet = ServiceFixture.quietLogger
                var ids: [ConversationID] = []
                for _ in 0..<4 { ids.append(try await calls.conversation(["ben"])) }
                let (locked, other) = (Array(ids.prefix(3)), ids[3])
                let waiting =
                    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'transactionid'"
                try await calls.holding(
                    "FROM conversations.conversation WHERE id IN (\(locked.map { "'\($0)'" }.joined(separator: ","))) FOR UPDATE",
                    until: 3,
                    meanwhile: {
                        _ = try await calls.content()
                        let sessions = Sessions(
                            database: calls.database, publisher: Publisher(logger: quiet) { _, _ in },
                            lifetime: .seconds(60))
                        try await sessions.end([UInt8](repeating: 7, count: 32), deadline: .soon)
                        for _ in 0..<2 { try await calls.setPushToken("phone") }
                        let changes = try await calls.patch(other, [remove("ben")])
                        #expect(changes.map(\.position) == [Position(2)])
                    },
                    {
                        // Start them sequentially, so that each takes a connection of its own.
                        try await withThrowingTaskGroup(of: Void.self) { group in
                            for (number, id) in locked.enumerated() {
                                group.addTask { try await calls.send(id) }
                                try await eventually { try await calls.number(waiting) > Int64(number) }
                            }
                            try await group.waitForAll()
                        }
                    })
                for id in locked { #expect(try await calls.messages(id).total == 1) }
            }
        }
    }
}
