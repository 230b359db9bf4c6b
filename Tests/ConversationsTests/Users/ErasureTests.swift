// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf
import Testing

@testable import Conversations

extension StoreTests {
    /// Erasure of users. The worker serves all apps together, so these tests must not overlap: StoreTests is
    /// serialized.
    @Suite struct ErasureTests {
        @Test(
            "an erasure deletes sessions, tokens, badge, follows, announcements and identity; the id stays in conversations"
        )
        func account() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                try await calls.users("ana", "ben", "cleo")
                let conversation = try await calls.conversation()
                try await calls.follow(["cleo"], by: "ana")
                try await calls.announce(["ana", "ben"])
                _ = try await calls.badge(of: "ana", setting: 2)
                try await calls.setPushToken("d")
                try await calls.execute(
                    """
                    INSERT INTO conversations.session (digest, app_id, user_id, expires_at)
                    VALUES (sha256('\(calls.app)'::bytea), '\(calls.app)', 'ana', now() + interval '1 day')
                    """)
                try await calls.erase("ana")
                #expect(try calls.notices("ana").contains(.sessionEnded(tokenDigest: nil)))
                let bare = Identity(basic: BasicIdentity(userID: UserID(trusted: "ana")))
                let told = try calls.notices("ben")
                    .compactMap { if case .change(let change) = $0 { change.content } else { nil } }
                #expect(told.last == .identityChanged(bare))
                try await calls.workOffErasures()
                for table in ["session", "push_token", "badge", "announcement_recipient", "follow"] {
                    #expect(
                        try await calls.number(
                            "SELECT count(*) FROM conversations.\(table) WHERE app_id = '\(calls.app)' AND user_id = 'ana'"
                        ) == 0,
                        "\(table)")
                }
                #expect(try await calls.announcements(of: "ben").count == 1)
                let shown = try await calls.get(conversation, as: "ben").conversation.participants
                #expect(Set(shown) == [bare.basic, BasicIdentity(userID: UserID(trusted: "ben"), displayName: "BEN")])
                #expect(try await calls.refusal { try await calls.erase("dora") }?.code == .notFound)
            }
        }

        @Test(
            "an erasure removes the parts of messages as changes, live and in the log; other users' messages stay unchanged"
        )
        func messages() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana", "ben")
                let (first, second) = (try await calls.conversation(), try await calls.conversation())
                var sent: [StrataModel.Message] = []
                for conversation in [first, second, first] {
                    sent.append(try await calls.send(conversation, by: "ana"))
                }
                let bens = try await calls.send(first, by: "ben")
                let before = try await calls.get(first, as: "ben").conversation.position
                try await calls.erase("ana")
                try await calls.workOffErasures()
                for message in sent {
                    let now = try await calls.message(message.id, as: "ben")
                    #expect(now.parts.isEmpty && now.notification == nil && now.updatedAt != nil)
                    #expect(
                        (now.position, now.ordinal, now.sentAt) == (message.position, message.ordinal, message.sentAt))
                    #expect(now.sender == .user(BasicIdentity(userID: UserID(trusted: "ana"))))
                }
                #expect(try await calls.message(bens.id, as: "ben").parts.count == 1)
                let log = try await calls.readLogs(as: "ben", [first: before]).changes
                #expect(log.count == 2)
                for change in log {
                    guard case .partsChanged(_, _, let edits, let message?) = change.content else {
                        Issue.record("\(change.content)")
                        continue
                    }
                    #expect(edits == [.allReplaced] && message.parts.isEmpty && change.actor == UserID(trusted: "ana"))
                }
                #expect(try calls.publishedChanges(of: first).filter { $0.position > before } == log)
                let unread = try await calls.get(second, as: "ben")
                #expect(unread.unreadCount == 1)
            }
        }

        @Test("former participants lose the parts too, also of older stored forms")
        func former() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana", "ben", "cleo")
                let conversation = try await calls.conversation(["ben", "cleo"])
                let message = try await calls.send(conversation, by: "ana", parts: [.text("first form")])
                try await calls.patch(conversation, [remove("cleo")])
                try await calls.edit(
                    message.id,
                    .replace(
                        .with {
                            $0.part = .index(0)
                            $0.by = ProtoMessagePart(.text("second form"))
                        }))
                #expect(try await calls.message(message.id, as: "cleo").parts.first?.body == "first form")
                try await calls.erase("ana")
                try await calls.workOffErasures()
                #expect(try await calls.message(message.id, as: "cleo").parts.isEmpty)
                #expect(try await calls.message(message.id, as: "ben").parts.isEmpty)
            }
        }

        @Test("an erasure removes content, except content that another user forwarded")
        func content() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana", "ben")
                let conversation = try await calls.conversation()
                let (own, shared, unsent) = (
                    try await calls.content(), try await calls.content(), try await calls.content()
                )
                _ = try await calls.send(conversation, by: "ana", parts: [.content(own), .content(shared)])
                _ = try await calls.send(conversation, by: "ben", parts: [.content(shared)])
                try await calls.erase("ana")
                try await calls.workOffErasures()
                for user in ["ana", "ben"] {
                    #expect(try await !calls.canSee(own, user))
                    #expect(try await !calls.canSee(unsent, user))
                    #expect(try await calls.canSee(shared, user))
                }
                #expect(Set(try await calls.sweepContents(olderThan: 3600)).isSuperset(of: [own, unsent]))
            }
        }

        @Test("an app's user is erased while another app erases many earlier users")
        func fair() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana", "ben")
                let conversation = try await calls.conversation()
                for _ in 0..<3 { try await calls.send(conversation, by: "ana") }
                try await calls.execute("DELETE FROM conversations.erasure")
                try await calls.execute(
                    """
                    INSERT INTO conversations.erasure (app_id, user_id, requested_at, not_before)
                    SELECT '\(AppID.random())', 'user' || n, now(), now() - interval '1 hour' FROM generate_series(1, 300) n
                    """)
                try await calls.erase("ana")
                let due =
                    "SELECT count(*) FROM conversations.erasure WHERE app_id = '\(calls.app)' AND not_before <= now()"
                var steps = 0
                while try await calls.number(due) > 0, steps < 200 {
                    #expect(try await calls.erasures.step(deadline: .soon))
                    steps += 1
                }
                #expect(steps < 100)
                try await calls.execute("DELETE FROM conversations.erasure")
            }
        }

        @Test("an erasure that fails does not delay the erasures of other apps")
        func failing() async throws {
            try await CallsFixture.run(on: try await ServiceFixture.migratedDatabase()) { calls in
                let other = calls.with(app: .random())
                var sent: [StrataModel.Message] = []
                for calls in [calls, other] {
                    try await calls.users("ana", "ben")
                    sent.append(try await calls.send(try await calls.conversation(), by: "ana"))
                    try await calls.erase("ana")
                }
                try await calls.execute(
                    """
                    DO $made$ BEGIN
                    CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN RAISE EXCEPTION ''this fails'' USING ERRCODE = ''check_violation''; END';
                    CREATE TRIGGER refuse BEFORE UPDATE ON conversations.erasure
                    FOR EACH ROW WHEN (OLD.app_id = '\(calls.app)') EXECUTE FUNCTION public.refuse();
                    END $made$
                    """)
                // The other app needs two steps. The failing app is first in one of them at least.
                let due =
                    "SELECT count(*) FROM conversations.erasure WHERE app_id = '\(other.app)' AND not_before <= now()"
                while try await calls.number(due) > 0 {
                    try await #require(calls.erasures.step(deadline: .soon))
                }
                #expect(try await other.message(sent[1].id, as: "ben").parts.isEmpty)
                // Only the failing app is left.
                #expect(try await !calls.erasures.step(deadline: .soon))
                #expect(try await calls.message(sent[0].id, as: "ben").parts.count == 1)
            }
        }

        @Test("an erasure removes many messages in batches; another instance can continue it without duplicate changes")
        func batches() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana", "ben")
                let conversation = try await calls.conversation()
                try await calls.execute(
                    """
                    DO $load$ BEGIN FOR n IN 1..1250 LOOP
                        PERFORM conversations.send_message('\(calls.app)', 'ana', '\(conversation)', gen_random_uuid(), '\\x01', NULL, NULL, NULL, NULL, true);
                        PERFORM conversations.send_message('\(calls.app)', 'ben', '\(conversation)', gen_random_uuid(), '\\x01', NULL, NULL, NULL, NULL, true);
                    END LOOP; END $load$
                    """)
                let before = try await calls.get(conversation, as: "ben").conversation.position
                try await calls.execute("DELETE FROM conversations.erasure")
                try await calls.erase("ana")
                // Simulate an instance that dies midway: its transaction is rolled back, and its commits remain.
                for _ in 0..<4 { #expect(try await calls.erasures.step(deadline: .soon)) }
                let half = try await calls.number(
                    "SELECT count(*) FROM conversations.message WHERE conversation_id = '\(conversation)' AND octet_length(parts) = 0"
                )
                #expect(half == 75)
                let steps = try await calls.workOffErasures()
                #expect(steps >= 10)
                #expect(
                    try await calls.number(
                        "SELECT count(*) FROM conversations.message WHERE conversation_id = '\(conversation)' AND sender = 'ana' AND octet_length(parts) > 0"
                    ) == 0)
                #expect(
                    try await calls.number(
                        "SELECT count(*) FROM conversations.message WHERE conversation_id = '\(conversation)' AND sender = 'ben' AND octet_length(parts) > 0"
                    )
                        == 1250)
                let told = try calls.publishedChanges(of: conversation).filter { $0.position > before }
                #expect(told.count == 1250 && Set(told.map(\.position)).count == 1250)
                // The second round runs when ended sessions are no longer in use. It finds nothing, and the erasure is
                // complete.
                try await calls.ageErasures()
                try await calls.workOffErasures()
                #expect(try calls.publishedChanges(of: conversation).filter { $0.position > before }.count == 1250)
                #expect(
                    try await calls.number("SELECT count(*) FROM conversations.erasure WHERE app_id = '\(calls.app)'")
                        == 0)
            }
        }

        @Test(
            "the second round deletes a message of a session that a gateway still cached; a returned user keeps new messages"
        )
        func late() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana", "ben")
                let conversation = try await calls.conversation()
                try await calls.erase("ana")
                try await calls.workOffErasures()
                let late = try await calls.send(conversation, by: "ana", parts: [.text("late")])
                try await calls.execute(
                    "UPDATE conversations.erasure SET requested_at = requested_at - interval '5 seconds', not_before = now() WHERE app_id = '\(calls.app)'"
                )
                try await calls.workOffErasures()
                #expect(try await calls.message(late.id, as: "ben").parts.isEmpty)
                try await calls.ageErasures()
                let new = try await calls.send(conversation, by: "ana", parts: [.text("new")])
                try await calls.workOffErasures()
                #expect(try await calls.message(new.id, as: "ben").parts.count == 1)
                // A second erasure also removes the new messages.
                try await calls.users("ana")
                try await calls.erase("ana")
                try await calls.workOffErasures()
                #expect(try await calls.message(new.id, as: "ben").parts.isEmpty)
            }
        }

        @Test(
            "the second round deletes data of a session that a gateway still cached, unless the user has signed in since"
        )
        func lateAccount() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana", "ben", "cleo")
                func age(_ device: String, _ seconds: Int) async throws {
                    try await calls.execute(
                        """
                        UPDATE conversations.push_token SET updated_at = updated_at - interval '\(seconds) seconds'
                        WHERE app_id = '\(calls.app)' AND device_id = '\(device)'
                        """)
                }
                func left(_ table: String) async throws -> Int64 {
                    try await calls.number(
                        "SELECT count(*) FROM conversations.\(table) WHERE app_id = '\(calls.app)' AND user_id = 'ana'")
                }
                try await calls.erase("ana")
                try await calls.setPushToken("late")
                try await calls.follow(["cleo"], by: "ana")
                try await age("late", 5)
                try await calls.ageErasures()
                try await calls.workOffErasures()
                #expect(try await left("push_token") == 0)
                #expect(try await left("follow") == 0)

                try await calls.users("ana")
                try await calls.erase("ana")
                try await calls.setPushToken("late")
                try await age("late", 15)
                try await calls.execute(
                    """
                    INSERT INTO conversations.session (digest, app_id, user_id, created_at, expires_at)
                    VALUES (sha256('\(calls.app)'::bytea), '\(calls.app)', 'ana', now() - interval '8 seconds', now() + interval '1 day')
                    """)
                try await calls.setPushToken("new")
                try await age("new", 5)
                try await calls.follow(["cleo"], by: "ana")
                try await calls.ageErasures()
                try await calls.workOffErasures()
                #expect(
                    try await calls.number(
                        "SELECT count(*) FROM conversations.push_token WHERE app_id = '\(calls.app)' AND device_id = 'new'"
                    ) == 1)
                #expect(try await left("push_token") == 1)
                #expect(try await left("follow") == 1)
            }
        }

        @Test("in a conversation deleted for all, messages lose parts and content without a change")
        func gone() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana", "ben")
                let conversation = try await calls.conversation()
                let content = try await calls.content()
                _ = try await calls.send(conversation, by: "ana", parts: [.content(content), .text("secret")])
                _ = try await calls.send(conversation, by: "ben")
                try await calls.delete(conversation, by: "ben", .allParticipants)
                let heard = try calls.publishedChanges(of: conversation).count
                try await calls.erase("ana")
                try await calls.workOffErasures()
                func left(of user: String) async throws -> Int64 {
                    try await calls.number(
                        """
                        SELECT count(*) FROM conversations.message
                        WHERE conversation_id = '\(conversation)' AND sender = '\(user)' AND octet_length(parts) > 0
                        """)
                }
                #expect(try await left(of: "ana") == 0)
                #expect(try await left(of: "ben") == 1)
                #expect(try calls.publishedChanges(of: conversation).count == heard)
                #expect(Set(try await calls.sweepContents(olderThan: 3600)).isSuperset(of: [content]))
            }
        }

        @Test("a second round also runs if the first took longer than the grace period of an ended session")
        func long() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana", "ben")
                let ids = [try await calls.conversation(), try await calls.conversation()].sorted { "\($0)" < "\($1)" }
                try await calls.execute("DELETE FROM conversations.erasure")
                try await calls.erase("ana")
                // The first conversation is done, and the second one is next.
                for _ in 0..<2 { #expect(try await calls.erasures.step(deadline: .soon)) }
                let late = try await calls.send(ids[0], by: "ana", parts: [.text("late")])
                try await calls.execute(
                    "UPDATE conversations.message SET sent_at = sent_at - interval '5 seconds' WHERE id = '\(late.id)'")
                try await calls.execute(
                    """
                    UPDATE conversations.erasure
                    SET requested_at = requested_at - interval '61 seconds', not_before = not_before - interval '61 seconds'
                    WHERE app_id = '\(calls.app)'
                    """)
                try await calls.workOffErasures()
                #expect(try await calls.message(late.id, as: "ben").parts.isEmpty)
                #expect(
                    try await calls.number("SELECT count(*) FROM conversations.erasure WHERE app_id = '\(calls.app)'")
                        == 0)
            }
        }

        @Test(
            "an erasure deletes a bot's messages in unjoined conversations and then forgets those conversations, except those with newer messages"
        )
        func outside() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana", "ben")
                try await calls.bot("robo")
                let joined = try await calls.create(["ana", "robo"], by: "").id
                try await calls.patch(joined, by: "", [remove("robo")])
                let (outside, again) = (
                    try await calls.create(["ana", "ben"], by: "").id, try await calls.create(["ana"], by: "").id
                )
                var sent: [StrataModel.Message] = []
                for id in [outside, joined, again, outside] {
                    sent.append(try await calls.sendByServer(id, by: "robo", "beep"))
                }
                let others = [
                    try await calls.sendByServer(outside, name: "robo"),
                    try await calls.sendByServer(outside, by: "ana"),
                ]
                #expect(
                    try await calls.refusal { try await calls.sendByServer(again, by: "ben") }?.code == .accessDenied)
                func noted() async throws -> [Int64] {
                    var counts: [Int64] = []
                    for id in [outside, joined, again] {
                        counts.append(
                            try await calls.number(
                                "SELECT count(*) FROM conversations.outside_sending WHERE conversation_id = '\(id)'"))
                    }
                    return counts
                }
                #expect(try await noted() == [1, 0, 1])

                let before = try await calls.get(outside, as: "").conversation.position
                try await calls.erase("robo")
                try await calls.workOffErasures()
                for message in sent { #expect(try await calls.message(message.id, as: "").parts.isEmpty) }
                for message in others { #expect(try await calls.message(message.id, as: "") == message) }
                let log = try await calls.readLogs(as: "ben", [outside: before]).changes
                #expect(log.count == 2 && log.allSatisfy { $0.actor == UserID(trusted: "robo") })
                #expect(try calls.publishedChanges(of: outside).filter { $0.position > before } == log)
                // Nothing is forgotten before the second round.
                #expect(try await noted() == [1, 0, 1])

                #expect(
                    try await calls.refusal { try await calls.sendByServer(again, by: "robo") }?.code == .accessDenied)
                try await calls.execute(
                    "UPDATE conversations.outside_sending SET recorded_at = recorded_at - interval '2 minutes' WHERE app_id = '\(calls.app)'"
                )
                try await calls.bot("robo")
                let new = try await calls.sendByServer(again, by: "robo", "back again")
                try await calls.ageErasures()
                try await calls.workOffErasures()
                #expect(try await calls.message(new.id, as: "") == new)
                #expect(try await noted() == [0, 0, 1])
                #expect(
                    try await calls.number("SELECT count(*) FROM conversations.erasure WHERE app_id = '\(calls.app)'")
                        == 0)
                try await calls.erase("robo")
                try await calls.workOffErasures()
                #expect(try await calls.message(new.id, as: "").parts.isEmpty)
            }
        }

        @Test("a deletion for all also deletes the record that a bot sent messages there")
        func outsideOfWhatIsGone() async throws {
            try await CallsFixture.run { calls in
                try await calls.bot("robo")
                let id = try await calls.create(["ana"], by: "").id
                try await calls.sendByServer(id, by: "robo")
                try await calls.delete(id, by: "", .allParticipants)
                try await calls.execute(
                    "UPDATE conversations.conversation SET deleted_at = deleted_at - interval '40 days' WHERE id = '\(id)'"
                )
                while try await calls.number("SELECT conversations.sweep_deleted('30 days', 1000)") > 0 {}
                #expect(
                    try await calls.number(
                        "SELECT count(*) FROM conversations.outside_sending WHERE conversation_id = '\(id)'") == 0)
            }
        }

        @Test("a suspension outlasts the account")
        func suspended() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana")
                try await calls.suspend("ana")
                try await calls.erase("ana")
                #expect(
                    try await calls.number(
                        "SELECT count(*) FROM conversations.identity WHERE app_id = '\(calls.app)' AND user_id = 'ana' AND suspended"
                    ) == 1)
            }
        }
    }
}
