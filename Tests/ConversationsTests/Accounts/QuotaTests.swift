// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf
import Testing

@testable import Conversations

extension StoreTests {
    /// Quotas of one user or one app. Several tasks ask concurrently, so that a check outside of a lock would be
    /// noticed.
    @Suite struct QuotaTests {
        private let quotas = CallsFixture.quotas

        @Test(
            "the quota of follows ignores users met in conversations; a refused follow stores nothing, and unfollowing frees quota"
        )
        func followed() async throws {
            try await CallsFixture.run { calls in
                let most = try #require(quotas.followed)
                _ = try await calls.conversation(["ben"])
                try await calls.follow(["ben"] + (1..<most).map { "user\($0)" })
                let identities = try await calls.identities()
                let refusal = try await calls.refusal { try await calls.follow(["new1", "new2"]) }
                #expect(refusal?.code == .invalidProperty && refusal?.detail == .property("user_ids"))
                #expect(try await calls.identities() == identities)
                let refused = await concurrently(6) { number in
                    try await calls.refusal { try await calls.follow(["other\(number)"]) } != nil
                }
                #expect(refused.filter { $0 }.count == 5)
                #expect(
                    try await calls.number("SELECT count(*) FROM conversations.follow WHERE app_id = '\(calls.app)'")
                        == Int64(most))
                try await calls.unfollow("user1")
                try await calls.follow(["user2", "new1"])
                #expect(try await calls.isFollowed("new1"))
            }
        }

        @Test(
            "users met in a deleted conversation stay followed without quota or identity; a user who never signed in is dropped"
        )
        func forgotten() async throws {
            try await CallsFixture.run { calls in
                let most = try #require(quotas.followed)
                let others = CallsFixture.participantsLimit - 1
                var conversations: [ConversationID] = []
                for round in 0..<3 {
                    conversations.append(try await calls.conversation((0..<others).map { "met\(round)-\($0)" }))
                }
                conversations.append(try await calls.conversation(["bare", "signed-in"]))
                try await calls.execute(
                    """
                    UPDATE conversations.identity SET display_name = 'Name' WHERE app_id = '\(calls.app)' AND (user_id LIKE 'met%' OR user_id = 'ana')
                    """)
                try await calls.execute(
                    """
                    INSERT INTO conversations.session (digest, app_id, user_id, expires_at)
                    VALUES (sha256('\(calls.app)'), '\(calls.app)', 'signed-in', now() + interval '1 day')
                    """)
                for id in conversations {
                    try await calls.delete(id, .allParticipants)
                    try await calls.execute(
                        "UPDATE conversations.conversation SET deleted_at = now() - interval '40 days' WHERE id = '\(id)'"
                    )
                }
                while try await calls.number("SELECT conversations.sweep_deleted('30 days', 1000)") > 0 {}
                let rows = "SELECT count(*) FROM conversations.follow WHERE app_id = '\(calls.app)'"
                let count = 3 * others
                #expect(count > most)
                #expect(try await calls.number(rows + " AND user_id = 'ana'") == Int64(count + 1))
                #expect(try await calls.number(rows + " AND 'bare' IN (user_id, followed)") == 0)
                for (user, isKept) in [("met0-0", true), ("signed-in", true), ("bare", false)] {
                    #expect(try await calls.isFollowed(user) == isKept)
                }

                try await calls.follow((0..<most).map { "user\($0)" } + ["met0-0"])
                #expect(try await calls.refusal { try await calls.follow(["one more"]) }?.code == .invalidProperty)
                try await calls.unfollow("met0-0")
                #expect(try await !calls.isFollowed("met0-0"))

                // After the end of their session, only the id of this user is known. The identity is removed together
                // with the record of the meeting.
                try await calls.execute("DELETE FROM conversations.session WHERE app_id = '\(calls.app)'")
                for _ in 0..<2 {
                    try await calls.execute(
                        """
                        UPDATE conversations.identity SET examined_at = now() - interval '25 hours'
                        WHERE app_id = '\(calls.app)' AND user_id IN ('signed-in', 'user0')
                        """)
                    _ = try await calls.number("SELECT looked_at FROM conversations.sweep_identities(1000)")
                }
                #expect(try await calls.number(rows + " AND 'signed-in' IN (user_id, followed)") == 0)
                let left = "SELECT count(*) FROM conversations.identity WHERE app_id = '\(calls.app)' AND user_id = "
                #expect(try await calls.number(left + "'signed-in'") == 0)
                #expect(try await calls.number(left + "'user0'") == 1)
            }
        }

        @Test("following users with an identity locks no identity rows, so the users can sign in meanwhile")
        func unlocked() async throws {
            try await CallsFixture.run { calls in
                try await calls.follow(["eve"], by: "ben")
                let follow = "conversations.follow_users_within('\(calls.app)', 'ana', ARRAY['eve', 'fay'], NULL)"
                let lock =
                    "SELECT FROM conversations.identity WHERE app_id = '\(calls.app)' AND user_id = 'eve' FOR UPDATE NOWAIT"
                let locked = try await calls.holding(follow, until: 0) {
                    try await calls.number("SELECT count(*) FROM (\(lock)) x")
                }
                #expect(locked == 1)
                #expect(Set(try await calls.followed(by: "ana")) == ["eve", "fay"])
            }
        }

