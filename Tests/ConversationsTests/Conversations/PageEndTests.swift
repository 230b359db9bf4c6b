// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    /// The indication in an answer that more objects follow a page.
    @Suite struct PageEndTests {
        /// Expects each page to name the start of the next one, the last page to name none, and all pages to add up to
        /// the list.
        private func check(
            _ expected: [UUID], sizes: [Int], bytes: [Int],
            _ fetch: (_ size: Int, _ from: UUID?, _ bytes: Int) async throws -> CallsFixture.Page<UUID>
        ) async throws {
            for size in sizes {
                for bytes in bytes {
                    var rest = expected[...]
                    var from: UUID?
                    repeat {
                        let page = try await fetch(size, from, bytes)
                        #expect(page.total == expected.count)
                        let whole = rest.prefix(size)
                        // A cut page has at least one object, and its end is still known.
                        #expect(
                            whole.starts(with: page.items)
                                && (page.isCut ? page.items.count <= size : page.items.count == whole.count))
                        #expect(!page.items.isEmpty || expected.isEmpty)
                        rest = rest.dropFirst(size)
                        #expect(page.end == (rest.isEmpty ? nil : whole.last))
                        from = page.end
                    } while from != nil
                    #expect(rest.isEmpty)
                }
            }
        }

        @Test("conversation pages indicate the end of the list, in both orders", arguments: [false, true])
        func conversations(byLastMessage: Bool) async throws {
            try await CallsFixture.run { calls in
                var ids: [UUID] = []
                for _ in 0..<6 {
                    ids.insert(try await calls.conversation(["ben"]).rawValue, at: 0)
                    try await calls.send(ConversationID(rawValue: ids[0]), by: "ben")
                }
                try await check(ids, sizes: [1, 2, 3, 5, 6, 7], bytes: [0, 1, 1500]) { size, from, bytes in
                    try await calls.listPage(byLastMessage: byLastMessage, pageSize: size, from: from, bytes: bytes)
                }
                // An object removed from the list is not counted as following a page.
                try await calls.delete(ConversationID(rawValue: ids[5]), .myDevices)
                #expect(try await calls.listPage(byLastMessage: byLastMessage, pageSize: 5).end == nil)
                try await check([], sizes: [1], bytes: [0]) { size, from, bytes in
                    try await calls.listPage(as: "eve", pageSize: size, bytes: bytes)
                }
            }
        }

        @Test("message pages indicate the end of the list, also with hidden or deleted last messages")
        func messages() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                var sent: [UUID] = []
                for _ in 0..<6 { sent.insert(try await calls.send(id).id.rawValue, at: 0) }
                try await check(sent, sizes: [1, 2, 3, 5, 6, 7], bytes: [0, 1, 900]) { size, from, bytes in
                    try await calls.messagePage(id, pageSize: size, from: from, bytes: bytes)
                }
                try await calls.delete(MessageID(rawValue: sent[5]), by: "ana", .myDevices)
                try await calls.delete(MessageID(rawValue: sent[4]), by: "ana", .allParticipants)
                try await check(Array(sent.prefix(4)), sizes: [2, 3, 4, 5], bytes: [0, 900]) { size, from, bytes in
                    try await calls.messagePage(id, pageSize: size, from: from, bytes: bytes)
                }
                #expect(try await calls.messagePage(id, as: "ben", pageSize: 4).end == sent[3])
                let empty = try await calls.conversation()
                #expect(try await calls.messagePage(empty, pageSize: 1).end == nil)
            }
        }

        @Test("announcement pages indicate the end of the list")
        func announcements() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                var sent: [UUID] = []
                for _ in 0..<4 { sent.insert(try await calls.announce(["ana"]).rawValue, at: 0) }
                try await check(sent, sizes: [1, 2, 3, 4, 5], bytes: [0, 1, 600]) { size, from, bytes in
                    try await calls.announcementPage(of: "ana", pageSize: size, from: from, bytes: bytes)
                }
                try await calls.removeAnnouncement(AnnouncementID(rawValue: sent[3]), by: "ana")
                #expect(try await calls.announcementPage(of: "ana", pageSize: 3).end == nil)
                #expect(try await calls.announcementPage(of: "ben", pageSize: 3).end == nil)
            }
        }
    }
}
