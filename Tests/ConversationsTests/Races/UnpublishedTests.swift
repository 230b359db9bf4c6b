// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    /// Publications are hints: a committed change that was never published is found in the log (docs/architecture.md
    /// §3.3).
    @Suite struct UnpublishedTests {
        @Test("heads, repair and catch-up find a change that was committed but never published")
        func neverPublished() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let since = try await calls.get(id).conversation.createdAt
                let dying = calls.withoutPublishing
                let message = try await dying.send(id, by: "ben", "lost")
                let patched = try await dying.patch(id, by: "ben", [add("cleo")], metadata: [set("a", "1")])
                try await dying.receipt(.read, message.id, by: "ana")
                #expect(try calls.publishedChanges(of: id).map(\.position) == [Position(1)])

                let heads = try await calls.heads(since: since)
                #expect(heads.heads.first { $0.conversationID == Data(id) }?.after == 5)
                let added = heads.added.filter { $0.conversationID == Data(id) && $0.userID == "cleo" }
                #expect(added.map(\.position) == [3] && added.map(\.appID) == [Data(calls.app)])

                let repaired = try await calls.readChanges(
                    id, after: Position(1), users: ["ana", "ben", "cleo", "eve"])
                #expect(repaired.head == Position(5))
                #expect(repaired.changes.map(\.position.rawValue) == [2, 3, 4, 5])
                let read = Message.Recipient(userID: UserID(trusted: "ana"), status: .read)
                guard case .messageCreated(message.id, 1, let body?) = repaired.changes[0].content else {
                    Issue.record("no message in \(repaired.changes[0].content)")
                    return
                }
                #expect(body.parts == message.parts && body.recipients.contains(read))
                #expect(repaired.changes[2].withoutCounts == patched[1].withoutCounts)
                #expect(
                    repaired.changes[3].content
                        == .receipts([
                            .init(
                                user: read.userID, messageID: message.id, ordinal: 1, status: .read,
                                sender: message.sender.userID)
                        ]))
                for user in ["ana", "ben", "cleo"] {
                    let view = try await calls.get(id, as: user)
                    #expect(repaired.counts[user] == view.counts && view.unreadCount == 0)
                }
                #expect(repaired.counts["eve"] == nil)

                let owed = try await calls.readLogs(as: "ana", [id: Position(1)])
                #expect(owed.reachesHeads && owed.changes.map(\.position) == repaired.changes.map(\.position))
                #expect(owed.counts[id] == repaired.counts["ana"] && owed.messageCounts[id] == 1)
                let entry = try await calls.baseline(as: "ana", since: since).entries
                    .first { $0.conversationID == Data(id) }
                #expect(entry?.position == 5)
            }
        }

        @Test("participants find a conversation that was created but never announced")
        func creationNeverPublished() async throws {
            try await CallsFixture.run { calls in
                let created = try await calls.withoutPublishing.create(["ben"], metadata: ["t": "1"])
                #expect(calls.published.all.isEmpty)
                let heads = try await calls.heads(since: created.view.conversation.createdAt)
                let added = heads.added.filter { $0.conversationID == Data(created.id) }
                #expect(Set(added.map(\.userID)) == ["ana", "ben"] && added.allSatisfy { $0.position == 1 })
                let log = try await calls.readLogs(as: "ben", [created.id: .zero])
                guard case .conversationCreated(let conversation?) = log.changes.first?.content else {
                    Issue.record("no creation in \(log.entries)")
                    return
                }
                #expect(
                    conversation.participants.map(\.userID.rawValue) == ["ana", "ben"]
                        && conversation.position == Position(1))
            }
        }

        @Test("the user's own log shows other devices an unannounced change by one device")
        func ownLogNeverPublished() async throws {
            try await CallsFixture.run { calls in
                let dying = calls.withoutPublishing
                let (first, second) = (try await calls.conversation(["ben"]), try await calls.conversation(["ben"]))
                let message = try await dying.send(second, by: "ben")
                try await dying.delete(first, by: "ana", .myDevices)
                try await dying.delete(message.id, by: "ana", .myDevices)
                let since = try await calls.get(second).conversation.createdAt
                let head = try await calls.heads(since: since).users
                    .first { $0.appID == Data(calls.app) && $0.userID == "ana" }
                #expect(head?.position == 2)
                let log = try await calls.readLogs(as: "ana", [:], userAfter: .zero)
                #expect(log.userChanges.map(\.position.rawValue) == [1, 2])
                #expect(log.userChanges.first?.content == .conversationHidden(first, upTo: Position(1), wholly: true))
                guard case .messageHidden(message.id, let view?) = log.userChanges.last?.content else {
                    Issue.record("no hidden message in \(log.entries)")
                    return
                }
                #expect(view.totalCount == 0 && view.unreadCount == 0 && view.lastMessage == nil)
                #expect(try await calls.readLogs(as: "ben", [:], userAfter: .zero).entries.isEmpty)
            }
        }
    }
}
