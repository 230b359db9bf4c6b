// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    /// Erasures concurrent with other events: old sockets, the user's return, other erasures, a clock correction.
    @Suite struct ErasureRaceTests {
        /// Signs in a user who returns under the same id.
        private func signIn(_ user: String, _ calls: CallsFixture) async throws {
            try await calls.execute(
                """
                INSERT INTO conversations.session (digest, app_id, user_id, expires_at)
                VALUES (sha256(gen_random_uuid()::text::bytea), '\(calls.app)', '\(user)', now() + interval '1 day')
                """)
        }

        private func isStored(_ id: AnnouncementID, _ calls: CallsFixture) async throws -> Bool {
            try await calls.number("SELECT count(*) FROM conversations.announcement WHERE id = '\(id)'") == 1
        }

        @Test("an erasure also deletes writes of a socket whose gateway missed the notice, for most of a minute")
        func lateSocket() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana", "ben")
                let conversation = try await calls.conversation()
                try await calls.erase("ana")
                try await calls.workOffErasures()
                let late = try await calls.send(conversation, by: "ana", parts: [.text("late")])
                // 61 seconds have passed since the request, and the message was sent in between.
                try await calls.ageErasures()
                try await calls.execute(
                    "UPDATE conversations.message SET sent_at = sent_at - interval '30 seconds' WHERE id = '\(late.id)'"
                )
                try await calls.workOffErasures()
                #expect(try await calls.message(late.id, as: "ben").parts.isEmpty)
            }
        }

        @Test(
            "an erasure deletes messages with times ahead of a clock that was set back, but not those of a returned user"
        )
        func clock() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana", "ben", "cleo")
                let conversation = try await calls.conversation(["ben", "cleo"])
                func sendAhead(_ user: String) async throws -> MessageID {
                    let id = try await calls.send(conversation, by: user, parts: [.text("ahead")]).id
                    try await calls.execute(
                        "UPDATE conversations.message SET sent_at = sent_at + interval '1 hour' WHERE id = '\(id)'")
                    return id
                }
                let old = try await sendAhead("ana")
                for user in ["ana", "cleo"] { try await calls.erase(user) }
                try await signIn("cleo", calls)
                let new = try await sendAhead("cleo")
                try await calls.workOffErasures()
                #expect(try await calls.message(old, as: "ben").parts.isEmpty)
                #expect(try await calls.message(new, as: "ben").parts.count == 1)
            }
        }

        @Test("a late first round deletes only messages written within a minute of the request")
        func lateRound() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana", "ben")
                let conversation = try await calls.conversation()
                let old = try await calls.send(conversation, by: "ana", parts: [.text("old")])
                try await calls.erase("ana")
                try await calls.execute(
                    "UPDATE conversations.message SET sent_at = sent_at - interval '11 minutes' WHERE id = '\(old.id)'")
                try await calls.execute(
                    """
                    UPDATE conversations.erasure
                    SET requested_at = requested_at - interval '10 minutes', not_before = not_before - interval '10 minutes'
                    WHERE app_id = '\(calls.app)'
                    """)
                let new = try await calls.sendByServer(conversation, by: "ana")
                try await calls.workOffErasures()
                #expect(try await calls.message(old.id, as: "ben").parts.isEmpty)
                #expect(try await calls.message(new.id, as: "ben").parts.count == 1)
            }
        }

        @Test(
            "an erasure deletes announcements that no other user has; announcements that the user sent stay without parts"
        )
        func announcements() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                try await calls.users("ana", "ben")
                let (own, both, sent) = (
                    try await calls.announce(["ana"]), try await calls.announce(["ana", "ben"]), AnnouncementID.random()
                )
                try await calls.announceOnce("from ana", to: ["ben"], id: sent, by: "ana")
                try await calls.erase("ana")
                try await calls.workOffErasures()
                #expect(try await !isStored(own, calls))
                #expect(try await isStored(both, calls))
                let left = try await calls.announcements(of: "ben")
                #expect(Set(left.map(\.id)) == [both, sent])
                #expect(left.first { $0.id == both }?.parts.count == 1)
                #expect(left.first { $0.id == sent }?.parts.isEmpty == true)
            }
        }

        @Test(
            "when two users are erased concurrently, the last erasure deletes an announcement that only these two had")
        func lastRecipients() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                try await calls.users("ana", "ben")
                let id = try await calls.announce(["ana", "ben"])
                try await calls.erase("ben")
                try await calls.holding("conversations.forget_announcements('\(calls.app)', 'ana', 1000, 'infinity')") {
                    _ = try await calls.workOffErasures()
                }
                #expect(try await !isStored(id, calls))
            }
        }

        @Test("an erasure deletes blocks of the user, also from the log; blocks by the user after returning stay")
        func blocks() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana", "ben", "cleo")
                try await calls.block(["ben"], by: "ana")
                try await calls.erase("ana")
                try await signIn("ana", calls)
                try await calls.block(["cleo"], by: "ana")
                func logged(_ text: String) async throws -> Int64 {
                    try await calls.number(
                        """
                        SELECT count(*) FROM conversations.user_change
                        WHERE app_id = '\(calls.app)' AND user_id = 'ana' AND kind = 22 AND operations::text LIKE '%\(text)%'
                        """)
                }
                #expect(try await logged("ben") == 1)
                for round in 1...2 {
                    try await calls.workOffErasures()
                    #expect(try await calls.blocks(of: "ana").users == ["cleo"], "round \(round)")
                    try await calls.ageErasures()
                }
                #expect(
                    try await calls.number("SELECT count(*) FROM conversations.erasure WHERE app_id = '\(calls.app)'")
                        == 0)
                #expect(try await logged("ben") == 0)
                #expect(try await logged("cleo") == 1)
                #expect(try await logged("") == 2)
                #expect(try await calls.readLogs(as: "ana", [:], userAfter: .zero).userChanges.count == 2)
            }
        }

        @Test("an erasure discards a message that its sender is scheduling at the same time")
        func delayed() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana", "ben")
                let conversation = try await calls.conversation()
                try await calls.holding(
                    """
                    conversations.delay_message(
                        '\(calls.app)', 'ana', '\(conversation)', '\(MessageID.random())', '\\x01', NULL, NULL, NULL, 3600000, 0, NULL)
                    """
                ) { try await calls.erase("ana") }
                #expect(
                    try await calls.number(
                        "SELECT count(*) FROM conversations.delayed_message WHERE app_id = '\(calls.app)'") == 0)
            }
        }
    }
}
