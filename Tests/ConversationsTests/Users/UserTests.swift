// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct UserTests {
        private func openSessions(_ count: Int, of user: String, _ calls: CallsFixture) async throws {
            try await calls.execute(
                """
                INSERT INTO conversations.session (digest, app_id, user_id, created_at, expires_at)
                SELECT sha256((n || '\(calls.app)' || '\(user)')::bytea), '\(calls.app)', '\(user)', now() + n * interval '1 ms', now() + interval '30 days'
                FROM generate_series(1, \(count)) n
                """)
        }

        @Test("active sessions are listed newest first, in pages, by ids unrelated to their digests")
        func listing() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana")
                try await openSessions(5, of: "ana", calls)
                try await openSessions(1, of: "ben", calls)
                try await calls.execute(
                    "UPDATE conversations.session SET expires_at = now() WHERE digest = sha256((1 || '\(calls.app)ana')::bytea)"
                )
                let all = try await calls.sessions(of: "ana")
                #expect(all.total == 4 && all.sessions.count == 4)
                #expect(all.sessions.map(\.createdAt) == all.sessions.map(\.createdAt).sorted(by: >))
                #expect(all.sessions.allSatisfy { $0.usedAt == $0.createdAt && $0.expiresAt > $0.createdAt })
                let page = try await calls.sessions(of: "ana", pageSize: 2, from: all.sessions[0].id)
                #expect(page.sessions.map(\.id) == all.sessions[1...2].map(\.id))
                let digests = try await calls.number(
                    """
                    SELECT count(*) FROM conversations.session WHERE app_id = '\(calls.app)'
                        AND position(substr(replace(conversations.session_id(digest)::text, '-', ''), 1, 8) IN encode(digest, 'hex')) > 0
                    """)
                #expect(digests == 0)
                let refusal = try await calls.refusal { try await calls.sessions(of: "ana", from: Data(uuid: UUID())) }
                #expect(refusal?.code == .notFound)
                // A session that has ended meanwhile is no valid cursor either.
                _ = try await calls.endSessions(of: "ana", all.sessions[0].id)
                #expect(
                    try await calls.refusal { try await calls.sessions(of: "ana", from: all.sessions[0].id) }?.code
                        == .notFound)
            }
        }

        @Test("one session or all are ended, and gateways receive the sockets to close; other users' sessions stay")
        func ending() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana")
                try await openSessions(3, of: "ana", calls)
                try await openSessions(1, of: "ben", calls)
                let ids = try await calls.sessions(of: "ana").sessions.map(\.id)
                #expect(try await calls.endSessions(of: "ana", ids[1]) == 1)
                #expect(try await calls.endSessions(of: "ana", ids[1]) == 0)
                #expect(try await calls.endSessions(of: "ana", calls.sessions(of: "ben").sessions[0].id) == 0)
                #expect(try await calls.sessions(of: "ana").sessions.map(\.id) == [ids[0], ids[2]])
                #expect(try await calls.endSessions(of: "ana") == 2)
                #expect(try await calls.sessions(of: "ana").sessions.isEmpty)
                #expect(try await calls.sessions(of: "ben").sessions.count == 1)
                let told = try calls.notices("ana")
                    .compactMap { if case .sessionEnded(let digest) = $0 { digest } else { nil } }
                #expect(Set(told).count == 3)
                #expect(try calls.notices("ben").isEmpty)
            }
        }

        @Test("a suspension closes the user's sockets and requires a known user")
        func suspension() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana")
                for _ in 0..<2 { try await calls.suspend("ana") }
                #expect(try calls.notices("ana").filter { $0 == .sessionEnded(tokenDigest: nil) }.count == 2)
                try await calls.suspend("ana", false)
                #expect(
                    try await calls.number(
                        "SELECT count(*) FROM conversations.identity WHERE app_id = '\(calls.app)' AND suspended") == 0)
                #expect(try await calls.refusal { try await calls.suspend("ben") }?.code == .notFound)
            }
        }

        @Test("an app's session lifetime shortens its existing sessions and no other app's")
        func lifetime() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                let other = calls.with(app: .random())
                for fixture in [calls, other] {
                    try await openSessions(3, of: "ana", fixture)
                    try await openSessions(2, of: "ben", fixture)
                }
                func far(_ fixture: CallsFixture) async throws -> Int64 {
                    try await fixture.number(
                        "SELECT count(*) FROM conversations.session WHERE app_id = '\(fixture.app)' AND expires_at > now() + interval '1 hour'"
                    )
                }
                try await calls.patchApp(sessionTTL: 3600)
                #expect(try await far(calls) == 0)
                #expect(try await far(other) == 5)
                #expect(
                    try await calls.number("SELECT session_ttl FROM conversations.app WHERE id = '\(calls.app)'")
                        == 3600)
                try await calls.patchApp(counts: "external")
                #expect(
                    try await calls.number("SELECT session_ttl FROM conversations.app WHERE id = '\(calls.app)'")
                        == 3600)
                try await calls.patchApp(sessionTTL: 0)
                #expect(
                    try await calls.number(
                        "SELECT count(*) FROM conversations.app WHERE id = '\(calls.app)' AND session_ttl IS NULL") == 1
                )
                #expect(try await calls.refusal { try await other.patchApp(sessionTTL: 3600) }?.code == .invalidAppID)
            }
        }

        @Test("a badge has the unread count of the user's listed conversations beside the app's own number")
        func badge() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                try await calls.users("ana", "ben")
                let (first, second) = (try await calls.conversation(), try await calls.conversation())
                for _ in 0..<3 { try await calls.send(first, by: "ana") }
                let last = try await calls.send(second, by: "ana")
                try await calls.send(second, by: "ben")
                var badge = try await calls.badge(of: "ben")
                #expect(
                    (badge.externalUnreadCount, badge.unreadConversationCount, badge.unreadMessageCount) == (0, 2, 4))
                try await calls.receipt(.read, last.id, by: "ben")
                badge = try await calls.badge(of: "ben", setting: 7)
                #expect(
                    (badge.externalUnreadCount, badge.unreadConversationCount, badge.unreadMessageCount) == (7, 1, 3))
                try await calls.delete(first, by: "ben")
                badge = try await calls.badge(of: "ben")
                #expect(
                    (badge.externalUnreadCount, badge.unreadConversationCount, badge.unreadMessageCount) == (7, 0, 0))
                #expect(try await calls.refusal { try await calls.badge(of: "cleo", setting: 1) }?.code == .notFound)
                #expect(try await calls.refusal { try await calls.badge(of: "cleo") }?.code == .notFound)
            }
        }

        @Test(
            "the app's settings determine the number on the icon",
            arguments: [
                ("unread_messages", false, 7), ("unread_conversations", false, 6), ("external", false, 5),
                ("external", true, 6),
                ("unread_messages", true, 8),
            ] as [(String, Bool, Int64)])
        func number(_ counts: String, _ announcements: Bool, _ expected: Int64) async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                try await calls.users("ana", "ben")
                let conversation = try await calls.conversation()
                for _ in 0..<2 { try await calls.send(conversation, by: "ana") }
                try await calls.announce(["ben"])
                _ = try await calls.badge(of: "ben", setting: 5)
                try await calls.patchApp(counts: counts, announcements: announcements)
                #expect(
                    try await calls.number("SELECT badge FROM conversations.get_badge('\(calls.app)', 'ben')")
                        == expected)
            }
        }

        @Test("a notification is refused with a reason if no webhook takes pushes")
        func notification() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                let refusal = try await calls.refusal {
                    _ = try await calls.call(UsersAPI.notify) {
                        $0.appID = Data(calls.app)
                        $0.recipients = ["ana"]
                        $0.notification = #"{"text":"hello"}"#
                        $0.overrides = "{}"
                    }
                }
                #expect(refusal?.code == .invalidOperation && refusal?.message.contains("webhook") == true)
            }
        }

        @Test("webhooks receive a push per recipient with its overrides and badge, and each badge change")
        func push() async throws {
            try await CallsFixture.run(on: try await ServiceFixture.migratedDatabase()) { calls in
                try await calls.register()
                try await calls.pushWebhook()
                try await calls.users("ana", "ben")
                try await calls.send(calls.conversation(), by: "ana")
                // Replace the function that records events by one that stores its arguments.
                try await calls.execute(
                    """
                    DO $made$ BEGIN
                    CREATE TABLE public.pushed (users text[], badges bigint[], notification jsonb);
                    GRANT INSERT ON public.pushed TO strata_conversations;
                    CREATE OR REPLACE FUNCTION webhooks.push(
                        p_app uuid, p_id uuid, p_users text[], p_badges bigint[], p_notification jsonb, p_conversation uuid DEFAULT NULL,
                        p_message uuid DEFAULT NULL) RETURNS bigint LANGUAGE plpgsql AS
                    'BEGIN INSERT INTO public.pushed VALUES (p_users, p_badges, p_notification); RETURN 1; END';
                    END $made$
                    """)
                _ = try await calls.call(UsersAPI.notify) {
                    $0.appID = Data(calls.app)
                    $0.recipients = ["ana", "ben"]
                    $0.notification = #"{"text":"x","sound":"s"}"#
                    $0.overrides = #"{"ben":{"text":"y"}}"#
                }
                try await calls.setPushToken("d", of: "ben")
                for count: Int64 in [4, 4] { _ = try await calls.badge(of: "ben", setting: count) }
                // A repetition under the same name is recorded once.
                let name = IdempotencyKey.random
                for _ in 0..<2 {
                    try await calls.named(
                        name, UsersAPI.notify,
                        .with {
                            $0.appID = Data(calls.app)
                            $0.recipients = ["ana"]
                            $0.notification = #"{"text":"once"}"#
                            $0.overrides = "{}"
                        })
                }
                for (users, badges, notification) in [
                    ("{ana}", "{0}", #"{"text":"x","sound":"s"}"#), ("{ben}", "{1}", #"{"text":"y","sound":"s"}"#),
                    ("{ben}", "{5}", nil),
                    ("{ana}", "{0}", #"{"text":"once"}"#),
                ] as [(String, String, String?)] {
                    let condition = notification.map { "notification = '\($0)'" } ?? "notification IS NULL"
                    let found = try await calls.number(
                        "SELECT count(*) FROM public.pushed WHERE users = '\(users)' AND badges = '\(badges)' AND \(condition)"
                    )
                    #expect(found == 1, "\(users) \(badges)")
                }
                #expect(try await calls.number("SELECT count(*) FROM public.pushed") == 4)
                // Totals that the badge does not use are not computed.
                try await calls.execute(
                    """
                    CREATE OR REPLACE FUNCTION conversations.unread_totals(p_app uuid, p_user text, OUT conversations bigint, OUT messages bigint)
                    LANGUAGE plpgsql STABLE AS 'BEGIN RAISE EXCEPTION ''counted''; END'
                    """)
                for (counts, badges) in [("external", "{4}"), ("disabled", "{NULL}")] {
                    try await calls.patchApp(counts: counts)
                    _ = try await calls.call(UsersAPI.notify) {
                        $0.appID = Data(calls.app)
                        $0.recipients = ["ben"]
                        $0.notification = #"{"text":"cheap"}"#
                        $0.overrides = "{}"
                    }
                    #expect(
                        try await calls.number("SELECT count(*) FROM public.pushed WHERE badges = '\(badges)'") == 1)
                }
            }
        }

        @Test("an identity change with an idempotency key runs once, whatever changed since; a refused one is retried")
        func namedIdentity() async throws {
            try await CallsFixture.run { calls in
                let ana = UserID(trusted: "ana")
                func writing(_ mode: String, _ text: String) -> ProtoWriteIdentityRequest {
                    .with {
                        $0.appID = Data(calls.app)
                        $0.userID = "ana"
                        $0.mode = mode
                        $0.values = [.with { ($0.name, $0.value) = ("display_name", text) }]
                    }
                }
                func shown() async throws -> String? {
                    try await
                        IdentityDirectory(database: calls.database).full([ana], in: calls.app, deadline: .soon)[ana]?
                        .basic.displayName
                }
                let (refused, created, patched) = (IdempotencyKey.random, IdempotencyKey.random, IdempotencyKey.random)
                #expect(
                    try await calls.refusal {
                        try await calls.named(refused, UsersAPI.writeIdentity, writing("patch", "A"))
                    }?
                    .code == .notFound)
                for _ in 0..<2 { try await calls.named(created, UsersAPI.writeIdentity, writing("create", "Ana")) }
                try await calls.named(patched, UsersAPI.writeIdentity, writing("patch", "Anna"))
                try await calls.writeIdentity("patch", of: "ana", ["display_name": "Annika"])
                try await calls.named(patched, UsersAPI.writeIdentity, writing("patch", "Anna"))
                #expect(try await shown() == "Annika")
                let other = IdempotencyKey(id: patched.id, fingerprint: patched.fingerprint &+ 1)
                let wrong = try await calls.refusal {
                    try await calls.named(other, UsersAPI.writeIdentity, writing("patch", "X"))
                }
                #expect(wrong?.code == .invalidHeader)
                #expect(try await shown() == "Annika")
                try await calls.named(refused, UsersAPI.writeIdentity, writing("patch", "A"))
                #expect(try await shown() == "A")
            }
        }

        @Test("requests with an idempotency key run once: sessions, suspension, badge, settings and erasure")
        func named() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                try await calls.users("ana")
                let names = (0..<6).map { _ in IdempotencyKey.random }

                let suspending = ProtoSuspendUserRequest.with {
                    ($0.appID, $0.userID, $0.isSuspended) = (Data(calls.app), "ana", true)
                }
                try await calls.named(names[0], UsersAPI.suspendUser, suspending)
                try await calls.suspend("ana", false)
                try await calls.named(names[0], UsersAPI.suspendUser, suspending)
                #expect(
                    try await calls.number(
                        "SELECT count(*) FROM conversations.identity WHERE app_id = '\(calls.app)' AND suspended") == 0)

                try await openSessions(2, of: "ana", calls)
                let one = try await calls.sessions(of: "ana").sessions[0].id
                let ending = ProtoEndSessionsRequest.with { ($0.appID, $0.userID) = (Data(calls.app), "ana") }
                let endingOne = ProtoEndSessionsRequest.with {
                    ($0.appID, $0.userID, $0.id) = (Data(calls.app), "ana", one)
                }
                for _ in 0..<2 { #expect(try await calls.named(names[1], UsersAPI.endSessions, endingOne).ended == 1) }
                #expect(try await calls.sessions(of: "ana").total == 1)
                try await calls.named(names[2], UsersAPI.endSessions, ending)
                try await openSessions(2, of: "ana", calls)
                #expect(try await calls.named(names[2], UsersAPI.endSessions, ending).ended > 0)
                #expect(try await calls.sessions(of: "ana").total == 2)

                let badge = ProtoBadgeRequest.with {
                    ($0.appID, $0.userID, $0.externalUnreadCount) = (Data(calls.app), "ana", 5)
                }
                #expect(try await calls.named(names[3], UsersAPI.badge, badge).externalUnreadCount == 5)
                _ = try await calls.badge(of: "ana", setting: 7)
                #expect(try await calls.named(names[3], UsersAPI.badge, badge).externalUnreadCount == 7)

                let setting = ProtoPatchAppRequest.with { ($0.appID, $0.sessionTtl) = (Data(calls.app), 3600) }
                try await calls.named(names[4], UsersAPI.patchApp, setting)
                try await calls.patchApp(sessionTTL: 7200)
                try await calls.named(names[4], UsersAPI.patchApp, setting)
                #expect(
                    try await calls.number("SELECT session_ttl FROM conversations.app WHERE id = '\(calls.app)'")
                        == 7200)

                let erasing = ProtoEraseUserRequest.with { ($0.appID, $0.userID) = (Data(calls.app), "ana") }
                try await calls.named(names[5], UsersAPI.eraseUser, erasing)
                try await calls.users("ana")
                try await calls.named(names[5], UsersAPI.eraseUser, erasing)
                #expect(try await calls.refusal { try await calls.users("ana") }?.code == .idInUse)
            }
        }

        @Test("an announcement with an idempotency key is sent once, and the key is refused for another one")
        func namedAnnouncement() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                try await calls.users("ana")
                func announcing(_ text: String, as id: AnnouncementID) -> ProtoAnnounceRequest {
                    .with {
                        $0.appID = Data(calls.app)
                        $0.id = Data(id)
                        $0.senderUserID = "ana"
                        $0.recipients = ["ana"]
                        $0.parts = [ProtoMessagePart(.text(text))]
                    }
                }
                let (name, id) = (IdempotencyKey.random, AnnouncementID.random())
                let first = try await calls.named(name, UsersAPI.announce, announcing("news", as: id))
                let again = try await calls.named(name, UsersAPI.announce, announcing("news", as: id))
                #expect(again == first && first.sender.displayName == "ANA")
                let other = IdempotencyKey(id: name.id, fingerprint: name.fingerprint &+ 1)
                let refusal = try await calls.refusal {
                    try await calls.named(other, UsersAPI.announce, announcing("other", as: .random()))
                }
                #expect(refusal?.code == .invalidHeader)
                #expect(try calls.notices("ana").count == 1)
            }
        }

        @Test(
            "a repeated announcement id returns the first answer for the same request, and is refused for another one")
        func announcing() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                try await calls.users("ana", "ben")
                let (id, part) = (AnnouncementID.random(), UUID())
                let first = try await calls.announceOnce("news", to: ["ana", "ben"], id: id, part: part)
                let again = try await calls.announceOnce("news", to: ["ben", "ana", "ben"], id: id)
                #expect(again == first && first.parts.map(\.id) == [Data(uuid: part)])
                #expect(try calls.notices("ana").count == 1)
                for other in [
                    { _ = try await calls.announceOnce("other news", to: ["ana", "ben"], id: id) },
                    { _ = try await calls.announceOnce("news", to: ["ana"], id: id) },
                    { _ = try await calls.announceOnce("news", to: ["ana", "ben"], id: id, by: "ana") },
                ] as [() async throws -> Void] {
                    #expect(try await calls.refusal { try await other() }?.code == .idInUse)
                }
                // Two Unicode spellings of a name are two recipients.
                let (spellings, spelled) = (["caf\u{e9}", "cafe\u{301}"], AnnouncementID.random())
                try await calls.announceOnce("news", to: spellings, id: spelled)
                for spelling in spellings {
                    #expect(
                        try await calls.refusal { try await calls.announceOnce("news", to: [spelling], id: spelled) }?
                            .code == .idInUse)
                }
                let message = try await calls.send(calls.conversation(), by: "ana")
                let taken = AnnouncementID(rawValue: message.id.rawValue)
                #expect(
                    try await calls.refusal { try await calls.announceOnce("news", to: ["ana"], id: taken) }?.code
                        == .idInUse)
                #expect(try await calls.announceOnce("by Ana", to: ["ben"], by: "ana").sender.displayName == "ANA")
                #expect(
                    try await calls.refusal { try await calls.announceOnce("x", to: ["ben"], by: "dora") }?.detail
                        == .property("sender_id"))
            }
        }
    }
}
