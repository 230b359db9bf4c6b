// SPDX-License-Identifier: Apache-2.0
import Contracts
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct FollowingTests {
        @Test("participants of a common conversation follow each other, also after its end")
        func implicit() async throws {
            try await CallsFixture.run { calls in
                let first = try await calls.conversation(["ben", "cleo"])
                let second = try await calls.conversation(["cleo", "dora"])
                _ = try await calls.create(["eve"], by: "ben")
                #expect(Set(try await calls.followed(by: "ana")) == ["ben", "cleo", "dora"])
                try await calls.patch(first, [remove("ben")])
                try await calls.delete(second, .allParticipants)
                #expect(Set(try await calls.followed(by: "ana")) == ["ben", "cleo", "dora"])
                #expect(Set(try await calls.followed(by: "ben")) == ["ana", "cleo", "eve"])
                // Fay joined after another user had left, so these two never met.
                try await calls.patch(first, [add("fay")])
                #expect(try await calls.isFollowed("ben", by: "fay") == false)
                #expect(try await calls.isFollowed("cleo", by: "fay"))
                #expect(try await calls.isFollowed("ana", by: "ana") == false)
                #expect(try await calls.with(app: .random()).followed(by: "ana").isEmpty)
            }
        }

        @Test("following and unfollowing are sent once, to the user alone; current conversation partners stay followed")
        func explicit() async throws {
            try await CallsFixture.run { calls in
                try await calls.follow(["zoe", "ana", "zoe", "yan"])
                try await calls.follow(["zoe"])
                #expect(Set(try await calls.followed(by: "ana")) == ["yan", "zoe"])
                try await calls.unfollow("zoe")
                try await calls.unfollow("zoe")
                try await calls.unfollow("nobody")
                let changes = try calls.notices("ana")
                    .compactMap { if case .change(let change) = $0 { change } else { nil } }
                #expect(changes.map(\.position.rawValue) == [1, 2, 3])
                #expect(
                    changes.map(\.content) == [
                        .followed(Identity(basic: BasicIdentity(userID: UserID(trusted: "yan")))),
                        .followed(Identity(basic: BasicIdentity(userID: UserID(trusted: "zoe")))),
                        .unfollowed(UserID(trusted: "zoe")),
                    ])
                // Of changes that cancel each other, only the last is kept in the log, for clients that loaded the list
                // in between.
                var read = changes
                read[1].content = .obsolete
                #expect(try await calls.readLogs(as: "ana", [:], userAfter: .zero).userChanges == read)
                try await calls.follow(["zoe"])
                #expect(
                    try await calls.readLogs(as: "ana", [:], userAfter: Position(1)).userChanges.map(\.content) == [
                        .obsolete, .obsolete, .followed(Identity(basic: BasicIdentity(userID: UserID(trusted: "zoe")))),
                    ])
                try await calls.unfollow("zoe")
                #expect(try calls.notices("zoe").isEmpty)

                _ = try await calls.conversation(["ben"])
                try await calls.unfollow("ben")
                #expect(try await calls.isFollowed("ben"))
            }
        }

        @Test("an unfollow survives older conversations and ends with a new one")
        func again() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                try await calls.delete(id, .allParticipants)
                try await calls.unfollow("ben")
                #expect(try await calls.isFollowed("ben") == false)
                #expect(try await calls.isFollowed("ana", by: "ben"))
                let other = try await calls.conversation(["cleo"])
                #expect(try await calls.isFollowed("ben") == false)
                try await calls.patch(other, [add("ben")])
                #expect(try await calls.isFollowed("ben"))
            }
        }

        @Test("a list of followed identities is sorted newest first and paged")
        func list() async throws {
            try await CallsFixture.run { calls in
                for user in ["u1", "u2", "u3", "u4"] { try await calls.follow([user]) }
                #expect(try await calls.listFollowed().users == ["u4", "u3", "u2", "u1"])
                let page = try await calls.listFollowed(pageSize: 2, from: "u3")
                #expect(page.users == ["u2", "u1"] && page.total == 4)
                try await calls.unfollow("u3")
                #expect(try await calls.listFollowed(pageSize: 1, from: "u3").users == ["u2"])
                #expect(
                    try await calls.refusal { try await calls.listFollowed(from: "nobody") }?.detail
                        == .property("from_id"))
            }
        }
    }
}
