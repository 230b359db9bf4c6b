// SPDX-License-Identifier: Apache-2.0
import SeededRandom
import StrataModel
import TestSupport
import TestTiers
import Testing

@testable import Conversations

extension StoreTests {
    /// Counts are computed from sets of ordinals. These tests compare them with plain counting.
    @Suite struct CountsPropertyTests {
        static let users = ["ana", "ben", "cleo", "dora"]

        @Test(
            "a plain model agrees with the messages, counts and last message of four users after random operations",
            arguments: TestTier.pick(short: [1], long: [1, 2, 3, 4]) as [UInt64])
        func random(seed: UInt64) async throws {
            try await CallsFixture.run { calls in try await run(calls, seed) }
        }

        @Test(
            "counts equal the model where a row holds at most two ranges, so that blocks hold the rest",
            arguments: TestTier.pick(short: [101], long: [101, 102, 103, 104]) as [UInt64])
        func packed(seed: UInt64) async throws {
            try await CallsFixture.run { calls in
                try await calls.withRangeLimit(2) { try await run(calls, seed) }
                #expect(try await calls.number("SELECT count(*) FROM conversations.receipt_block") > 0)
            }
        }

        private func run(_ calls: CallsFixture, _ seed: UInt64) async throws {
            let id = try await calls.conversation(Array(Self.users.dropFirst()))
            var random = SeededGenerator(seed: seed)
            var model = ConversationModel(users: Self.users)
            var follower = Follower(calls: calls, id: id)
            for step in 0..<220 {
                let user = Self.users.randomElement(using: &random) ?? "ana"
                let operation = ConversationModel.Operation(about: model, of: Self.users, &random)
                let place: Comment = "seed \(seed), step \(step): \(operation) by \(user)"
                let head = model.head
                let expected = model.apply(operation, by: user)
                let failure = try await calls.refusal { try await calls.perform(operation, by: user, in: id, model) }
                try await follower.follow(expected, failure, by: user, after: head, place)
                for name in Self.users {
                    try await compare(model, name, id, calls, follower, isThorough: step % 10 == 9, place)
                }
                #expect(try await calls.misplaced() == 0, place)
            }
        }

        private func compare(
            _ model: ConversationModel, _ name: String, _ id: ConversationID, _ calls: CallsFixture,
            _ follower: Follower, isThorough: Bool,
            _ place: Comment
        ) async throws {
            guard model.isVisible(to: name) else {
                #expect(try await calls.refusal { try await calls.get(id, as: name) }?.code == .notFound, place)
                #expect(try await calls.list(as: name).total == 0, place)
                return
            }
            let user = try #require(model.users[name])
            let view = try await calls.get(id, as: name)
            let (seen, unread) = (model.seen(by: name), model.unread(by: name))
            #expect(view.isParticipant == user.isParticipant, place)
            #expect(view.totalCount == Int64(seen.count), place)
            #expect(view.counts.unread(of: view.messageCount) == Int64(unread.count), place)
            #expect(view.unreadCount == Int64(unread.count), place)
            #expect(view.messageCount == Int64(user.isParticipant ? model.messages.count : user.leftAt), place)
            #expect(view.conversation.position == (user.isParticipant ? model.head : user.leftPosition), place)
            #expect(
                view.conversation.participants.map(\.userID.rawValue) == (user.isParticipant ? model.participants : []),
                place)
            #expect(view.lastMessage?.id == seen.last.map { model.messages[$0].id }, place)
            #expect(view.lastMessage?.recipients == seen.last.map { model.recipients(of: $0, seenBy: name) }, place)
            if user.isParticipant {
                #expect(
                    follower.counts[name]?.excluded == view.counts.excluded
                        && follower.counts[name]?.hidden == view.counts.hidden, place)
            }
            guard isThorough else { return }
            for byLastMessage in [false, true] {
                let list = try await calls.list(as: name, byLastMessage: byLastMessage)
                #expect(list.views.map(\.conversation.id) == [id] && list.total == 1, place)
            }
            let page = try await calls.messages(id, as: name)
            #expect(
                page.messages.map(\.id) == seen.suffix(100).reversed().map { model.messages[$0].id }
                    && page.total == view.totalCount, place)
            #expect(
                page.messages.map(\.recipients)
                    == seen.suffix(100).reversed().map { model.recipients(of: $0, seenBy: name) }, place)
            #expect(page.messages.map(\.ordinal) == seen.suffix(100).reversed().map { Int64($0 + 1) }, place)
        }
    }
}
