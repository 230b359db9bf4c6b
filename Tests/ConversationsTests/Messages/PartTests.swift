// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf
import Testing

@testable import Conversations

extension StoreTests {
    @Suite struct PartTests {
        @Test("each kind of edit is a separate change with the resulting message")
        func edits() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let (first, second, third) = (
                    MessagePart.text("one"), MessagePart.text("two"), MessagePart.text("three")
                )
                let message = try await calls.send(id, parts: [first])
                var edited = try await calls.edit(message.id, .add(ProtoMessagePart(second)))
                #expect(
                    edited.parts.map(\.body) == ["one", "two"] && edited.parts[0].updatedAt == nil
                        && edited.parts[1].updatedAt != nil)
                let times = [edited.updatedAt]
                edited = try await calls.edit(
                    message.id,
                    .replace(
                        .with {
                            $0.part = .index(0)
                            $0.by = ProtoMessagePart(MessagePart.text("ONE"))
                        }))
                #expect(edited.parts.map(\.body) == ["ONE", "two"] && edited.parts[0].id == first.id)
                #expect(try #require(times[0]) < (try #require(edited.updatedAt)))
                edited = try await calls.edit(message.id, .remove(.id(second.id)))
                #expect(edited.parts.map(\.body) == ["ONE"])
                edited = try await calls.edit(
                    message.id,
                    .replaceAll(.with { $0.parts = [ProtoMessagePart(edited.parts[0]), ProtoMessagePart(third)] }))
                #expect(edited.parts.map(\.body) == ["ONE", "three"])
                #expect(try await calls.message(message.id, as: "ben") == edited)

                let changes = try calls.publishedChanges(of: id).dropFirst(2)
                #expect(changes.map(\.position.rawValue) == [3, 4, 5, 6])
                let told = changes.map { change -> [Change.PartEdit] in
                    if case .partsChanged(message.id, 1, let edits, _) = change.content { edits } else { [] }
                }
                #expect(
                    told == [
                        [.added(second.id)], [.changed(first.id)], [.removed(second.id, index: 1)], [.allReplaced],
                    ])
                #expect(changes.last?.content == .partsChanged(id: message.id, ordinal: 1, [.allReplaced], edited))
                // Read from the log, the body is the current message.
                let log = try await calls.readChanges(id).changes.dropFirst(2)
                #expect(log.map(\.content) == told.map { .partsChanged(id: message.id, ordinal: 1, $0, edited) })
            }
        }

        @Test("an edit without effect, beyond a limit, or by another user makes no change")
        func refused() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let part = MessagePart.text("one")
                let message = try await calls.send(id, parts: [part])
                let same = ProtoEditPartsRequest.Replacement.with {
                    $0.part = .id(part.id)
                    $0.by = ProtoMessagePart(part)
                }
                #expect(try await calls.edit(message.id, .replace(same)) == message)
                let cases: [(ProtoEditPartsRequest.OneOf_Edit, String, Failure.Code)] = [
                    (.remove(.id(part.id)), "ana", .invalidOperation), (.remove(.id(UUID())), "ana", .notFound),
                    (.remove(.index(7)), "ana", .notFound), (.add(ProtoMessagePart(part)), "ana", .invalidProperty),
                    (.add(ProtoMessagePart(.text("x"))), "ben", .accessDenied),
                    (.add(ProtoMessagePart(.text("x"))), "eve", .notFound),
                    (.add(ProtoMessagePart(.content(.random()))), "ana", .invalidProperty),
                    (.replaceAll(.init()), "ana", .invalidProperty),
                ]
                for (edit, actor, code) in cases {
                    #expect(try await calls.refusal { try await calls.edit(message.id, by: actor, edit) }?.code == code)
                }
                #expect(try await calls.readChanges(id).head == Position(2))
                // A former participant cannot change the message.
                try await calls.patch(id, by: "ben", [remove("ana")])
                let late = try await calls.refusal {
                    try await calls.edit(message.id, .add(ProtoMessagePart(.text("x"))))
                }
                #expect(late?.code == .accessDenied)
            }
        }

        @Test("concurrent edits all take effect, in sequence")
        func atOnce() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let message = try await calls.send(id, parts: [.text("0")])
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for index in 1...6 {
                        let calls = index % 2 == 0 ? calls : calls.otherInstance
                        group.addTask { try await calls.edit(message.id, .add(ProtoMessagePart(.text("\(index)")))) }
                    }
                    try await group.waitForAll()
                }
                let parts = try await calls.message(message.id, as: "ben").parts
                #expect(Set(parts.map { $0.body ?? "" }) == Set((0...6).map { "\($0)" }) && parts.count == 7)
                #expect(try await calls.readChanges(id).head == Position(8))
            }
        }

        @Test("a part's content counts as referenced until the part is replaced")
        func content() async throws {
            try await CallsFixture.run { calls in
                let id = try await calls.conversation(["ben"])
                let (old, new) = (try await calls.content(), try await calls.content(size: 77))
                let message = try await calls.send(id, parts: [.content(old)])
                let edited = try await calls.edit(
                    message.id,
                    .replace(
                        .with {
                            $0.part = .index(0)
                            $0.by = ProtoMessagePart(.content(new))
                        }))
                #expect(edited.parts[0].contentID == new && edited.parts[0].size == 77)
                #expect(try await calls.canSee(new, "ben"))
                #expect(try await calls.canSee(old, "ben") == false)
            }
        }
    }
}
