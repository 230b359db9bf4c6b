// SPDX-License-Identifier: Apache-2.0
import Contracts
import DatabaseKit
import Foundation
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct CatchUpTests {
        @Test("a catch-up is paged and merged by time, with each conversation in position order without gaps")
        func pages() async throws {
            try await CallsFixture.run { calls in
                let ids = [try await calls.conversation(["ben"]), try await calls.conversation(["ben", "cleo"])]
                for round in 0..<6 {
                    let message = try await calls.send(ids[round % 2], by: "ana")
                    if round % 3 == 0 { try await calls.delete(message.id, by: "ben", .myDevices) }
                    if round % 3 == 1 { try await calls.receipt(.read, message.id, by: "ben") }
                }
                let whole = try await calls.readLogs(as: "ben", [ids[0]: .zero, ids[1]: .zero], userAfter: .zero)
                #expect(whole.reachesHeads && whole.entries.count == 12 && whole.userChanges.count == 2)
                let times = whole.entries.compactMap { entry -> StrataModel.Timestamp? in
                    switch entry {
                    case .change(let change): change.createdAt
                    case .user(let change): change.createdAt
                    case .skipped: nil
                    }
                }
                #expect(times == times.sorted())
                for limit in [1, 3, 11, 12] {
                    var (cursors, own) = ([ids[0]: Position.zero, ids[1]: .zero], Position.zero)
                    var entries: [CallsFixture.CatchUpEntry] = []
                    while true {
                        let page = try await calls.readLogs(as: "ben", cursors, userAfter: own, limit: limit)
                        #expect(page.entries.count <= limit)
                        for entry in page.entries {
                            switch entry {
                            case .change(let change): advance(&cursors, change.conversationID, to: change.position)
                            case .skipped(let id, let position): advance(&cursors, id, to: position)
                            case .user(let change):
                                #expect(change.position == own.next)
                                own = change.position
                            }
                        }
                        entries += page.entries
                        if page.reachesHeads { break }
                    }
                    #expect(entries == whole.entries)
                }
                for id in ids { #expect(whole.counts[id] == (try await calls.get(id, as: "ben").counts)) }
            }
        }

        private func advance(_ cursors: inout [ConversationID: Position], _ id: ConversationID, to position: Position) {
            #expect(position == cursors[id]?.next)
            cursors[id] = position
        }

        @Test("a catch-up never reads other users' conversations")
        func rights() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                try await calls.send(id)
                for (calls, user) in [(calls, "eve"), (calls.with(app: .random()), "ana")] {
                    let log = try await calls.readLogs(as: user, [id: .zero], userAfter: .zero)
                    #expect(log.reachesHeads && log.entries.isEmpty && log.counts.isEmpty)
                }
                #expect(try await calls.readChanges(.random()).head == .zero)
            }
        }

        @Test("receipts from before a re-addition count as read for later replays, and no earlier receipt reverts them")
        func receivedBefore() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo"])
                let message = try await calls.send(id, by: "ana")
                try await calls.receipt(.delivery, message.id, by: "ben")
                // The logs of former participants end before ben is added again.
                try await calls.patch(id, [remove("cleo")])
                try await calls.patch(id, [remove("ben")])
                try await calls.patch(id, [add("ben")])
                func told(_ changes: [Change]) -> [RecipientStatus] {
                    changes.flatMap { change in
                        guard case .receipts(let receipts) = change.content else { return [RecipientStatus]() }
                        return receipts.map(\.status)
                    }
                }
                for user in ["ana", "ben"] {
                    let changes = try await calls.readLogs(as: user, [id: .zero]).changes
                    #expect(told(changes) == [.read])
                    guard
                        case .messageCreated(_, _, let shown) = try #require(
                            changes.first { $0.position == message.position }
                        )
                        .content
                    else {
                        Issue.record("another change has the message's position")
                        return
                    }
                    #expect(shown?.status(of: UserID(trusted: "ben")) == .read)
                }
                #expect(told(try await calls.readLogs(as: "cleo", [id: .zero]).changes) == [.delivered])
                #expect(told(try await calls.readChanges(id).changes) == [.read])
            }
        }

        @Test("a replay has only the deletion of a deleted message; a repair has the message without its body")
        func deletedSince() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let message = try await calls.send(id)
                try await calls.delete(message.id, by: "ana", .allParticipants)
                let log = try await calls.readLogs(as: "ben", [id: Position(1)])
                #expect(log.entries.first == .skipped(id, Position(2)) && log.changes.map(\.position) == [Position(3)])
                let repaired = try await calls.readChanges(id, after: Position(1)).changes
                #expect(repaired.map(\.content).first == .messageCreated(id: message.id, ordinal: 1, nil))
                #expect(repaired.map(\.position) == [Position(2), Position(3)])
            }
        }

        @Test("a repair continues from its last position, up to a limit, and returns the head")
        func repair() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                for _ in 0..<9 { try await calls.send(id) }
                let all = try await calls.readChanges(id)
                #expect(
                    all.changes.map(\.withoutTree)
                        == (try calls.publishedChanges(of: id)).map { $0.withoutCounts.withoutTree })
                var paged: [Change] = []
                while true {
                    let page = try await calls.readChanges(id, after: paged.last?.position ?? .zero, limit: 4)
                    #expect(page.head == Position(10) && page.changes.count <= 4)
                    if page.changes.isEmpty { break }
                    paged += page.changes
                }
                #expect(paged == all.changes)
            }
        }

        @Test("a baseline returns the current positions and the positions at an earlier time")
        func baseline() async throws {
            try await CallsFixture.run { calls in
                let (stays, left, gone, hidden) = (
                    try await calls.conversation(["ben"]), try await calls.conversation(["ben"]),
                    try await calls.conversation(["ben"]),
                    try await calls.conversation(["ben"])
                )
                try await calls.send(stays, by: "ben")
                try await calls.patch(left, by: "ben", [remove("ana")])
                try await calls.send(left, by: "ben")
                try await calls.delete(gone, by: "ben", .allParticipants)
                try await calls.delete(hidden, by: "ana", .myDevices)
                let view = try await calls.get(stays)
                let log = try calls.publishedChanges(of: stays)
                let listed = try await calls.baseline(as: "ana", since: view.conversation.createdAt) {
                    $0.listedOnly = true
                }
                #expect(Set(listed.entries.map(\.conversationID)) == [Data(stays), Data(left)])
                #expect(listed.entries.allSatisfy { $0.position == 0 })
                let now = try await calls.baseline(as: "ana", since: StrataModel.Timestamp(microseconds: 0))
                #expect(now.complete && now.userPosition == 1 && now.userAfter == 0)
                func entry(_ id: ConversationID) -> ProtoBaselineResponse.Entry? {
                    now.entries.first { $0.conversationID == Data(id) }
                }
                #expect(entry(stays)?.position == 2 && entry(stays)?.after == 0 && entry(stays)?.isParticipant == true)
                #expect(entry(stays).map { UserCounts($0.numbers) } == view.counts && entry(stays)?.messageCount == 1)
                #expect(entry(stays)?.oldestAt == log.first?.createdAt.microseconds)
                #expect(
                    entry(left)?.position == 2 && entry(left)?.isParticipant == false && entry(left)?.messageCount == 0)
                #expect(entry(gone)?.position == 2 && entry(gone)?.isParticipant == false)
                #expect(entry(hidden)?.position == 1 && entry(hidden)?.isParticipant == true)
                // A change made at exactly that time is included.
                let since = try #require(log.last).createdAt
                let between = try await calls.baseline(as: "ana", since: since).entries
                    .first { $0.conversationID == Data(stays) }
                #expect(between?.position == 2 && between?.after == 1 && between?.oldestAt == since.microseconds)
                // Long after the last change nothing is pending, and deleted conversations are not mentioned.
                let future = StrataModel.Timestamp(microseconds: now.asOf + 3600 * 1_000_000)
                let later = try await calls.baseline(as: "ana", since: future)
                #expect(
                    later.entries.allSatisfy { $0.after == $0.position && $0.oldestAt == 0 } && later.userAfter == 1)
                #expect(Set(later.entries.map(\.conversationID)) == [Data(stays), Data(left), Data(hidden)])
                #expect(try await calls.baseline(as: "eve", since: future).entries.isEmpty)
            }
        }

        @Test("heads contain moved conversations and user logs and recent additions, and nothing old")
        func heads() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                try await calls.send(id)
                try await calls.patch(id, [add("cleo")])
                try await calls.patch(id, [remove("cleo")])
                try await calls.delete(id, by: "ben", .myDevices)
                let created = try await calls.get(id).conversation.createdAt
                let heads = try await calls.heads(since: created)
                #expect(heads.heads.filter { $0.conversationID == Data(id) }.map(\.after) == [4])
                let added = heads.added.filter { $0.conversationID == Data(id) }
                #expect(
                    Dictionary(uniqueKeysWithValues: added.map { ($0.userID, $0.position) }) == [
                        "ana": 1, "ben": 1, "cleo": 3,
                    ])
                #expect(heads.users.filter { $0.appID == Data(calls.app) }.map(\.userID) == ["ben"])
                #expect(heads.asOf >= created.microseconds)
                // A new instance without a cache, some minutes after all changes. It looks back two minutes plus a
                // margin.
                for log in ["change", "user_change"] {
                    try await calls.execute(
                        "UPDATE conversations.\(log) SET created_at = created_at - interval '3 minutes'")
                }
                let later = HeadsCache(database: calls.database, epoch: EpochSource(database: calls.database))
                let none = try await later.read(since: created.microseconds - 3600 * 1_000_000, deadline: .soon)
                #expect(none.heads.isEmpty && none.added.isEmpty && none.users.isEmpty && none.asOf >= heads.asOf)
            }
        }
    }
}
