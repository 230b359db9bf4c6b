// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct DeletionTests {
        @Test("a deletion for all removes the conversation, messages and metadata, and is the last entry of its log")
        func allParticipants() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo"], metadata: ["t": "1"])
                let message = try await calls.send(id, by: "ana")
                try await calls.patch(id, [remove("cleo")])
                try await calls.delete(id, by: "ben", .allParticipants)
                let change = try #require(try calls.publishedChanges(of: id).last)
                #expect(
                    change.content == .conversationDeleted && change.position == Position(4)
                        && change.actor?.rawValue == "ben")
                for user in ["ana", "ben", "cleo"] {
                    #expect(try await calls.refusal { try await calls.get(id, as: user) }?.code == .notFound)
                    #expect(try await calls.refusal { try await calls.messages(id, as: user) }?.code == .notFound)
                    #expect(
                        try await calls.refusal { try await calls.message(message.id, as: user) }?.code == .notFound)
                    #expect(try await calls.refusal { try await calls.send(id, by: user) }?.code == .notFound)
                    #expect(
                        try await calls.refusal { try await calls.patch(id, by: user, [add("dora")]) }?.code
                            == .notFound)
                    #expect(
                        try await calls.refusal { try await calls.receipt(.read, message.id, by: user) }?.code
                            == .notFound)
                    #expect(
                        try await calls.refusal { try await calls.delete(id, by: user, .allParticipants) }?.code
                            == .notFound)
                    #expect(
                        try await calls.refusal { try await calls.delete(id, by: user, .myDevices) }?.code == .notFound)
                }
                #expect(try await calls.tree(id).isEmpty)
                #expect(try await calls.keptTree(id, "cleo").isEmpty)
                // Participants read only the deletion, and no earlier changes. Former participants read only their
                // removal.
                let owed = try await calls.readLogs(as: "ana", [id: .zero])
                #expect(owed.positions == [1, 2, 3, 4] && owed.changes == [change] && owed.counts.isEmpty)
                let told = try await calls.readLogs(as: "cleo", [id: .zero]).changes
                #expect(told.map(\.position) == [Position(3)])
                if case .participantsChanged(_, let removed, _, _)? = told.first?.content {
                    #expect(removed.map(\.rawValue) == ["cleo"])
                }
                #expect(try await calls.readChanges(id).changes.last == change)
            }
        }

        @Test("a conversation deleted from a user's devices reappears for that user with newer messages only")
        func myDevices() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let old = try await calls.send(id, by: "ben")
                try await calls.delete(id, by: "ana", .myDevices)
                #expect(try await calls.refusal { try await calls.get(id) }?.code == .notFound)
                #expect(try await calls.refusal { try await calls.messages(id) }?.code == .notFound)
                #expect(try await calls.refusal { try await calls.message(old.id, as: "ana") }?.code == .notFound)
                #expect(
                    try await calls.refusal { try await calls.delete(id, by: "ana", .myDevices) }?.code == .notFound)
                #expect(try await calls.list().total == 0)
                #expect(try calls.notices("ana").count == 2)
                guard case .change(let change)? = try calls.notices("ana").last else {
                    Issue.record("no notice")
                    return
                }
                #expect(
                    change.position == Position(1)
                        && change.content == .conversationHidden(id, upTo: Position(2), wholly: true))
                // The others neither see nor receive the message.
                #expect(try calls.publishedChanges(of: id).map(\.position.rawValue) == [1, 2])
                #expect(try await calls.get(id, as: "ben").totalCount == 1)

                let new = try await calls.send(id, by: "ben")
                let view = try await calls.get(id)
                #expect(
                    view.isParticipant && view.totalCount == 1 && view.unreadCount == 1
                        && view.lastMessage?.id == new.id)
                #expect(try await calls.messages(id).messages.map(\.id) == [new.id])
                // The log still contains the creation, for clients that do not know the conversation.
                #expect(
                    try await calls.readLogs(as: "ana", [id: .zero]).changes.map(\.position) == [
                        Position(1), new.position,
                    ])
                let log = try await calls.readLogs(as: "ana", [:], userAfter: .zero)
                #expect(log.userChanges.map(\.content) == [.conversationHidden(id, upTo: Position(2), wholly: false)])
            }
        }

        @Test("an own message restores a deleted conversation too; a second deletion hides everything before it")
        func again() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                try await calls.delete(id, by: "ana", .myDevices)
                try await calls.send(id, by: "ana")
                #expect(try await calls.get(id).totalCount == 1)
                try await calls.delete(id, by: "ana", .myDevices)
                #expect(try await calls.list().total == 0)
                let third = try await calls.send(id, by: "ben")
                #expect(try await calls.messages(id).messages.map(\.id) == [third.id])
                #expect(try await calls.messages(id, as: "ben").total == 2)
            }
        }

        @Test("a user who deletes a conversation from their devices and leaves is removed and sees nothing of it")
        func leave() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ben", "cleo"], distinct: true).id
                try await calls.send(id, by: "ana")
                try await calls.delete(id, by: "ben", .myDevices, leave: true)
                let change = try #require(try calls.publishedChanges(of: id).last)
                #expect(
                    change.content
                        == .participantsChanged(
                            added: [], removed: [UserID(trusted: "ben")], distinctCleared: true, conversation: nil))
                #expect(change.position == Position(3))
                #expect(try await calls.readChanges(id).changes.last == change)
                #expect(try await calls.refusal { try await calls.get(id, as: "ben") }?.code == .notFound)
                #expect(try await calls.list(as: "ben").total == 0)
                #expect(try await calls.get(id).conversation.participants.map(\.userID.rawValue) == ["ana", "cleo"])
                try await calls.send(id, by: "ana")
                #expect(try await calls.list(as: "ben").total == 0)
                guard case .change(let hidden)? = try calls.notices("ben").last else {
                    Issue.record("no notice")
                    return
                }
                #expect(hidden.content == .conversationHidden(id, upTo: Position(3), wholly: true))
                // After being added again, Ben sees messages since the deletion.
                try await calls.patch(id, [add("ben")])
                let view = try await calls.get(id, as: "ben")
                #expect(view.totalCount == 1 && view.unreadCount == 0)
            }
        }

        @Test(
            "a former participant may hide the conversation but not delete it for all; a non-participant may do neither"
        )
        func rights() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                try await calls.send(id, by: "ana")
                try await calls.patch(id, [remove("ben")])
                #expect(
                    try await calls.refusal { try await calls.delete(id, by: "ben", .allParticipants) }?.code
                        == .accessDenied)
                try await calls.delete(id, by: "ben", .myDevices)
                #expect(try await calls.list(as: "ben").total == 0)
                #expect(
                    try await calls.refusal { try await calls.delete(id, by: "ben", .allParticipants) }?.code
                        == .notFound)
                for mode in [DeletionMode.allParticipants, .myDevices] {
                    #expect(try await calls.refusal { try await calls.delete(id, by: "eve", mode) }?.code == .notFound)
                    let other = calls.with(app: .random())
                    #expect(try await calls.refusal { try await other.delete(id, by: "ana", mode) }?.code == .notFound)
                }
                #expect(try await calls.get(id).totalCount == 1)
            }
        }
    }
}
