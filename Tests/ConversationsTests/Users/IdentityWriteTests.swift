// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct IdentityWriteTests {
        private func identity(of user: String, _ calls: CallsFixture) async throws -> Identity {
            let user = UserID(trusted: user)
            let found = try await IdentityDirectory(database: calls.database)
                .full([user], in: calls.app, deadline: .soon)
            return try #require(found[user])
        }

        private func changes(_ user: String, _ calls: CallsFixture) throws -> [UserChange.Content] {
            try calls.notices(user).compactMap { if case .change(let change) = $0 { change.content } else { nil } }
        }

        @Test("an identity is created once, replaced as a whole, and patched partially")
        func writing() async throws {
            try await CallsFixture.run { calls in
                try await calls.writeIdentity(
                    "create", of: "ana", ["display_name": "Ana", "phone_number": "1"], metadata: ["a": "1"])
                #expect(try await calls.refusal { try await calls.users("ana") }?.code == .idInUse)
                try await calls.writeIdentity(
                    "patch", of: "ana", ["phone_number": nil, "first_name": "A"], bot: true, keys: ["a": nil, "b": "2"])
                var expected = Identity(basic: BasicIdentity(userID: UserID(trusted: "ana"), displayName: "Ana"))
                (expected.firstName, expected.kind, expected.metadata) = ("A", .bot, ["b": "2"])
                #expect(try await identity(of: "ana", calls) == expected)
                try await calls.writeIdentity("patch", of: "ana", metadata: ["c": "3"], keys: ["d": "4"])
                expected.metadata = ["c": "3", "d": "4"]
                #expect(try await identity(of: "ana", calls) == expected)
                try await calls.writeIdentity("replace", of: "ana", ["display_name": "Anna"])
                #expect(
                    try await identity(of: "ana", calls)
                        == Identity(basic: BasicIdentity(userID: UserID(trusted: "ana"), displayName: "Anna")))
            }
        }

        @Test(
            "a patch and a deletion require an identity; a replacement creates one; after a deletion it can be created again"
        )
        func presence() async throws {
            try await CallsFixture.run { calls in
                for mode in ["patch", "delete"] {
                    #expect(
                        try await calls.refusal {
                            try await calls.writeIdentity(mode, of: "ben", ["display_name": "B"])
                        }?
                        .code == .notFound)
                }
                #expect(
                    try await calls.number("SELECT count(*) FROM conversations.identity WHERE app_id = '\(calls.app)'")
                        == 0)
                try await calls.writeIdentity("replace", of: "ben", ["display_name": "Ben"])
                try await calls.writeIdentity("delete", of: "ben", metadata: [:])
                #expect(
                    try await calls.refusal { try await calls.writeIdentity("delete", of: "ben", metadata: [:]) }?.code
                        == .notFound)
                #expect(
                    try await identity(of: "ben", calls)
                        == Identity(basic: BasicIdentity(userID: UserID(trusted: "ben"))))
                try await calls.users("ben")
            }
        }

        @Test("the metadata of an identity has at most 16 keys, also when they are set one by one")
        func keys() async throws {
            try await CallsFixture.run { calls in
                let many = Dictionary(uniqueKeysWithValues: (1...16).map { ("\($0)", "x") })
                try await calls.writeIdentity("create", of: "ana", ["display_name": "Ana"], metadata: many)
                let refusal = try await calls.refusal {
                    try await calls.writeIdentity("patch", of: "ana", keys: ["more": "x"])
                }
                #expect(refusal?.detail == .property("metadata"))
                try await calls.writeIdentity("patch", of: "ana", keys: ["more": "x", "1": nil])
                #expect(try await identity(of: "ana", calls).metadata.count == 16)
            }
        }

        @Test("the user and all followers receive effective changes, live and from their logs; no other user does")
        func telling() async throws {
            try await CallsFixture.run { calls in
                try await calls.users("ana", "ben", "cleo", "dora")
                #expect(try calls.notices("ana").isEmpty)
                _ = try await calls.create(["ben"])
                try await calls.follow(["ana"], by: "cleo")
                try await calls.writeIdentity("patch", of: "ana", ["display_name": "Anna"])
                try await calls.writeIdentity("patch", of: "ana", ["display_name": "Anna"])
                let now = try await identity(of: "ana", calls)
                for user in ["ana", "ben", "cleo"] {
                    #expect(
                        try changes(user, calls).filter { if case .identityChanged = $0 { true } else { false } } == [
                            .identityChanged(now)
                        ],
                        "\(user)")
                    let log = try await calls.readLogs(as: user, [:], userAfter: .zero).userChanges
                    #expect(log.last?.content == .identityChanged(now))
                }
                #expect(try changes("dora", calls).isEmpty)
                try await calls.writeIdentity("delete", of: "ana", metadata: [:])
                #expect(
                    try changes("ben", calls).last
                        == .identityChanged(Identity(basic: BasicIdentity(userID: UserID(trusted: "ana")))))
            }
        }

        @Test("two concurrent creations make one identity")
        func race() async throws {
            try await CallsFixture.run { calls in
                let refusals = try await withThrowingTaskGroup(of: Failure.Code?.self) { group in
                    for instance in [calls, calls.otherInstance, calls, calls.otherInstance] {
                        group.addTask { try await instance.refusal { try await instance.users("ana") }?.code }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(refusals.filter { $0 == nil }.count == 1 && refusals.filter { $0 == .idInUse }.count == 3)
            }
        }
    }
}
