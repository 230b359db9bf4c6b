// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct ContentTests {
        @Test("only the uploader and readers of a referring message see content")
        func access() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let content = try await calls.content()
                #expect(try await calls.canSee(content, "ana"))
                #expect(try await calls.canSee(content, "ben") == false)
                let message = try await calls.send(id, parts: [.content(content), .text("look")])
                #expect(message.parts.first?.size == 10)
                #expect(try await calls.canSee(content, "ben"))
                #expect(try await calls.canSee(content, "cleo") == false)
                #expect(try await calls.with(app: .random()).canSee(content, "ana") == false)
                try await calls.delete(message.id, by: "ben", .myDevices)
                #expect(try await calls.canSee(content, "ben") == false)
                // A user who sees the content forwards it.
                let other = try await calls.conversation(["cleo"])
                _ = try await calls.send(other, parts: [.content(content)])
                #expect(try await calls.canSee(content, "cleo"))
            }
        }

        @Test("a user cannot send missing or forbidden content")
        func unsendable() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let (foreign, unfinished) = (
                    try await calls.content(of: "cleo"), try await calls.content(uploaded: false)
                )
                for content in [foreign, unfinished, .random()] {
                    let failure = try await calls.refusal {
                        try await calls.send(id, parts: [.text("a"), .content(content)])
                    }
                    #expect(failure?.detail == .property("parts.1.content"))
                }
                #expect(try await calls.get(id).messageCount == 0)
            }
        }

        @Test(
            "when the last two referring messages are deleted concurrently, the later deletion finds the content unreferenced"
        )
        func lastReferences() async throws {
            try await CallsFixture.run { calls in
                let content = try await calls.content()
                let first = try await calls.send(try await calls.conversation(["ben"]), parts: [.content(content)]).id
                let second = try await calls.send(try await calls.conversation(["ben"]), parts: [.content(content)]).id
                try await calls.holding(
                    "conversations.delete_message('\(calls.app)', 'ana', '\(first)', 'all_participants', NULL, NULL)"
                ) {
                    try await calls.delete(second, by: "ana", .allParticipants)
                }
                #expect(
                    try await calls.number(
                        "SELECT count(*) FROM conversations.content WHERE id = '\(content)' AND unreferenced_since IS NOT NULL"
                    )
                        == 1)
            }
        }

        @Test("a sweep deletes unreferenced content after a delay, and keeps referenced content")
        func sweep() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let (unused, used, lost) = (
                    try await calls.content(), try await calls.content(), try await calls.content()
                )
                _ = try await calls.send(id, parts: [.content(used)])
                let message = try await calls.send(id, parts: [.content(lost)])
                try await calls.delete(message.id, by: "ana", .allParticipants)
                let mine = Set([unused, used, lost])
                #expect(try await calls.sweepContents(olderThan: 3600).filter { mine.contains($0) }.isEmpty)
                #expect(Set(try await calls.sweepContents(olderThan: 0)).intersection(mine) == [unused, lost])
                #expect(try await calls.canSee(unused, "ana") == false)
                #expect(
                    try await calls.refusal { try await calls.send(id, parts: [.content(unused)]) }?.detail
                        == .property("parts.0.content"))
                // A sweep repeats contents until their bytes are deleted.
                #expect(Set(try await calls.sweepContents(olderThan: 0)).intersection(mine) == [unused, lost])
                _ = try await calls.call(AccountAPI.forgetContents) {
                    $0.contentIds = [Data(unused), Data(lost), Data(used)]
                }
                #expect(Set(try await calls.sweepContents(olderThan: 0)).intersection(mine).isEmpty)
                #expect(try await calls.canSee(used, "ben"))
                #expect(
                    try await calls.refusal {
                        try await calls.call(AccountAPI.finishContent) { $0.contentID = Data(unused) }
                    }?
                    .code
                        == .notFound)
            }
        }
    }
}
