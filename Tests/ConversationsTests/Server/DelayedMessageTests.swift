// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf
import TestTiers
import Testing

@testable import Conversations

extension StoreTests {
    /// Delayed messages of an app's own server. The database's clock decides; tests shift the rows' times instead of
    /// waiting.
    @Suite struct DelayedMessageTests {
        /// Advances time for the delayed messages of the test's app.
        private func pass(_ milliseconds: Int, _ calls: CallsFixture) async throws {
            try await calls.execute(
                """
                UPDATE conversations.delayed_message SET due_at = due_at - interval '\(milliseconds) milliseconds',
                    next_at = next_at - interval '\(milliseconds) milliseconds',
                    typing_at = typing_at - interval '\(milliseconds) milliseconds' WHERE app_id = '\(calls.app)'
                """)
        }

        /// Returns the published typing actions of a user.
        private func typing(of user: String, in id: ConversationID, _ calls: CallsFixture) throws -> [TypingAction] {
            try calls.published.typing().filter { $0.conversationID == id && $0.user.rawValue == user }.map(\.action)
        }

        private func waiting(_ calls: CallsFixture) async throws -> Int64 {
            try await calls.number("SELECT count(*) FROM conversations.delayed_message WHERE app_id = '\(calls.app)'")
        }

        @Test("a short delay wakes the worker of its instance, whose next search is an hour away")
        func woken() async throws {
            try await CallsFixture.run(on: try await ServiceFixture.migratedDatabase()) { calls in
                let id = try await calls.create(["ana", "ben"], by: "").id
                let worker = calls.messageWorker(longestPause: .seconds(3600))
                let running = Task { try await worker.run() }
                defer { running.cancel() }
                for text in ["first", "second"] {
                    try await calls.delay(id, name: "Concierge", text, milliseconds: 1000)
                    try await eventually {
                        try await calls.messages(id, as: "").messages.first?.parts.first?.body == text
                    }
                }
            }
        }

