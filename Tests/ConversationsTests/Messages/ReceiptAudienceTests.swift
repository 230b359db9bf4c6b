// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct ReceiptAudienceTests {
        private let ana = UserID(trusted: "ana")
        private let ben = UserID(trusted: "ben")

        private func receipts(_ changes: [Change]) -> [[Change.Receipt]] {
            changes.compactMap { if case .receipts(let receipts) = $0.content { receipts } else { nil } }
        }

        @Test("concurrent receipts are merged into one change, and each reader receives their own answer")
        func gathered() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo"])
                var sent: [MessageID] = []
                for _ in 0..<10 { sent.append(try await calls.send(id).id) }
                let outcomes = try await withThrowingTaskGroup(of: (String, Failure.Code?).self) { group in
                    for user in ["ben", "cleo", "eve"] {
                        for message in sent {
                            group.addTask {
                                (
                                    user,
                                    try await calls.refusal { try await calls.receipt(.read, message, by: user) }?.code
                                )
                            }
                        }
                    }
                    return try await group.reduce(into: [String: Set<Failure.Code?>]()) {
                        $0[$1.0, default: []].insert($1.1)
                    }
                }
                #expect(outcomes == ["ben": [nil], "cleo": [nil], "eve": [.notFound]])
                let given = receipts(try calls.publishedChanges(of: id))
                #expect(given.flatMap { $0 }.count == 20)
                // All receipts were pending within one window, so there are only a few changes.
                #expect(given.count < 10)
                for user in ["ben", "cleo"] { #expect(try await calls.get(id, as: user).unreadCount == 0) }
                #expect(receipts(try await calls.readChanges(id).changes) == given)
            }
        }

        @Test("a large conversation sends receipts to sender and reader, and bulk reads to the senders")
        func large() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben", "cleo", "dora", "eve"])
                let (first, second) = (try await calls.send(id).id, try await calls.send(id, by: "cleo").id)
                try await calls.receipt(.delivery, first, by: "ben")
                let told = receipts(try calls.publishedChanges(of: id))
                #expect(
                    told == [
                        [
                            .init(
                                user: ben, messageID: first, ordinal: 1, status: .delivered, sender: ana,
                                audience: .senderAndReader)
                        ]
                    ])
                #expect(
                    ["ana", "ben", "cleo"].map { told[0][0].concerns(UserID(trusted: $0)) } == [true, true, false])
                try await calls.markAllRead(id, by: "ben")
                guard case .allRead(ben, _, let audience?) = try calls.publishedChanges(of: id).last?.content else {
                    Issue.record("\(String(describing: try calls.publishedChanges(of: id).last))")
                    return
                }
                #expect(Set(audience.map(\.rawValue)) == ["ana", "cleo"])
                #expect(
                    try await calls.readChanges(id).changes.last?.content
                        == (try calls.publishedChanges(of: id).last?.content))
                #expect(try await calls.message(second, as: "ana").status(of: ben) == .read)
            }
        }

        @Test(
            "disabled receipts are stored for their reader and hidden from other users",
            arguments: [1, 2, 3] as [Int32])
        func switchedOff(policy: Int32) async throws {
            try await CallsFixture.run { calls in
                let created = try await calls.call(ConversationsAPI.createConversation) {
                    $0.appID = Data(calls.app)
                    $0.actor = "ana"
                    $0.id = Data(ConversationID.random())
                    $0.participants = ["ben", "cleo"]
                    $0.receiptPolicy = policy
                }
                let view = try ConversationView(created.view)
                #expect(view.conversation.receiptPolicy.rawValue == policy)
                let (noDelivery, noRead) = (policy & 1 != 0, policy & 2 != 0)
                let message = try await calls.send(view.conversation.id).id
                func status() async throws -> [RecipientStatus] {
                    try await calls.message(message, as: "ana").recipients.filter { $0.userID == ben }
                        .flatMap { [$0.status, $0.shownStatus] }
                }
                try await calls.receipt(.delivery, message, by: "ben")
                #expect(try await status() == [.delivered, noDelivery ? .sent : .delivered])
                try await calls.receipt(.read, message, by: "ben")
                #expect(try await status() == [.read, noRead ? (noDelivery ? .sent : .delivered) : .read])
                #expect(try await calls.get(view.conversation.id, as: "ben").unreadCount == 0)
                let audiences = receipts(try calls.publishedChanges(of: view.conversation.id)).flatMap { $0 }
                    .map(\.audience)
                #expect(audiences == [noDelivery ? .reader : .senderAndReader, noRead ? .reader : .senderAndReader])
                _ = try await calls.send(view.conversation.id)
                try await calls.markAllRead(view.conversation.id, by: "ben")
                guard
                    case .allRead(ben, _, let told?) = try calls.publishedChanges(of: view.conversation.id).last?
                        .content
                else {
                    Issue.record("no audience")
                    return
                }
                #expect(told == (noRead ? [] : [ana]))
            }
        }
    }
}
