// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf
import Testing

@testable import Conversations

extension StoreTests {
    /// An app's rules on who may add others to conversations.
    @Suite struct AdditionTests {
        private let server = ""

        /// Expects a refusal that names the participants.
        private func refuses(
            _ calls: CallsFixture, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
        ) async throws {
            let refusal = try await calls.refusal(body)
            #expect(
                refusal?.code == .invalidProperty && refusal?.detail == .property("participants"),
                sourceLocation: sourceLocation)
        }

        private func counted(_ calls: CallsFixture, _ user: String, by adder: String = "ana") async throws -> Int64 {
            try await calls.number(
                """
                SELECT coalesce(sum(number), 0)::int8 FROM conversations.addition
                WHERE app_id = '\(calls.app)' AND user_id = '\(user)' AND added_by = '\(adder)'
                """)
        }

        @Test("a quota limits additions of one user to conversations per hour; a refused request changes nothing")
        func bound() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                try await calls.patchApp(additions: 3)
                let (first, distinct) = (
                    try await calls.conversation(), try await calls.create(["ben"], distinct: true).id
                )
                let other = try await calls.conversation(["cleo"], metadata: ["a": "1"])
                try await calls.patch(other, [add("ben")])
                #expect(try await counted(calls, "ben") == 3)

                let conversations = "SELECT count(*) FROM conversations.conversation WHERE app_id = '\(calls.app)'"
                let sets = "SELECT count(*) FROM conversations.distinct_set WHERE app_id = '\(calls.app)'"
                let before = (try await calls.number(conversations), try await calls.number(sets))
                try await refuses(calls) { _ = try await calls.conversation() }
                try await refuses(calls) { _ = try await calls.create(["ben", "dora"], distinct: true) }
                #expect(try await (calls.number(conversations), calls.number(sets)) == before)
                #expect(try await counted(calls, "dora") == 0)
                // Removing and adding again counts as another addition. A refused patch leaves the metadata unchanged.
                try await calls.patch(other, [remove("ben")])
                let position = try await calls.get(other).conversation.position
                try await refuses(calls) {
                    try await calls.patch(other, [add("ben"), add("dora")], metadata: [set("a", "2")])
                }
                let view = try await calls.get(other).conversation
                #expect(view.position == position && view.participants.map(\.userID.rawValue) == ["ana", "cleo"])
                #expect(try await calls.tree(other) == ["a": "1"])
                #expect(try await counted(calls, "ben") == 3)
                #expect(try await counted(calls, "dora") == 0)