        @Test("a delayed message is sent after its delay, exactly once, by any instance")
        func due() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ana", "ben"], by: "").id
                let (first, second) = (MessageID.random(), MessageID.random())
                try await calls.delay(id, name: "Concierge", "first", id: first, milliseconds: 60_000)
                try await calls.delay(id, by: "ana", "second", id: second, milliseconds: 120_000)
                try await calls.delay(id, by: "ana", "other", id: second, milliseconds: 1000)
                _ = await calls.delayedMessages.sendDue()
                #expect(try await calls.messages(id, as: "").total == 0)
                try await pass(60_000, calls)
                async let one = calls.delayedMessages.sendDue()
                async let two = calls.otherInstance.delayedMessages.sendDue()
                _ = await (one, two)
                let sent = try await calls.messages(id, as: "").messages
                #expect(sent.map(\.id) == [first] && sent.first?.sender == .name("Concierge"))
                #expect(
                    try calls.publishedChanges(of: id).last?.content
                        == .messageCreated(id: first, ordinal: 1, sent.first))
                try await pass(60_000, calls)
                _ = await calls.delayedMessages.sendDue()
                let last = try await calls.messages(id, as: "").messages.first
                #expect(
                    last?.id == second && last?.parts.first?.body == "second"
                        && last?.status(of: UserID(trusted: "ana")) == .read)
                #expect(try await waiting(calls) == 0)
                // The id stays known after the message is sent.
                try await calls.delay(id, by: "ana", id: second, milliseconds: 1000)
                #expect(try await waiting(calls) == 0)
            }
        }

        @Test("the sender is repeatedly shown as typing until the message is sent")
        func typing() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ana", "ben"], by: "").id
                func signals() throws -> [TypingAction] { try typing(of: "ana", in: id, calls) }
                try await calls.delay(id, by: "ana", milliseconds: 60_000, typing: 20_000)
                _ = await calls.delayedMessages.sendDue()
                #expect(try signals() == [])
                try await pass(40_000, calls)
                _ = await calls.delayedMessages.sendDue()
                #expect(try signals() == [.started])
                // Stock clients forget a typing user after 6 s.
                try await pass(2500, calls)
                _ = await calls.delayedMessages.sendDue()
                #expect(try signals() == [.started, .started])
                try await pass(17_500, calls)
                _ = await calls.delayedMessages.sendDue()
                #expect(try signals() == [.started, .started, .finished])
                #expect(try await calls.messages(id, as: "").total == 1)
                // If typing starts immediately, it is published at once.
                try await calls.delay(id, by: "ana", milliseconds: 30_000, typing: 30_000)
                #expect(try signals().last == .started)
            }
        }

        @Test(
            "typing ends when its sender leaves the conversation, and when that is deleted; a bot need not be a participant"
        )
        func typingEnds() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ana", "ben"], by: "").id
                try await calls.bot("robo")
                for user in ["ana", "ben", "robo"] {
                    try await calls.delay(id, by: user, milliseconds: 60_000, typing: 60_000)
                }
                try await calls.patch(id, by: "", [remove("ana")])
                for _ in 1...2 {
                    try await pass(2500, calls)
                    _ = await calls.delayedMessages.sendDue()
                }
                #expect(try typing(of: "ana", in: id, calls) == [.started, .finished])
                #expect(try typing(of: "ben", in: id, calls) == [.started, .started, .started])
                #expect(try typing(of: "robo", in: id, calls) == [.started, .started, .started])
                try await calls.delete(id, by: "", .allParticipants)
                for _ in 1...2 {
                    try await pass(2500, calls)
                    _ = await calls.delayedMessages.sendDue()
                }
                #expect(try typing(of: "ben", in: id, calls) == [.started, .started, .started, .finished])
                #expect(try typing(of: "robo", in: id, calls).last == .finished)
            }
        }

        @Test("typing signals of any number of senders do not delay messages")
        func manyTypists() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ana", "ben"], by: "").id
                try await calls.delay(id, name: "C", milliseconds: 1000)
                try await calls.execute(
                    """
                    INSERT INTO conversations.delayed_message (id, app_id, conversation_id, actor, parts, due_at, next_at, typing_at)
                    SELECT gen_random_uuid(), '\(calls.app)', '\(id)', 'ana', '', now() + interval '1 hour', now() + interval '1 hour', now()
                    FROM generate_series(1, 450)
                    """)
                try await calls.execute(
                    """
                    UPDATE conversations.delayed_message SET due_at = now(), next_at = now() WHERE app_id = '\(calls.app)' AND sender_name = 'C'
                    """)
                _ = await calls.delayedMessages.sendDue()
                #expect(try typing(of: "ana", in: id, calls).count == 450)
                #expect(try await calls.messages(id, as: "").total == 1)
                try await calls.execute("DELETE FROM conversations.delayed_message WHERE app_id = '\(calls.app)'")
            }
        }

        @Test("an app's messages are sent while another app has many earlier messages due")
        func fair() async throws {
            try await CallsFixture.run { calls in
                let hostile = calls.with(app: .random())
                let (own, other) = (
                    try await calls.create(["ana"], by: "").id, try await hostile.create(["ana"], by: "").id
                )
                try await hostile.delay(other, name: "C", milliseconds: 60_000)
                try await hostile.execute(
                    """
                    INSERT INTO conversations.delayed_message (id, app_id, conversation_id, sender_name, parts, due_at, next_at)
                    SELECT gen_random_uuid(), d.app_id, d.conversation_id, d.sender_name, d.parts, d.due_at, d.next_at
                    FROM conversations.delayed_message d, generate_series(1, 199) WHERE d.app_id = '\(hostile.app)'
                    """)
                try await pass(120_000, hostile)
                for _ in 0..<8 { try await calls.delay(own, name: "C", milliseconds: 60_000) }
                try await pass(60_000, calls)
                _ = await calls.delayedMessages.sendDue()
                let sent = try calls.published.changes()
                    .filter { [own, other].contains($0.conversationID) && $0.messageCount > 0 }
                #expect(sent.count == 208)
                // Each message of the other app takes about as long to send. Only eight of them precede the last own
                // one.
                let last = try #require(sent.lastIndex { $0.conversationID == own })
                #expect(last < 100)
            }
        }

        @Test("an app that was not served because another one took long is served at once")
        func slowFailure() async throws {
            try await CallsFixture.run(on: try await ServiceFixture.migratedDatabase()) { calls in
                let other = calls.with(app: .random())
                for calls in [calls, other] {
                    try await calls.delay(try await calls.create(["ana"], by: "").id, name: "C", milliseconds: 60_000)
                    try await pass(60_000, calls)
                }
                // The first message, of either app, fails after more than the 200 ms after which a search is repeated.
                try await calls.execute("CREATE SEQUENCE public.attempts")
                try await calls.execute(
                    """
                    CREATE FUNCTION public.fail_first() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
                    BEGIN
                        IF nextval('public.attempts') = 1 THEN
                            PERFORM pg_sleep(0.3);
                            RAISE EXCEPTION 'this fails' USING ERRCODE = 'check_violation';
                        END IF;
                        RETURN NEW;
                    END
                    $$
                    """)
                try await calls.execute(
                    """
                    CREATE TRIGGER fail_first BEFORE INSERT ON conversations.message
                    FOR EACH ROW EXECUTE FUNCTION public.fail_first()
                    """)
                _ = await calls.delayedMessages.sendDue()
                // The failed message is postponed by a second.
                #expect(try await waiting(calls) + waiting(other) <= 1)
            }
        }

        @Test("a locked conversation does not delay other conversations, and its own messages keep their order")
        func locked() async throws {
            try await CallsFixture.run { calls in
                let (busy, other) = (
                    try await calls.create(["ana", "ben"], by: "").id, try await calls.create(["ana"], by: "").id
                )
                let (first, second) = (MessageID.random(), MessageID.random())
                try await calls.delay(busy, name: "C", id: first, milliseconds: 60_000)
                try await calls.delay(busy, name: "C", id: second, milliseconds: 60_001)
                try await calls.delay(other, name: "C", milliseconds: 60_002)
                try await pass(60_002, calls)
                try await calls.holding(
                    calls.sqlLock(busy), until: 0,
                    meanwhile: {
                        _ = await calls.delayedMessages.sendDue()
                        let sent = try await calls.messages(other, as: "").total
                        #expect(sent == 1)
                    }
                ) {}
                #expect(try await calls.messages(busy, as: "").total == 0)
                try await pass(1000, calls)
                _ = await calls.delayedMessages.sendDue()
                #expect(try await calls.messages(busy, as: "").messages.map(\.id) == [second, first])
                #expect(try await waiting(calls) == 0)
            }
        }

        @Test("while an instance sends a message, no other instance sends a later one in its conversation")
        func sentInOrder() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ana", "ben"], by: "").id
                let (first, second) = (MessageID.random(), MessageID.random())
                try await calls.delay(id, name: "C", id: first, milliseconds: 60_000)
                try await calls.delay(id, name: "C", id: second, milliseconds: 60_001)
                try await pass(60_001, calls)
                // The other instance has locked the message, but not yet its conversation.
                try await calls.holding(
                    "FROM conversations.delayed_message WHERE id = '\(first)' FOR UPDATE", until: 0,
                    then: "conversations.send_delayed('\(first)')",
                    meanwhile: {
                        _ = await calls.delayedMessages.sendDue()
                        let sent = try await calls.messages(id, as: "").total
                        #expect(sent == 0)
                    }
                ) {}
                _ = await calls.delayedMessages.sendDue()
                #expect(try await calls.messages(id, as: "").messages.map(\.id) == [second, first])
                #expect(try await waiting(calls) == 0)
            }
        }

        @Test("messages behind a postponed message wait equally long and are sent after it")
        func behindPutOff() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ana", "ben"], by: "").id
                let (first, second) = (MessageID.random(), MessageID.random())
                try await calls.delay(id, name: "C", id: first, milliseconds: 60_000)
                try await calls.delay(id, name: "C", id: second, milliseconds: 60_001)
                try await pass(60_001, calls)
                try await calls.execute(
                    "UPDATE conversations.delayed_message SET next_at = now() + interval '1 hour' WHERE id = '\(first)'"
                )
                _ = await calls.delayedMessages.sendDue()
                #expect(try await calls.messages(id, as: "").total == 0)
                let times =
                    "SELECT count(DISTINCT next_at) FROM conversations.delayed_message WHERE app_id = '\(calls.app)'"
                #expect(try await calls.number(times) == 1)
                try await pass(3_600_000, calls)
                _ = await calls.delayedMessages.sendDue()
                #expect(try await calls.messages(id, as: "").messages.map(\.id) == [second, first])
            }
        }

        @Test("an app has a maximum number of delayed messages; sent messages free quota")
        func quota() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ana"], by: "").id
                let most = try #require(CallsFixture.quotas.delayedMessages)
                let last = MessageID.random()
                for number in 1...most {
                    try await calls.delay(id, name: "C", id: number == most ? last : .random(), milliseconds: 1000)
                }
                let refusal = try await calls.refusal { try await calls.delay(id, name: "C", milliseconds: 1000) }
                #expect(refusal?.code == .invalidProperty && refusal?.detail == .property("schedule"))
                // A repetition does not count twice, and another app has a separate quota.
                try await calls.delay(id, name: "C", id: last, milliseconds: 1000)
                let other = calls.with(app: .random())
                try await other.delay(try await other.create(["ana"], by: "").id, name: "C", milliseconds: 1000)
                try await pass(1000, calls)
                _ = await calls.delayedMessages.sendDue()
                #expect(try await calls.messages(id, as: "").total == Int64(most))
                try await calls.delay(id, name: "C", milliseconds: 1000)
            }
        }

        @Test(
            "an id of a delayed or stored message is in use, and an immediate message with its id does not discard a delayed one"
        )
        func idInUse() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                let (id, other) = (
                    try await calls.create(["ana"], by: "").id, try await calls.create(["ana", "ben"], by: "").id
                )
                let (waits, sent) = (MessageID.random(), MessageID.random())
                try await calls.delay(id, name: "C", id: waits, milliseconds: 60_000)
                try await calls.sendByServer(id, name: "C", id: sent)
                let elsewhere = calls.with(app: .random())
                let foreign = try await elsewhere.create(["ana"], by: "").id
                for taken in [waits, sent] {
                    try await calls.delay(id, name: "C", id: taken, milliseconds: 1000)
                    let refusal = try await calls.refusal {
                        try await calls.delay(other, name: "C", id: taken, milliseconds: 1000)
                    }
                    #expect(refusal?.code == .idInUse)
                    let strange = try await elsewhere.refusal {
                        try await elsewhere.delay(foreign, name: "C", id: taken, milliseconds: 1000)
                    }
                    #expect(strange?.code == .idInUse)
                    // A conversation of another app is not found, whatever uses the id.
                    let hidden = try await elsewhere.refusal {
                        try await elsewhere.delay(id, name: "C", id: taken, milliseconds: 1000)
                    }
                    #expect(hidden?.code == .notFound)
                }
                for place in [id, other] {
                    #expect(
                        try await calls.refusal { try await calls.sendByServer(place, name: "C", id: waits) }?.code
                            == .idInUse)
                }
                // An announcement cannot take the id either; otherwise the message would be dropped.
                let announced = try await calls.refusal {
                    try await calls.announceOnce("news", to: ["ana"], id: AnnouncementID(rawValue: waits.rawValue))
                }
                #expect(announced?.code == .idInUse)
                try await pass(60_000, calls)
                _ = await calls.delayedMessages.sendDue()
                #expect(try await calls.messages(id, as: "").messages.map(\.id) == [waits, sent])
                #expect(try await calls.messages(other, as: "").total == 0)
            }
        }

        @Test("a sweep keeps the content of a delayed message")
        func content() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ana"], by: "").id
                let content = try await calls.content()
                try await calls.execute(
                    "UPDATE conversations.content SET unreferenced_since = unreferenced_since - interval '2 hours' WHERE id = '\(content)'"
                )
                try await calls.delay(
                    id, by: "ana", milliseconds: 300_000, parts: [ProtoMessagePart(.content(content))])
                #expect(try await !calls.sweepContents(olderThan: 3600).contains(content))
                try await pass(300_000, calls)
                _ = await calls.delayedMessages.sendDue()
                let sent = try await calls.messages(id).messages
                #expect(sent.first?.parts.first?.contentID == content)
            }
        }

        @Test("an invalid delayed message is refused at once, and silently dropped if it becomes invalid later")
        func dropped() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.create(["ana", "ben"], by: "").id
                _ = try await calls.create(["eve"], by: "")
                #expect(
                    try await calls.refusal { try await calls.delay(id, by: "eve", milliseconds: 1000) }?.code
                        == .accessDenied)
                #expect(
                    try await calls.refusal { try await calls.delay(id, by: "who", milliseconds: 1000) }?.code
                        == .invalidProperty)
                #expect(
                    try await calls.refusal { try await calls.delay(.random(), name: "C", milliseconds: 1000) }?.code
                        == .notFound)
                #expect(
                    try await calls.refusal { try await calls.delay(id, name: "C", milliseconds: 999) }?.code
                        == .invalidProperty)
                #expect(
                    try await calls.refusal { try await calls.delay(id, name: "C", milliseconds: 300_001) }?.code
                        == .invalidProperty)
                #expect(
                    try await calls.refusal { try await calls.delay(id, name: "C", milliseconds: 2000, typing: 2001) }?
                        .code == .invalidProperty)

                try await calls.delay(id, by: "ben", milliseconds: 1000)
                try await calls.patch(id, by: "", [remove("ben")])
                try await pass(1000, calls)
                _ = await calls.delayedMessages.sendDue()
                #expect(try await waiting(calls) == 0)
                #expect(try await calls.messages(id, as: "").total == 0)

                try await calls.delay(id, name: "Concierge", milliseconds: 1000)
                try await calls.delete(id, by: "", .allParticipants)
                try await pass(1000, calls)
                _ = await calls.delayedMessages.sendDue()
                #expect(try await waiting(calls) == 0)
                #expect(try calls.publishedChanges(of: id).last?.content == .conversationDeleted)
            }
        }
    }
}
