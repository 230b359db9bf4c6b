// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct MessageListTests {
        @Test("message pages are sorted newest first, without gaps or duplicates")
        func pages() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                var sent: [Message] = []
                for index in 0..<9 {
                    sent.append(try await calls.send(id, by: index % 2 == 0 ? "ana" : "ben", "\(index)"))
                }
                for size in [1, 2, 4, 9, 100] {
                    var paged: [Message] = []
                    while paged.count < 20 {
                        let page = try await calls.messages(id, as: "ben", pageSize: size, from: paged.last?.id)
                        #expect(page.total == 9 && page.messages.count <= size)
                        if page.messages.isEmpty { break }
                        paged += page.messages
                    }
                    #expect(paged == sent.reversed())
                }
            }
        }

        @Test("new messages do not shift a page, and a deleted message still works as a cursor")
        func cursors() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                var sent: [MessageID] = []
                for _ in 0..<6 { sent.append(try await calls.send(id).id) }
                let first = try await calls.messages(id, pageSize: 2)
                #expect(first.messages.map(\.id) == [sent[5], sent[4]])
                try await calls.send(id)
                try await calls.delete(sent[4], by: "ana", .allParticipants)
                try await calls.delete(sent[3], by: "ana", .myDevices)
                let second = try await calls.messages(id, pageSize: 2, from: sent[4])
                #expect(second.total == 5 && second.messages.map(\.id) == [sent[2], sent[1]])
                #expect(
                    try await calls.messages(id, as: "ben", pageSize: 2, from: sent[4]).messages.map(\.id) == [
                        sent[3], sent[2],
                    ])
                let elsewhere = try await calls.send(try await calls.conversation()).id
                for unknown in [elsewhere, .random()] {
                    let failure = try await calls.refusal { try await calls.messages(id, from: unknown) }
                    #expect(failure?.code == .invalidProperty && failure?.detail == .property("from_id"))
                }
            }
        }

        @Test("a message exists only for users who see it")
        func get() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let message = try await calls.send(id)
                #expect(try await calls.message(message.id, as: "ben") == message)
                let other = calls.with(app: .random())
                #expect(try await calls.refusal { try await calls.message(message.id, as: "eve") }?.code == .notFound)
                #expect(try await other.refusal { try await other.message(message.id, as: "ana") }?.code == .notFound)
                #expect(try await calls.refusal { try await calls.message(.random(), as: "ana") }?.code == .notFound)
            }
        }
    }
}
