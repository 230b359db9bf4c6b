// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel
import Testing

@testable import Conversations

@Suite struct SessionsTests {
    @Test("a session lookup with an unknown token fails")
    func unknown() async throws {
        try await AccountsFixture.run { accounts in
            await #expect(throws: Failure.sessionEnded) {
                _ = try await accounts.sessions.find(SessionToken.random(of: .random()).digest, deadline: .soon)
            }
            await #expect(throws: Failure.sessionEnded) { _ = try await accounts.sessions.find([], deadline: .soon) }
        }
    }

    @Test("the database stores only the digest of a token")
    func digestOnly() async throws {
        try await AccountsFixture.run { accounts in
            let token = try await accounts.open(accounts.token()).sessionToken
            let found = try await accounts.base.number(
                "SELECT count(*) FROM conversations.session WHERE digest = sha256('\(token.text)'::bytea) AND session::text NOT LIKE '%\(token.text)%'"
            )
            #expect(found == 1)
        }
    }

    @Test("an ended session stays ended, is announced once, and accepts a second end")
    func ending() async throws {
        try await AccountsFixture.run { accounts in
            let digest = try await accounts.open(accounts.token()).sessionToken.digest
            for _ in 0..<2 { try await accounts.sessions.end(digest, deadline: .soon) }
            await #expect(throws: Failure.sessionEnded) {
                _ = try await accounts.sessions.find(digest, deadline: .soon)
            }
            let expected = UserNotice(
                appID: accounts.app, user: UserID(trusted: "ana"), content: .sessionEnded(tokenDigest: digest))
            #expect(try accounts.base.published.notices() == [expected])
        }
    }

    @Test("a session expires 30 days after its last use, and its row is updated at most once a day")
    func sliding() async throws {
        try await AccountsFixture.run { accounts in
            let digest = try await accounts.open(accounts.token()).sessionToken.digest
            let left = "SELECT round(extract(epoch FROM expires_at - now()) / 86400)::int8 FROM conversations.session"
            func age(_ days: Int) async throws {
                try await accounts.base.execute(
                    "UPDATE conversations.session SET expires_at = now() + interval '30 days' - interval '\(days) days'"
                )
            }
            #expect(try await accounts.base.number(left) == 30)
            try await accounts.base.execute(
                "UPDATE conversations.session SET expires_at = now() + interval '29 days 12 hours'")
            let before = try await accounts.base.number(
                "SELECT extract(epoch FROM expires_at)::int8 FROM conversations.session")
            _ = try await accounts.sessions.find(digest, deadline: .soon)
            #expect(
                try await accounts.base.number("SELECT extract(epoch FROM expires_at)::int8 FROM conversations.session")
                    == before)
            try await age(2)
            _ = try await accounts.sessions.find(digest, deadline: .soon)
            #expect(try await accounts.base.number(left) == 30)
            try await age(20)
            #expect(try await accounts.sessions.ended([digest], deadline: .soon).isEmpty)
            #expect(try await accounts.base.number(left) == 30)
            try await age(30)
            await #expect(throws: Failure.sessionEnded) {
                _ = try await accounts.sessions.find(digest, deadline: .soon)
            }
        }
    }

    @Test(
        "a session has its creation time and the earliest time of a complete replay: the later of creation and log start"
    )
    func begins() async throws {
        try await AccountsFixture.run { accounts in
            let digest = try await accounts.open(accounts.token()).sessionToken.digest
            let made = try await accounts.base.number(
                "SELECT (extract(epoch FROM created_at) * 1000000)::int8 FROM conversations.session")
            let session = try await accounts.sessions.find(digest, deadline: .soon)
            #expect(session.createdAt.microseconds == made)
            #expect(session.replayableSince == session.createdAt)
            try await accounts.base.execute(
                "UPDATE conversations.log_begin SET at = (SELECT created_at + interval '1 hour' FROM conversations.session)"
            )
            let later = try await accounts.sessions.find(digest, deadline: .soon)
            #expect(later.createdAt == session.createdAt)
            // Includes the 30 s margin of a replay.
            #expect(later.replayableSince == session.createdAt.advanced(by: .seconds(3600 + 30)))
        }
    }

    @Test("a session check returns exactly the ended sessions, in request order")
    func checking() async throws {
        try await AccountsFixture.run { accounts in
            let first = try await accounts.open(accounts.token()).sessionToken.digest
            let second = try await accounts.open(accounts.token("ben")).sessionToken.digest
            let third = try await accounts.open(accounts.token("cleo")).sessionToken.digest
            let unknown = SessionToken.random(of: .random()).digest
            try await accounts.base.execute("UPDATE conversations.identity SET suspended = true WHERE user_id = 'cleo'")
            try await accounts.sessions.end(second, deadline: .soon)
            #expect(
                try await accounts.sessions.ended([third, first, unknown, second], deadline: .soon) == [
                    third, unknown, second,
                ])
            #expect(try await accounts.sessions.ended([], deadline: .soon).isEmpty)
            try await accounts.base.execute("UPDATE conversations.app SET suspended = true")
            #expect(try await accounts.sessions.ended([first], deadline: .soon) == [first])
            await #expect(throws: Failure.sessionEnded) { _ = try await accounts.sessions.find(first, deadline: .soon) }
        }
    }
}