                // Existing conversations, repetitions and present participants are no additions.
                let found = try await calls.create(["ben"], distinct: true)
                #expect(found.id == distinct && !found.isNew)
                #expect(try await calls.refusal { try await calls.create(["ben"], id: first) }?.code == .idInUse)
                #expect(try await calls.patch(first, [add("ben")]).isEmpty)
                _ = try await calls.conversation([])
                // Other users have separate counts.
                _ = try await calls.create(["ana"], by: "ben")
                _ = try await calls.create(["ben"], by: "cleo")
                _ = try await calls.conversation(["dora"])
            }
        }

        @Test("concurrent additions do not exceed the hourly limit")
        func concurrent() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                try await calls.patchApp(additions: 2)
                let id = try await calls.conversation(["cleo"])
                let done = await withTaskGroup(of: Bool.self) { tasks in
                    for number in 0..<12 {
                        let calls = number.isMultiple(of: 2) ? calls : calls.otherInstance
                        tasks.addTask {
                            if number == 0 { return (try? await calls.patch(id, [add("ben")])) != nil }
                            return (try? await calls.create(number.isMultiple(of: 3) ? ["dora", "ben"] : ["ben"]))
                                != nil
                        }
                    }
                    return await tasks.reduce(into: 0) { $0 += $1 ? 1 : 0 }
                }
                #expect(done == 2)
                #expect(try await counted(calls, "ben") == 2)
            }
        }

        @Test("an addition is allowed again after the hour, and a sweep deletes expired counts")
        func hour() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                try await calls.patchApp(additions: 1)
                for user in ["ben", "cleo"] { _ = try await calls.conversation([user]) }
                let count = "SELECT count(*) FROM conversations.addition WHERE app_id = '\(calls.app)'"
                func age(_ user: String, by minutes: Int) async throws {
                    try await calls.execute(
                        """
                        UPDATE conversations.addition SET since = since - interval '\(minutes) minutes'
                        WHERE app_id = '\(calls.app)' AND user_id = '\(user)'
                        """)
                }
                try await age("ben", by: 59)
                try await refuses(calls) { _ = try await calls.conversation() }
                while try await calls.number("SELECT conversations.sweep_additions(1000)") > 0 {}
                #expect(try await calls.number(count) == 2)
                try await age("ben", by: 2)
                _ = try await calls.conversation()
                #expect(try await counted(calls, "ben") == 1)
                try await refuses(calls) { _ = try await calls.conversation() }
                // A count written before the clock was set back blocks nobody for longer than an hour.
                try await age("ben", by: -100)
                _ = try await calls.conversation()
                for user in ["ben", "cleo"] { try await age(user, by: 61) }
                while try await calls.number("SELECT conversations.sweep_additions(1)") > 0 {}
                #expect(try await calls.number(count) == 0)
            }
        }

        @Test("the addition limit exempts users whom the other user chose to follow, not users they only met")
        func strangers() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                try await calls.patchApp(additions: 0)
                try await calls.follow(["ana"], by: "cleo")
                for _ in 0..<2 { _ = try await calls.conversation(["cleo"]) }
                _ = try await calls.create(["ana", "ben"], by: server)
                #expect(try await calls.isFollowed("ana", by: "ben"))
                try await refuses(calls) { _ = try await calls.conversation(["ben"]) }
                try await refuses(calls) { _ = try await calls.conversation(["ben", "cleo"]) }
                // The added user decides by following.
                try await calls.follow(["dora"])
                try await refuses(calls) { _ = try await calls.conversation(["dora"]) }
                #expect(try await counted(calls, "dora") == 0)
            }
        }

        @Test("an app can let users be added only by users they follow")
        func followed() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                try await calls.patchApp(addedBy: "followed")
                try await refuses(calls) { _ = try await calls.conversation() }
                try await calls.follow(["ana"], by: "ben")
                let id = try await calls.conversation()
                try await refuses(calls) { try await calls.patch(id, [add("cleo")], metadata: [set("a", "1")]) }
                try await refuses(calls) { _ = try await calls.conversation(["ben", "cleo"]) }
                #expect(try await calls.tree(id).isEmpty)
                // Users in a common conversation follow each other, until one of them unfollows.
                let met = try await calls.create(["ana", "cleo"], by: server).id
                try await calls.patch(id, [add("cleo")])
                for conversation in [id, met] { try await calls.patch(conversation, [remove("cleo")]) }
                try await calls.unfollow("ana", by: "cleo")
                try await refuses(calls) { try await calls.patch(id, [add("cleo")]) }
                // A creation without others, or one that finds an existing distinct conversation, adds nobody.
                _ = try await calls.conversation([])
                #expect(try await calls.create(["dora"], distinct: true, byServer: true).isNew)
                try await calls.execute(
                    "INSERT INTO conversations.follow VALUES ('\(calls.app)', 'dora', 'ana', false) ON CONFLICT DO NOTHING"
                )
                #expect(try await !calls.create(["dora"], distinct: true).isNew)
                try await refuses(calls) { _ = try await calls.create(["dora"]) }
            }
        }

        @Test("an app can restrict additions to its own server, in its own name or for a user, without a limit")
        func byServer() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                try await calls.patchApp(addedBy: "server", additions: 0)
                try await refuses(calls) { _ = try await calls.conversation() }
                let own = try await calls.conversation([])
                try await refuses(calls) { try await calls.patch(own, [add("ben")]) }
                try await calls.patch(own, [add("ben")], byServer: true)
                try await calls.patch(own, by: server, [add("cleo")])
                #expect(try await calls.create(["ben"], byServer: true).isNew)
                #expect(try await calls.create(["ana", "ben"], by: server).isNew)
                try await calls.patchApp(addedBy: "anyone")
                #expect(try await calls.create(["ben"], byServer: true).isNew)
                #expect(
                    try await calls.number("SELECT count(*) FROM conversations.addition WHERE app_id = '\(calls.app)'")
                        == 0)
                // Leaving and removal are no additions.
                try await calls.patchApp(addedBy: "server")
                try await calls.patch(own, by: "ben", [remove("cleo"), remove("ben")])
                #expect(try await calls.get(own).conversation.participants.map(\.userID.rawValue) == ["ana"])
            }
        }

        @Test("a refused addition with an idempotency key is retried, and a completed addition is not counted twice")
        func named() async throws {
            try await CallsFixture.run { calls in
                try await calls.register()
                try await calls.patchApp(additions: 0)
                let id = try await calls.conversation([])
                let name = IdempotencyKey.random
                try await refuses(calls) {
                    _ = try await calls.named(name, ConversationsAPI.patchConversation, calls.patching(id, add: "ben"))
                }
                try await calls.patchApp(additions: 2)
                for _ in 0..<3 {
                    try await calls.named(name, ConversationsAPI.patchConversation, calls.patching(id, add: "ben"))
                }
                #expect(try await counted(calls, "ben") == 1)
            }
        }
    }
}
