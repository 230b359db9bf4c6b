// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct BulkReceiptTests {
        private let ana = UserID(trusted: "ana")
        private let ben = UserID(trusted: "ben")

        @Test("receipts of one call are one change; missing, deleted or foreign messages do not fail the others")
        func one() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let other = try await calls.conversation(["ben"])
                var sent: [StrataModel.Message] = []
                for index in 0..<5 { sent.append(try await calls.send(id, by: index == 2 ? "ben" : "ana")) }
                let elsewhere = try await calls.send(other).id
                try await calls.delete(sent[3].id, by: "ana", .allParticipants)
                try await calls.delete(sent[4].id, by: "ben", .myDevices)
                let unknown = MessageID.random()
                let before = try calls.publishedChanges(of: id).count
                let asked = [elsewhere, sent[0].id, unknown, sent[1].id, sent[2].id, sent[3].id, sent[4].id]
                let answer = try await calls.receipts(.read, asked, in: id, by: "ben")
                #expect(answer.ignored == [elsewhere, unknown, sent[3].id, sent[4].id])
                let changes = try calls.publishedChanges(of: id)
                let change = try #require(changes.last)
                #expect(changes.count == before + 1 && answer.position == change.position)
                let view = try await calls.get(id, as: "ben")
                #expect(view.unreadCount == 0 && change.counts == [ben: view.counts] && change.actor == ben)
                let receipts = [(sent[0].id, Int64(1)), (sent[1].id, 2)]
                    .map { Change.Receipt(user: ben, messageID: $0.0, ordinal: $0.1, status: .read, sender: ana) }
                #expect(change.content == .receipts(receipts))
                #expect(try await calls.readChanges(id).changes.last == change.withoutCounts)
                // Repeat the request, as after a lost answer: no effect and no change.
                let again = try await calls.receipts(.read, asked, in: id, by: "ben")
                #expect(again.ignored == answer.ignored && again.position == nil)
                let late = try await calls.receipts(.delivery, [sent[0].id], in: id, by: "ben")
                #expect(late.ignored == [] && late.position == nil)
                #expect(try calls.publishedChanges(of: id).count == changes.count)
                #expect(try await calls.message(elsewhere, as: "ana").status(of: ben) == .sent)
            }
        }

        @Test("bulk receipts require the rights of single receipts")
        func rights() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo"])
                let message = try await calls.send(id).id
                try await calls.patch(id, [remove("cleo")])
                try await calls.delete(id, by: "ben", .myDevices)
                for (user, code) in [("cleo", Failure.Code.accessDenied), ("eve", .notFound), ("ben", .notFound)] {
                    #expect(
                        try await calls.refusal { try await calls.receipts(.read, [message], in: id, by: user) }?.code
                            == code)
                }
                let other = calls.with(app: .random())
                #expect(
                    try await other.refusal { try await other.receipts(.read, [message], in: id, by: "ana") }?.code
                        == .notFound)
                #expect(try await calls.receipts(.read, [message], in: id, by: "ana").position == nil)
                let many = (0...1000).map { _ in MessageID.random() }
                #expect(
                    try await calls.refusal { try await calls.receipts(.read, many, in: id, by: "ana") }?.detail
                        == .property("ids"))
                #expect(try await calls.message(message, as: "ana").status(of: ben) == .sent)
            }
        }

        @Test("bulk receipts in a large conversation are sent to sender and reader")
        func audience() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo", "dora", "eve"])
                let message = try await calls.send(id).id
                try await calls.receipts(.delivery, [message], in: id, by: "ben")
                guard case .receipts(let receipts)? = try calls.publishedChanges(of: id).last?.content else {
                    Issue.record("no receipts")
                    return
                }
                #expect(receipts.map(\.audience) == [.senderAndReader])
            }
        }

        @Test(
            "a thousand receipts in one call are all delivered, the log is paged by bytes, and ten thousand take little time"
        )
        func thousands() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                try await calls.fill(id, with: 10_000)
                let started = ContinuousClock.now
                for call in 0..<10 {
                    let ids = (1...1000).map { calls.bulkMessage(id, call * 1000 + $0) }
                    #expect(try await calls.receipts(.delivery, ids, in: id, by: "ben").ignored == [])
                }
                let took = ContinuousClock.now - started
                print("10,000 receipts in 10 calls: \(took)")
                #expect(took < .seconds(10))
                let changes = try calls.publishedChanges(of: id).suffix(10)
                let told = changes.flatMap { change -> [Change.Receipt] in
                    if case .receipts(let receipts) = change.content { receipts } else { [] }
                }
                // Every seventh message is ben's.
                #expect(
                    Set(told.map(\.ordinal)) == Set((1...10_000).filter { $0 % 7 != 0 }.map { Int64($0) })
                        && told.count == 8572)
                let pieces =
                    "SELECT max((SELECT count(*) FROM unnest(delivered))) FROM conversations.participant WHERE conversation_id = '\(id)'"
                #expect(try await calls.number(pieces) == 1)
                let first = try #require(changes.first?.position)
                let read = ContinuousClock.now
                let page = try await calls.readLogs(
                    as: "ana", [id: Position(first.rawValue - 1)], limit: 128, bytes: 150_000)
                #expect(page.changes.count == 1 && !page.reachesHeads)
                let all = try await calls.readLogs(as: "ana", [id: Position(first.rawValue - 1)], limit: 128)
                #expect(all.changes == Array(changes.map(\.withoutCounts)))
                print("read in \(ContinuousClock.now - read), \(page.bytes) bytes for one change")
                let stored =
                    "SELECT max(pg_column_size(operations)) FROM conversations.change WHERE conversation_id = '\(id)'"
                print("stored in \(try await calls.number(stored)) bytes")
            }
        }
    }
}
