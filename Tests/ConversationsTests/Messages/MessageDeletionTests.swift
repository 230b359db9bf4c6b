// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct MessageDeletionTests {
        private func last(_ change: Change?) -> Change.LastMessage? {
            if case .messageDeleted(_, _, let last)? = change?.content { last } else { nil }
        }

        @Test("a deletion for all removes the message, lowers unread counts and updates the last message")
        func allParticipants() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo"])
                let first = try await calls.send(id, by: "ana")
                let second = try await calls.send(id, by: "ana")
                try await calls.receipt(.read, second.id, by: "ben")
                try await calls.delete(second.id, by: "cleo", .allParticipants)
                let change = try #require(try calls.publishedChanges(of: id).last)
                #expect(
                    change.content
                        == .messageDeleted(id: second.id, ordinal: 2, lastMessage: .init(changed: true, message: first))
                )
                #expect(change.position == Position(5) && change.messageCount == 2 && change.actor?.rawValue == "cleo")
                #expect(try await calls.readChanges(id).changes.last == change.withoutCounts)
                for (user, unread) in [("ana", 0), ("ben", 1), ("cleo", 1)] as [(String, Int64)] {
                    let view = try await calls.get(id, as: user, withMetadata: false)
                    #expect(view.unreadCount == unread && view.totalCount == 1 && view.lastMessage == first)
                    #expect(change.counts[UserID(trusted: user)] == view.counts)
                    #expect(try await calls.refusal { try await calls.message(second.id, as: user) }?.code == .notFound)
                    #expect(
                        try await calls.refusal { try await calls.delete(second.id, by: user, .allParticipants) }?.code
                            == .notFound)
                }
                #expect(
                    try await calls.refusal { try await calls.receipt(.read, second.id, by: "cleo") }?.code == .notFound
                )
                let third = try await calls.send(id, by: "ben")
                try await calls.delete(first.id, by: "ana", .allParticipants)
                #expect(last(try calls.publishedChanges(of: id).last) == .init(changed: false, message: nil))
                #expect(
                    try await calls.readChanges(id).changes.last == calls.publishedChanges(of: id).last?.withoutCounts)
                try await calls.delete(third.id, by: "ana", .allParticipants)
                #expect(last(try calls.publishedChanges(of: id).last) == .init(changed: true, message: nil))
                let empty = try await calls.get(id, as: "cleo", withMetadata: false)
                #expect(
                    empty.totalCount == 0 && empty.unreadCount == 0 && empty.lastMessage == nil
                        && empty.messageCount == 3)
            }
        }

        @Test("a deletion from a user's devices hides the message from that user alone, through their own log")
        func myDevices() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let first = try await calls.send(id, by: "ben")
                let second = try await calls.send(id, by: "ben")
                let heard = try calls.publishedChanges(of: id).count
                try await calls.delete(second.id, by: "ana", .myDevices)
                #expect(try calls.publishedChanges(of: id).count == heard)
                let view = try await calls.get(id, withMetadata: false)
                #expect(view.unreadCount == 1 && view.totalCount == 1 && view.lastMessage == first)
                guard case .change(let change)? = try calls.notices("ana").last else {
                    Issue.record("no notice")
                    return
                }
                #expect(change.position == Position(1) && change.content == .messageHidden(second.id, view: view))
                #expect(try await calls.readLogs(as: "ana", [:], userAfter: .zero).userChanges == [change])
                #expect(try await calls.messages(id).messages == [first])
                #expect(try await calls.refusal { try await calls.message(second.id, as: "ana") }?.code == .notFound)
                #expect(
                    try await calls.refusal { try await calls.delete(second.id, by: "ana", .myDevices) }?.code
                        == .notFound)
                #expect(
                    try await calls.refusal { try await calls.receipt(.read, second.id, by: "ana") }?.code == .notFound)
                #expect(try await calls.get(id, as: "ben", withMetadata: false).lastMessage?.id == second.id)
                #expect(try await calls.messages(id, as: "ben").total == 2)
                // The last message can be hidden, too. The conversation stays on the user's list, empty.
                try await calls.delete(first.id, by: "ana", .myDevices)
                let empty = try await calls.get(id, withMetadata: false)
                #expect(empty.totalCount == 0 && empty.unreadCount == 0 && empty.lastMessage == nil)
            }
        }

        @Test("a user who hid messages receives a new last message when one is deleted for all")
        func overrides() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo"])
                var sent: [Message] = []
                for _ in 0..<4 { sent.append(try await calls.send(id, by: "ana")) }
                try await calls.delete(sent[2].id, by: "ben", .myDevices)
                try await calls.delete(sent[3].id, by: "cleo", .myDevices)
                try await calls.delete(sent[3].id, by: "ana", .allParticipants)
                var change = try #require(try calls.publishedChanges(of: id).last)
                #expect(
                    last(change) == .init(changed: true, message: sent[2], overrides: [UserID(trusted: "ben"): sent[1]])
                )
                #expect(try await calls.readChanges(id).changes.last == change.withoutCounts)
                // Delete the last message of a single user, who has hidden the later ones.
                try await calls.delete(sent[1].id, by: "ana", .allParticipants)
                change = try #require(try calls.publishedChanges(of: id).last)
                #expect(
                    last(change) == .init(changed: true, message: sent[2], overrides: [UserID(trusted: "ben"): sent[0]])
                )
                try await calls.delete(sent[0].id, by: "ana", .allParticipants)
                change = try #require(try calls.publishedChanges(of: id).last)
                #expect(
                    last(change) == .init(changed: true, message: sent[2], overrides: [UserID(trusted: "ben"): nil]))
                for (user, message) in [("ana", sent[2]), ("ben", nil), ("cleo", sent[2])] as [(String, Message?)] {
                    #expect(try await calls.get(id, as: user, withMetadata: false).lastMessage == message)
                }
            }
        }

        @Test("former participants lose messages deleted for all, and may delete messages from their own devices only")
        func former() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                var sent: [Message] = []
                for _ in 0..<3 { sent.append(try await calls.send(id, by: "ana")) }
                try await calls.patch(id, [remove("ben")])
                let later = try await calls.send(id, by: "ana")
                #expect(
                    try await calls.refusal { try await calls.delete(sent[0].id, by: "ben", .allParticipants) }?.code
                        == .accessDenied)
                #expect(
                    try await calls.refusal { try await calls.delete(later.id, by: "ben", .myDevices) }?.code
                        == .notFound)
                try await calls.delete(sent[0].id, by: "ben", .myDevices)
                #expect(try await calls.get(id, as: "ben", withMetadata: false).totalCount == 2)
                try await calls.delete(sent[2].id, by: "ana", .allParticipants)
                let view = try await calls.get(id, as: "ben", withMetadata: false)
                #expect(
                    view.totalCount == 1 && view.lastMessage?.id == sent[1].id
                        && view.conversation.position == Position(5))
                #expect(try await calls.messages(id, as: "ben").messages.map(\.id) == [sent[1].id])
                #expect(try calls.publishedChanges(of: id).last?.counts.keys.map(\.rawValue) == ["ana"])
                #expect(
                    try await calls.refusal { try await calls.delete(sent[1].id, by: "eve", .allParticipants) }?.code
                        == .notFound)
            }
        }
    }
}
