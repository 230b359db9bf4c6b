// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel
import TestSupport
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct FirstLoadTests {
        /// Returns the expected result of a load, computed from lists and single requests: the listed conversations,
        /// and for each the `messages` newest messages. If `messages` is nil: all messages from the first unread one
        /// on, or the newest one.
        private func expected(
            _ calls: CallsFixture, as user: String, byLastMessage: Bool, messages: Int?
        ) async throws -> [LoadedConversation] {
            var loaded: [LoadedConversation] = []
            for view in try await calls.list(as: user, byLastMessage: byLastMessage).views {
                let all = try await calls.messages(view.conversation.id, as: user, pageSize: 1000).messages
                let isUnread = { (message: Message) in
                    message.sender.userID?.rawValue != user
                        && message.status(of: UserID(trusted: user)).map { $0 < .read } ?? false
                }
                let count = messages ?? all.lastIndex(where: isUnread).map { $0 + 1 } ?? 1
                loaded.append(LoadedConversation(view: view, messages: Array(all.prefix(count)), isTruncated: false))
            }
            return loaded
        }

        private func check(_ calls: CallsFixture, as users: [String]) async throws {
            for user in users {
                for byLastMessage in [false, true] {
                    for messages in [1, 2, 3, 100, nil] {
                        let expected = try await expected(
                            calls, as: user, byLastMessage: byLastMessage, messages: messages)
                        for (size, bytes) in [(100, 0), (2, 0), (100, 2500)] {
                            let loaded = try await calls.loadAll(
                                as: user, byLastMessage: byLastMessage, pageSize: size, messages: messages, bytes: bytes
                            )
                            // If the byte limit of a page is too small for one conversation, its newest messages are
                            // returned.
                            if bytes > 0, loaded.contains(where: \.isTruncated) {
                                #expect(loaded.map(\.view) == expected.map(\.view))
                                for (some, all) in zip(loaded, expected) {
                                    #expect(
                                        all.messages.starts(with: some.messages)
                                            && some.isTruncated == (some.messages.count < all.messages.count))
                                }
                            } else {
                                #expect(
                                    loaded == expected, "\(user), by last message \(byLastMessage), \(messages ?? 0)")
                            }
                        }
                    }
                }
            }
        }

        @Test("the first load returns each conversation with its listed messages to current and former participants")
        func views() async throws {
            try await CallsFixture.run { calls in
                // Three conversations: without messages; all read; some unread, with own messages in between.
                _ = try await calls.conversation(["ben", "cleo"])
                let read = try await calls.conversation(["ben", "cleo"])
                for text in ["1", "2", "3"] { try await calls.send(read, by: "ben", text) }
                for user in ["ana", "cleo"] { try await calls.markAllRead(read, by: user) }
                let mixed = try await calls.conversation(["ben", "cleo"])
                var sent: [Message] = []
                for (index, sender) in ["ana", "ben", "ben", "ana", "cleo", "ana", "ben", "ana"].enumerated() {
                    sent.append(try await calls.send(mixed, by: sender, "\(index)"))
                }
                try await calls.receipt(.read, sent[1].id, by: "ana")
                try await calls.receipt(.delivery, sent[2].id, by: "ana")
                try await calls.receipt(.read, sent[6].id, by: "cleo")
                try await check(calls, as: ["ana", "ben", "cleo"])
                // The first unread message is hidden, and another one deleted for all.
                try await calls.delete(sent[2].id, by: "ana", .myDevices)
                try await calls.delete(sent[4].id, by: "cleo", .allParticipants)
                try await check(calls, as: ["ana", "ben", "cleo"])
                // Cleo leaves and the others continue. Ben hides the conversation, and a new message shows it again.
                try await calls.patch(mixed, [remove("cleo")])
                try await calls.patch(read, [remove("cleo")])
                try await calls.delete(mixed, by: "ben", .myDevices)
                try await calls.send(mixed, "after")
                for user in ["ana", "ben"] { try await calls.markAllRead(mixed, by: user) }
                try await check(calls, as: ["ana", "ben", "cleo"])
                try await calls.patch(mixed, [add("cleo")])
                try await calls.send(mixed, "again")
                try await check(calls, as: ["ana", "ben", "cleo", "dora"])
            }
        }

        @Test("the first load finds reads and hides stored in blocks")
        func patterns() async throws {
            try await CallsFixture.run { calls in
                try await calls.withRangeLimit(2) {
                    let id = try await calls.conversation(["ben", "cleo"])
                    try await calls.fill(id, with: 60)
                    for user in ["ben", "cleo"] {
                        _ = try await calls.receipts(
                            .read, (1...60).filter { $0 % 3 != 1 || $0 < 10 }, in: id, by: user)
                    }
                    for ordinal in stride(from: 2, to: 60, by: 4) {
                        try await calls.delete(calls.bulkMessage(id, ordinal), by: "ben", .myDevices)
                    }
                    try await check(calls, as: ["ana", "ben", "cleo"])
                    try await calls.patch(id, [remove("cleo")])
                    _ = try await calls.receipts(.read, Array(1...60), in: id, by: "ben")
                    try await check(calls, as: ["ana", "ben", "cleo"])
                }
            }
        }

        @Test("the first load returns the newest thousand unread messages and indicates that more exist")
        func many() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                try await calls.fill(id, with: 1200)
                let other = try await calls.conversation(["ben"])
                let page = try await calls.load(as: "ben")
                #expect(page.items.map(\.view.conversation.id) == [other, id] && page.end == nil)
                #expect(page.items[0].messages.isEmpty && !page.items[0].isTruncated)
                #expect(
                    page.items[1].isTruncated
                        && page.items[1].messages.map(\.id) == (201...1200).reversed().map { calls.bulkMessage(id, $0) }
                )
                // With exactly 1,000 unread messages, nothing is cut.
                _ = try await calls.receipts(.read, Array(1...200), in: id, by: "ben")
                let whole = try await calls.load(as: "ben").items[1]
                #expect(!whole.isTruncated && whole.messages.count == 1000)
                _ = try await calls.receipts(.read, Array(202...1199), in: id, by: "ben")
                let now = try await whole.with(view: calls.get(id, as: "ben")) {
                    try await calls.message($0, as: "ben")
                }
                #expect(try await calls.load(as: "ben").items[1] == now)
            }
        }

        @Test("a page ends at its byte limit, with at least one conversation and message, and the next page continues")
        func bytes() async throws {
            try await CallsFixture.run { calls in
                var ids: [ConversationID] = []
                for _ in 0..<4 {
                    ids.insert(try await calls.conversation(["ben"]), at: 0)
                    for _ in 0..<5 { try await calls.send(ids[0], String(repeating: "x", count: 1000)) }
                }
                let all = try await calls.load(messages: 5)
                #expect(all.items.map(\.messages.count) == [5, 5, 5, 5] && all.end == nil)
                // Enough bytes for one and a half conversations.
                let first = try await calls.load(messages: 5, bytes: 12_000)
                #expect(first.items == Array(all.items.prefix(1)) && first.end == ids[0].rawValue && first.total == 4)
                #expect(try await calls.loadAll(as: "ana", messages: 5, bytes: 12_000) == all.items)
                // Enough bytes for three messages, and for none.
                for (bytes, count) in [(5000, 3), (1, 1)] {
                    let cut = try await calls.loadAll(as: "ana", messages: 5, bytes: bytes)
                    #expect(cut.map(\.view) == all.items.map(\.view))
                    #expect(cut.allSatisfy { $0.isTruncated && $0.messages.count == count })
                    #expect(zip(cut, all.items).allSatisfy { $1.messages.starts(with: $0.messages) })
                }
            }
        }

        @Test("a page continues from a conversation of the user and refuses another cursor")
        func cursors() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                #expect(try await calls.load(from: id.rawValue, messages: 1).items.isEmpty)
                for unknown in [try await calls.create(["ben"], by: "cleo").id, .random()] {
                    let failure = try await calls.refusal { try await calls.load(from: unknown.rawValue, messages: 1) }
                    #expect(failure?.code == .invalidProperty && failure?.detail == .property("from_id"))
                }
            }
        }
    }
}

extension LoadedConversation {
    /// Returns a copy with this view, and with each message in its current state.
    fileprivate func with(
        view: ConversationView, _ read: (MessageID) async throws -> Message
    ) async throws -> LoadedConversation {
        var now: [Message] = []
        for message in messages { now.append(try await read(message.id)) }
        return LoadedConversation(view: view, messages: now, isTruncated: isTruncated)
    }
}