        @Test(
            "unfollowing a user who was never met deletes the row; unfollowing a user who was met keeps an unfollowed row"
        )
        func unfollowed() async throws {
            try await CallsFixture.run { calls in
                try await calls.follow(["eve"])
                try await calls.unfollow("eve")
                #expect(
                    try await calls.number("SELECT count(*) FROM conversations.follow WHERE app_id = '\(calls.app)'")
                        == 0)
                let id = try await calls.conversation(["ben"])
                try await calls.patch(id, [remove("ben")])
                try await calls.unfollow("ben")
                #expect(try await !calls.isFollowed("ben"))
            }
        }

        @Test("a user has a device quota; a known device is renewed, and a stale device is replaced")
        func devices() async throws {
            try await CallsFixture.run { calls in
                let most = try #require(quotas.pushTokens)
                let refused = await concurrently(most + 3) { number in
                    try await calls.refusal { try await calls.setPushToken("device\(number)") }
                }
                #expect(refused.compactMap { $0 }.map(\.detail) == Array(repeating: .property("device_id"), count: 3))
                let count = "SELECT count(*) FROM conversations.push_token WHERE app_id = '\(calls.app)'"
                #expect(try await calls.number(count) == Int64(most))
                try await calls.setPushToken("device0", of: "ben")
                try await calls.execute(
                    """
                    UPDATE conversations.push_token SET updated_at = now() - interval '91 days' WHERE app_id = '\(calls.app)' AND user_id = 'ana'
                    """)
                for device in ["another", "another"] { try await calls.setPushToken(device) }
                #expect(try await calls.number(count + " AND user_id = 'ana'") <= Int64(most))
            }
        }

        @Test("quotas limit the content that a user announces; content in messages does not count")
        func uploads() async throws {
            try await CallsFixture.run { calls in
                let (most, bytes) = (try #require(quotas.uploads), Int64(try #require(quotas.uploadBytes)))
                let first = try await calls.content()
                let refused = await concurrently(most + 2) { _ in
                    try await calls.refusal { try await calls.content(uploaded: false) }
                }
                #expect(
                    refused.compactMap { $0 }.map(\.detail)
                        == Array(repeating: .property("Upload-Content-Length"), count: 3))
                let id = try await calls.conversation(["ben"])
                _ = try await calls.send(id, parts: [.text("look"), .content(first)])
                _ = try await calls.content()
                #expect(try await calls.refusal { try await calls.content() }?.code == .invalidProperty)
                // The byte quota, with another user.
                #expect(
                    try await calls.refusal { try await calls.content(of: "ben", size: bytes + 1) }?.detail
                        == .property("Upload-Content-Length"))
                let large = await concurrently(3) { _ in
                    try await calls.refusal { try await calls.content(of: "ben", size: bytes / 2 + 1) }
                }
                #expect(large.compactMap { $0 }.count == 2)
            }
        }

        @Test("app quotas limit the content announced by all users of an app; another app is unaffected")
        func appUploads() async throws {
            try await CallsFixture.run { calls in
                let (most, bytes) = (try #require(quotas.appUploads), Int64(try #require(quotas.appUploadBytes)))
                let refused = await concurrently(most + 4) { number in
                    try await calls.refusal { try await calls.content(of: "user\(number)", uploaded: false) }
                }
                #expect(refused.compactMap { $0 }.count == 4)
                let other = calls.with(app: .random())
                let large = await concurrently(8) { number in
                    try await other.refusal {
                        try await other.content(of: "user\(number)", size: bytes / 5, uploaded: false)
                    }
                }
                #expect(large.compactMap { $0 }.count == 3)
            }
        }

        @Test("a write that the database refuses creates no identities of the named users")
        func refusedRequests() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let before = try await calls.identities()
                let many = (0...CallsFixture.participantsLimit).map { "many\($0)" }
                #expect(try await calls.refusal { try await calls.create(many) }?.detail == .property("participants"))
                #expect(try await calls.refusal { try await calls.create(["taken"], id: id) }?.code == .idInUse)
                #expect(
                    try await calls.refusal { try await calls.patch(id, by: "eve", [add("stranger")]) }?.code
                        == .notFound)
                #expect(
                    try await calls.refusal { try await calls.patch(id, many.map { add($0) }) }?.detail
                        == .property("participants"))
                try await calls.patch(id, [add("gone"), remove("gone")])
                #expect(try await calls.identities() == before)
                try await calls.patch(id, [add("cleo")])
                #expect(try await calls.identities() == before + 1)
            }
        }

        /// Runs `body` in `count` concurrent tasks and returns the results of those that succeed.
        private func concurrently<Value: Sendable>(
            _ count: Int, _ body: @escaping @Sendable (Int) async throws -> Value
        ) async -> [Value] {
            await withTaskGroup(of: Value?.self) { group in
                for number in 0..<count { group.addTask { try? await body(number) } }
                return await group.reduce(into: []) { if let value = $1 { $0.append(value) } }
            }
        }
    }
}

extension CallsFixture {
    func identities() async throws -> Int64 {
        try await number("SELECT count(*) FROM conversations.identity WHERE app_id = '\(app)'")
    }
}
