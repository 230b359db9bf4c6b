// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct FormerDeletionTests {
        private func log(_ calls: CallsFixture, of user: String) async throws -> [UserChange.Content] {
            try await calls.readLogs(as: user, [:], userAfter: .zero).userChanges.map(\.content)
        }

        @Test(
            "former participants who see a message deleted for all receive the deletion in their own logs, with their counts"
        )
        func message() async throws {
            try await CallsFixture.run { calls in
                let users = ["ben", "cleo", "dora", "eve"]
                let id = try await calls.conversation(users)
                let first = try await calls.send(id)
                try await calls.patch(id, [remove("dora")])
                let second = try await calls.send(id)
                try await calls.delete(second.id, by: "cleo", .myDevices)
                try await calls.patch(id, [remove("ben"), remove("cleo")])
                try await calls.delete(second.id, by: "ana", .allParticipants)
                let change = try #require(try calls.publishedChanges(of: id).last)
                // Dora had left before the message, Cleo had hidden it, and Eve gets the deletion from the
                // conversation's log.
                for user in ["dora", "eve"] { #expect(try await log(calls, of: user).isEmpty) }
                #expect(try await log(calls, of: "cleo").count == 1)
                let view = try await calls.get(id, as: "ben", withMetadata: false)
                #expect(view.totalCount == 1 && view.unreadCount == 1 && view.lastMessage?.id == first.id)
                let entries = try await calls.readLogs(as: "ben", [:], userAfter: .zero).userChanges
                #expect(
                    entries.map(\.content) == [.messageDeleted(second.id, in: id, view: view)]
                        && entries[0].createdAt >= change.createdAt)
                #expect(try calls.notices("ben").last == .logged(entries[0].position, at: entries[0].createdAt))
                // With two deletions in one page, both carry the counts after the second.
                try await calls.delete(first.id, by: "ana", .allParticipants)
                let empty = try await calls.get(id, as: "ben", withMetadata: false)
                #expect(empty.totalCount == 0)
                #expect(
                    try await log(calls, of: "ben") == [
                        .messageDeleted(second.id, in: id, view: empty), .messageDeleted(first.id, in: id, view: empty),
                    ])
                #expect(try await log(calls, of: "dora").count == 1)
                #expect(try await log(calls, of: "cleo").count == 2)
            }
        }

        @Test(
            "a re-added user receives the deletion from the conversation's log, and an old entry only says the message is gone"
        )
        func addedAgain() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let message = try await calls.send(id)
                try await calls.patch(id, [remove("ben")])
                try await calls.delete(message.id, by: "ana", .allParticipants)
                try await calls.patch(id, [add("ben")])
                #expect(try await log(calls, of: "ben") == [.messageDeleted(message.id, in: id, view: nil)])
                let later = try await calls.send(id)
                try await calls.delete(later.id, by: "ana", .allParticipants)
                #expect(try await log(calls, of: "ben").count == 1)
            }
        }

        @Test("users with a conversation on their lists receive its deletion for all")
        func conversation() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo", "dora"])
                try await calls.send(id)
                try await calls.patch(id, [remove("ben"), remove("cleo")])
                try await calls.delete(id, by: "cleo", .myDevices)
                try await calls.delete(id, by: "ana", .allParticipants)
                #expect(try await log(calls, of: "ben") == [.conversationDeleted(id)])
                #expect(try await log(calls, of: "cleo").count == 1)
                #expect(try await log(calls, of: "dora").isEmpty)
                guard case .logged(let position, _)? = try calls.notices("ben").last else {
                    Issue.record("no notice")
                    return
                }
                #expect(position == Position(1))
                #expect(try calls.notices("dora").count == 1)
            }
        }
    }
}
