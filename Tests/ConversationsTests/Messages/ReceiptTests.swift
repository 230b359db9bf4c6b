// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct ReceiptTests {
        private let ana = UserID(trusted: "ana")
        private let ben = UserID(trusted: "ben")

        @Test("receipts move forward only, take effect once, and read implies delivered")
        func forward() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let (first, second) = (try await calls.send(id).id, try await calls.send(id).id)
                // The receipt, the status and unread count after it, and whether it causes a change.
                let steps: [(ReceiptKind, MessageID, RecipientStatus, Int64, Bool)] = [
                    (.delivery, first, .delivered, 2, true), (.delivery, first, .delivered, 2, false),
                    (.read, first, .read, 1, true),
                    (.read, first, .read, 1, false), (.delivery, first, .read, 1, false),
                    (.read, second, .read, 0, true),
                    (.delivery, second, .read, 0, false),
                ]
                for (kind, message, status, unread, isChange) in steps {
                    let before = try calls.publishedChanges(of: id)
                    try await calls.receipt(kind, message, by: "ben")
                    let after = try calls.publishedChanges(of: id)
                    #expect(after.count == before.count + (isChange ? 1 : 0))
                    let view = try await calls.get(id, as: "ben")
                    #expect(view.unreadCount == unread && view.conversation.position == after.last?.position)
                    for user in ["ana", "ben"] {
                        #expect(try await calls.message(message, as: user).status(of: ben) == status)
                    }
                    guard isChange, let change = after.last else { continue }
                    let ordinal: Int64 = message == first ? 1 : 2
                    #expect(
                        change.content
                            == .receipts([
                                .init(user: ben, messageID: message, ordinal: ordinal, status: status, sender: ana)
                            ]))
                    #expect(change.counts == (kind == .read ? [ben: view.counts] : [:]) && change.actor == ben)
                    #expect(try await calls.readChanges(id).changes.last == change.withoutCounts)
                }
            }
        }

        @Test("receipts make no change for own or unknown messages, by non-participants or in other apps")
        func rights() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let message = try await calls.send(id).id
                for kind in [ReceiptKind.delivery, .read] {
                    try await calls.receipt(kind, message, by: "ana")
                    #expect(
                        try await calls.refusal { try await calls.receipt(kind, message, by: "eve") }?.code == .notFound
                    )
                    #expect(
                        try await calls.refusal { try await calls.receipt(kind, MessageID.random(), by: "ben") }?.code
                            == .notFound)
                    let other = calls.with(app: .random())
                    #expect(
                        try await other.refusal { try await other.receipt(kind, message, by: "ben") }?.code == .notFound
                    )
                }
                let failure = try await calls.refusal {
                    try await calls.call(ConversationsAPI.giveReceipt) {
                        $0.appID = Data(calls.app)
                        $0.actor = "ben"
                        $0.messageID = Data(message)
                        $0.kind = "seen"
                    }
                }
                #expect(failure?.detail == .property("type"))
                #expect(try await calls.readChanges(id).head == Position(2))
            }
        }

        @Test("a read of all messages, or up to a position, skips messages that are already read")
        func markAllRead() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                var sent: [StrataModel.Message] = []
                for index in 0..<6 { sent.append(try await calls.send(id, by: index == 4 ? "ben" : "ana")) }
                try await calls.receipt(.read, sent[1].id, by: "ben")
                try await calls.receipt(.delivery, sent[2].id, by: "ben")
                try await calls.delete(sent[0].id, by: "ana", .allParticipants)
                // The third, fourth and sixth messages are unread.
                #expect(try await calls.get(id, as: "ben").unreadCount == 3)
                let steps: [(upTo: Position?, unread: Int64, told: Position?)] = [
                    (.zero, 3, nil), (sent[1].position, 3, nil), (sent[2].position, 2, sent[2].position),
                    (sent[2].position, 2, nil),
                    (sent[4].position, 1, sent[4].position), (nil, 0, Position(12)), (nil, 0, nil),
                    (Position(.max), 0, nil),
                ]
                for (upTo, unread, told) in steps {
                    let before = try calls.publishedChanges(of: id)
                    try await calls.markAllRead(id, by: "ben", upTo: upTo)
                    let after = try calls.publishedChanges(of: id)
                    let view = try await calls.get(id, as: "ben")
                    #expect(view.unreadCount == unread, "\(String(describing: upTo))")
                    #expect(after.count == before.count + (told == nil ? 0 : 1))
                    guard let told, let change = after.last else { continue }
                    #expect(
                        change.content == .allRead(user: ben, upTo: told, audience: nil)
                            && change.counts == [ben: view.counts])
                    #expect(try await calls.readChanges(id).changes.last == change.withoutCounts)
                }
                for message in sent.dropFirst() {
                    #expect(try await calls.message(message.id, as: "ana").status(of: ben) == .read)
                }
                // Later messages are unread, even if the given position was beyond the head.
                try await calls.send(id)
                #expect(try await calls.get(id, as: "ben").unreadCount == 1)
                #expect(try await calls.refusal { try await calls.markAllRead(id, by: "eve") }?.code == .notFound)
            }
        }

        @Test("each of many concurrent receipts counts once, and reads in any order merge into one range")
        func atOnce() async throws {
            try await CallsFixture.run { calls in
                let users = ["ana", "ben", "cleo"]
                let id = try await calls.conversation(["ben", "cleo"])
                var sent: [StrataModel.Message] = []
                for index in 0..<24 { sent.append(try await calls.send(id, by: users[index % 3])) }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for user in users {
                        for message in sent.shuffled() {
                            group.addTask { try await calls.receipt(.read, message.id, by: user) }
                            group.addTask { try await calls.otherInstance.receipt(.delivery, message.id, by: user) }
                        }
                    }
                    try await group.waitForAll()
                }
                let changes = try await calls.readChanges(id).changes
                #expect(changes.map(\.position.rawValue) == Array(1...Int64(changes.count)))
                let receipts = changes.flatMap { change -> [Change.Receipt] in
                    if case .receipts(let receipts) = change.content { receipts } else { [] }
                }
                let reads = receipts.filter { $0.status == .read }
                #expect(reads.count == 48 && Set(reads).count == 48)
                for user in users { #expect(try await calls.get(id, as: user).unreadCount == 0) }
                for message in try await calls.messages(id).messages {
                    #expect(message.recipients.allSatisfy { $0.status == .read })
                }
                let pieces =
                    "SELECT max((SELECT count(*) FROM unnest(read))) FROM conversations.participant WHERE conversation_id = '\(id)'"
                #expect(try await calls.number(pieces) == 1)
            }
        }
    }
}
