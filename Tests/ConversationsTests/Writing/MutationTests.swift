// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf
import Testing

@testable import Conversations

extension StoreTests {
    @Suite("idempotent changes") struct Mutations {
        private static func name() -> IdempotencyKey { .random }

        @Test("two instances carry out one concurrent change once, and answer alike")
        func together() async throws {
            try await CallsFixture.run { fixture in
                let id = try await fixture.conversation()
                let other = fixture.otherInstance
                for round in 0..<10 {
                    let name = Self.name()
                    let places = try await withThrowingTaskGroup(of: ProtoChangePlace.self) { group in
                        for instance in [fixture, other, fixture, other] {
                            group.addTask {
                                try await instance.named(
                                    name, ConversationsAPI.patchConversation,
                                    fixture.patching(id, add: "user\(round % 4)")
                                )
                                .place
                            }
                        }
                        return try await group.reduce(into: []) { $0.append($1) }
                    }
                    #expect(Set(places.map(\.position)).count == 1)
                    try await fixture.patch(id, [remove("user\(round % 4)")])
                }
                // The creation, and ten pairs of additions and removals.
                #expect(try await fixture.get(id).conversation.position == Position(21))
            }
        }

        @Test("a transaction commits the idempotency key and its change together")
        func atomic() async throws {
            try await CallsFixture.run { fixture in
                try await fixture.refuseInDatabase("fails in the database")
                let id = try await fixture.conversation()
                let name = Self.name()
                var request = fixture.patching(id, add: "cay")
                request.metadata = [ProtoMetadataOperation(set("a", "fails in the database"))]
                #expect(
                    try await fixture.refusal {
                        try await fixture.named(name, ConversationsAPI.patchConversation, request)
                    } != nil)
                #expect(
                    try await fixture.number("SELECT count(*) FROM conversations.mutation WHERE id = '\(name.id)'") == 0
                )
                #expect(try await fixture.get(id).conversation.position == Position(1))
            }
        }

        @Test("a change without an idempotency key stores no key")
        func unnamed() async throws {
            try await CallsFixture.run { fixture in
                let id = try await fixture.conversation()
                try await fixture.send(id)
                try await fixture.markAllRead(id, by: "ben")
                #expect(
                    try await fixture.number(
                        "SELECT count(*) FROM conversations.mutation WHERE app_id = '\(fixture.app)'") == 0)
            }
        }

        @Test("idempotency keys expire with the log, and not before")
        func forgotten() async throws {
            try await CallsFixture.run { fixture in
                let id = try await fixture.conversation()
                let (old, young) = (Self.name(), Self.name())
                for name in [old, young] {
                    _ = try await fixture.named(name, ConversationsAPI.markAllRead, fixture.reading(id))
                }
                try await fixture.execute(
                    "UPDATE conversations.mutation SET created_at = now() - interval '31 days' WHERE id = '\(old.id)'")
                // Names are kept for at least 48 hours.
                try await fixture.execute(
                    "UPDATE conversations.mutation SET created_at = now() - interval '47 hours' WHERE id = '\(young.id)'"
                )
                for (days, left) in [(32, 2), (30, 1), (0, 1)] as [(Int, Int64)] {
                    try await fixture.execute("SELECT conversations.sweep_mutations(interval '\(days) days', 1000)")
                    #expect(
                        try await fixture.number(
                            "SELECT count(*) FROM conversations.mutation WHERE app_id = '\(fixture.app)'") == left)
                }
            }
        }

        @Test("a change without effect returns the position of the last change that its user received")
        func told() async throws {
            try await CallsFixture.run { fixture in
                // More participants than the audience limit of receipts.
                let id = try await fixture.conversation(["ben", "cay", "dan", "eve"])
                let first = try await fixture.send(id, by: "ana")
                func place() async throws -> Int64 {
                    try await fixture.named(
                        Self.name(), ConversationsAPI.patchConversation, fixture.patching(id, add: "ana")
                    )
                    .place.position
                }
                #expect(try await place() == 2)
                // Ana receives this receipt as the sender. It is not Ana's own.
                try await fixture.receipt(.read, first.id, by: "cay")
                #expect(try await place() == 2)
                try await fixture.receipt(.read, first.id, by: "ana")
                #expect(try await place() == 2)
                let second = try await fixture.send(id, by: "ben")
                #expect(try await place() == 4)
                try await fixture.receipt(.read, second.id, by: "ana")
                #expect(try await place() == 5)
                try await fixture.markAllRead(id, by: "dan")
                #expect(try await place() == 5)
                try await fixture.delete(second.id, by: "ben", .allParticipants)
                #expect(try await place() == 7)
                // Ana does not receive changes of messages that are hidden from her.
                let third = try await fixture.send(id, by: "ben")
                try await fixture.delete(third.id, by: "ana", .myDevices)
                #expect(try await place() == 7)
                try await fixture.delete(third.id, by: "ben", .allParticipants)
                #expect(try await place() == 7)
            }
        }

        @Test("a change without effect on the user's own log returns the end of that log")
        func toldToUser() async throws {
            try await CallsFixture.run { fixture in
                func unfollowing() async throws -> ProtoChangePlace {
                    try await fixture.named(
                        Self.name(), ConversationsAPI.unfollow,
                        .with {
                            $0.appID = Data(fixture.app)
                            $0.userID = "ana"
                            $0.followed = "nobody"
                        })
                }
                #expect(try await unfollowing().userPosition == 0)
                _ = try await fixture.named(
                    Self.name(), ConversationsAPI.follow,
                    .with {
                        $0.appID = Data(fixture.app)
                        $0.userID = "ana"
                        $0.followed = ["xyz", "abc"]
                    })
                #expect(try await unfollowing().userPosition == 2)
                #expect(try await !unfollowing().hasPosition)
            }
        }
    }
}

extension IdempotencyKey {
    static var random: IdempotencyKey { IdempotencyKey(id: UUID(), fingerprint: .random(in: .min ... .max)) }
}

extension CallsFixture {
    @discardableResult
    func named<Request: ChangeRequest, Response>(
        _ name: IdempotencyKey, _ endpoint: Endpoint<Request, Response>, _ request: Request
    ) async throws -> Response {
        var request = request
        request.mutation = ProtoMutation(name)
        return try await call(endpoint, request)
    }

    func patching(_ id: ConversationID, add user: String) -> ProtoPatchConversationRequest {
        .with {
            $0.appID = Data(app)
            $0.actor = "ana"
            $0.conversationID = Data(id)
            $0.participants = [
                .with {
                    $0.kind = .add
                    $0.userIds = [user]
                }
            ]
        }
    }

    fileprivate func reading(_ id: ConversationID) -> ProtoMarkAllReadRequest {
        .with {
            $0.appID = Data(app)
            $0.actor = "ana"
            $0.conversationID = Data(id)
        }
    }
}
