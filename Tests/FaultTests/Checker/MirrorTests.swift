// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import Testing

@testable import Soak

/// Tests of the checker's reference: a client that applies packets as docs/protocol.md requires.
@Suite("mirror")
struct MirrorTests {
    private static func packet(_ body: JSONValue, _ type: String = "change") -> JSONValue {
        ["type": .string(type), "counter": 0, "body": body]
    }

    private static func update(
        _ position: Int, _ operations: JSONValue, _ type: String = "Conversation", id: String = "c"
    ) -> JSONValue {
        packet([
            "operation": "update", "object": ["type": .string(type), "id": .string(id)],
            "position": .integer(Int64(position)), "data": operations,
        ])
    }

    private static var mirror: Mirror {
        var mirror = Mirror()
        mirror.show([
            "position": 5, "unread_message_count": 1, "total_message_count": 2, "last_message": nil,
            "participants": [["id": "ana"]],
            "metadata": ["a": "x"],
        ])
        return mirror
    }

    @Test("the mirror applies counts as received, and skips metadata that the object already contained")
    func updates() {
        var mirror = Self.mirror
        mirror.apply(
            Self.update(
                4,
                [
                    ["operation": "set", "property": "unread_message_count", "value": 7],
                    ["operation": "set", "property": "metadata.a", "value": "old"],
                    ["operation": "remove", "property": "participants", "id": "ana"],
                ]))
        #expect(mirror.unread == 7)
        #expect(mirror.metadata == ["a": "x"])
        #expect(mirror.participants == ["ana"])
        mirror.apply(Self.update(6, [["operation": "set", "property": "metadata.a.b", "value": "y"]]))
        #expect(mirror.metadata == ["a.b": "y"])
        mirror.apply(Self.update(7, [["operation": "delete", "property": "metadata.a"]]))
        #expect(mirror.metadata.isEmpty)
        mirror.apply(Self.update(8, [["operation": "set", "property": "last_message", "id": "m9", "value": [:]]]))
        #expect(mirror.lastMessage == "m9")
        // A late change is contained in the changes applied since.
        mirror.apply(
            Self.update(
                6,
                [
                    ["operation": "set", "property": "total_message_count", "value": 9],
                    ["operation": "set", "property": "metadata.a", "value": "late"],
                    ["operation": "remove", "property": "participants", "id": "ana"],
                ]))
        #expect(mirror.total == 9)
        #expect(mirror.metadata.isEmpty)
        #expect(mirror.participants == ["ana"])
        mirror.apply(
            Self.update(
                9,
                [
                    ["operation": "add", "property": "participants", "id": "ben"],
                    ["operation": "remove", "property": "participants", "id": "ana"],
                ]))
        #expect(mirror.participants == ["ben"])
    }

    @Test("statuses move forward only, by receipts and by reads of all messages up to one")
    func statuses() {
        var mirror = Self.mirror
        for (id, position) in [("m1", 6), ("m2", 7)] {
            mirror.apply(
                Self.packet([
                    "operation": "create", "object": ["type": "Message", "id": .string(id)],
                    "position": .integer(Int64(position)),
                    "data": [
                        "id": .string(id), "position": .integer(Int64(position * Mirror.positionStep)),
                        "sender": ["id": "ana"],
                        "recipient_status": ["ana": "read", "b.n": "sent"],
                    ],
                ]))
        }
        mirror.apply(
            Self.packet(
                [
                    "method": "Conversation.mark_all_read", "object": ["type": "Conversation", "id": "c"],
                    "position": 8,
                    "data": ["position": .integer(Int64(6 * Mirror.positionStep)), "identity": ["id": "b.n"]],
                ], "operation"))
        #expect(mirror.messages.mapValues { $0.statuses["b.n"] } == ["m1": "read", "m2": "sent"])
        let late: JSONValue = [["operation": "set", "property": "recipient_status.b\\.n", "value": "delivered"]]
        for id in ["m1", "m2"] { mirror.apply(Self.update(9, late, "Message", id: id)) }
        #expect(mirror.messages.mapValues { $0.statuses["b.n"] } == ["m1": "read", "m2": "delivered"])
        // Receiving an older state of the message does not revert anything.
        mirror.show(message: [
            "id": "m1", "position": .integer(6 * Int64(Mirror.positionStep)), "recipient_status": ["b.n": "sent"],
        ])
        #expect(mirror.messages["m1"]?.statuses["b.n"] == "read")
    }

    @Test("a sender's own messages count as read, and deleted messages are gone")
    func ownAndDeleted() {
        var mirror = Self.mirror
        mirror.show(message: [
            "id": "m1", "position": 8192, "sender": ["id": "ana"], "recipient_status": ["b.n": "sent"],
        ])
        mirror.apply(
            Self.packet(
                [
                    "method": "Conversation.mark_all_read", "object": ["type": "Conversation", "id": "c"],
                    "position": 8,
                    "data": ["position": .integer(100 * Int64(Mirror.positionStep)), "identity": ["id": "ana"]],
                ], "operation"))
        #expect(mirror.messages["m1"]?.statuses == ["b.n": "sent"])
        mirror.apply(Self.packet(["operation": "delete", "object": ["type": "Message", "id": "m1"], "position": 9]))
        #expect(mirror.messages.isEmpty)
    }
}
