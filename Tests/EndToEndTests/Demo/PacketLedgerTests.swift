// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProtocolClient
@testable import StrataCommand

@Suite("the packet ledger")
struct PacketLedgerTests {
    private func packet(
        _ counter: Int, position: Int, of conversation: String = "c", property: String = "metadata.a"
    ) throws -> ReceivedPacket {
        try packet(
            [
                "type": "change", "counter": .integer(Int64(counter)),
                "timestamp": "2030-01-01T00:00:0\(counter % 10).000Z",
                "body": [
                    "operation": "update", "position": .integer(Int64(position)),
                    "object": ["type": "Conversation", "id": .string(conversation)],
                    "data": [["operation": "set", "property": .string(property), "value": "x"]],
                ],
            ])
    }

    private func packet(_ json: JSONValue) throws -> ReceivedPacket {
        ReceivedPacket(index: 0, receivedAt: .now, json: json)
    }

    private func opened() -> PacketLedger {
        var ledger = PacketLedger()
        ledger.connectionOpened(handshakeBegan: nil)
        return ledger
    }

    @Test("in-order packets are new and cause no fault")
    func inOrder() throws {
        var ledger = opened()
        #expect(ledger.note(try packet(0, position: 1)) == .new)
        #expect(ledger.note(try packet(1, position: 1, property: "metadata.b")) == .new)
        #expect(ledger.note(try packet(2, position: 2)) == .new)
        #expect(ledger.note(try packet(3, position: 1, of: "d")) == .new)
        #expect(ledger.faults == [])
        #expect(ledger.lastTimestamp == "2030-01-01T00:00:03.000Z")
        #expect(ledger.missing(of: "c", upTo: 3) == [3])
    }

    @Test("a skipped counter is a fault, and its packet's time is not stored")
    func counters() throws {
        var ledger = opened()
        _ = ledger.note(try packet(0, position: 1))
        _ = ledger.note(try packet(2, position: 2))
        #expect(ledger.faults.count == 1)
        #expect(ledger.lastTimestamp == "2030-01-01T00:00:00.000Z")
    }

    @Test("a decreasing position and a duplicate packet are faults")
    func order() throws {
        var ledger = opened()
        _ = ledger.note(try packet(0, position: 2))
        #expect(ledger.note(try packet(1, position: 1)) == .fault)
        #expect(ledger.note(try packet(2, position: 2)) == .fault)
        #expect(ledger.faults.count == 2)
    }

    @Test("packets repeated on a new connection are known and no fault")
    func replay() throws {
        var ledger = opened()
        _ = ledger.note(try packet(0, position: 1))
        _ = ledger.note(try packet(1, position: 2))
        ledger.connectionOpened(handshakeBegan: nil)
        #expect(ledger.note(try packet(0, position: 1)) == .again)
        #expect(ledger.note(try packet(1, position: 2)) == .again)
        #expect(ledger.note(try packet(2, position: 3)) == .new)
        #expect(ledger.repeated == 2)
        #expect(ledger.faults == [])
    }

    @Test("a replay that failed half-way may restart on the same connection")
    func failedReplay() throws {
        var ledger = opened()
        _ = ledger.note(try packet(0, position: 1))
        let refusal: JSONValue = [
            "type": "response", "counter": 1, "timestamp": "2030-01-01T00:00:01.000Z",
            "body": ["method": "Event.replay", "success": false],
        ]
        _ = ledger.note(try packet(refusal))
        #expect(ledger.note(try packet(2, position: 1)) == .again)
        #expect(ledger.faults == [])
    }
}

@Suite("the conversation replica")
struct ConversationReplicaTests {
    private let start: JSONValue = [
        "metadata": ["title": "Trip", "trip": ["city": "Porto"]], "participants": [["id": "a"], ["id": "b"]],
        "unread_message_count": 0,
        "total_message_count": 2,
    ]

    @Test("patches make the replica equal to the server's conversation")
    func patches() {
        var replica = ConversationReplica(start)
        let operations: JSONValue = [
            ["operation": "set", "property": "metadata.trip.hotel.name", "value": "Aurora"],
            ["operation": "delete", "property": "metadata.trip.city"],
            ["operation": "remove", "property": "participants", "id": "b"],
            ["operation": "add", "property": "participants", "id": "c"],
            ["operation": "set", "property": "unread_message_count", "value": 3],
        ]
        replica.applyOperations(operations)
        let expected: JSONValue = [
            "metadata": ["title": "Trip", "trip": ["hotel": ["name": "Aurora"]]],
            "participants": [["id": "a"], ["id": "c"]],
            "unread_message_count": 3, "total_message_count": 2,
        ]
        #expect(replica == ConversationReplica(expected))
    }

    @Test("an empty object equals an absent one")
    func empty() {
        var replica = ConversationReplica(start)
        replica.applyOperations([["operation": "delete", "property": "metadata.trip.city"]])
        #expect(replica.metadata == ["title": "Trip"])
        replica.applyOperations([["operation": "set", "property": "metadata", "value": [:]]])
        #expect(replica.metadata == [:])
    }
}

@Suite("a watched value")
struct WatchedTests {
    @Test("a waiting task is resumed only by the change it waits for")
    func waiting() async {
        let value = ObservedState(0)
        async let found = value.first(within: .seconds(60)) { $0 >= 2 ? "at \($0)" : nil }
        for number in 1...3 { value.change { $0 = number } }
        // The value may already be 3 when the waiter begins.
        let answer = await found
        #expect(answer == "at 2" || answer == "at 3")
    }

    @Test("an existing value is found at once, and a wait for a missing value times out")
    func limits() async {
        let value = ObservedState(1)
        #expect(await value.first(within: .seconds(60)) { $0 } == 1)
        let nothing: Int? = await value.first(within: .milliseconds(1)) { _ in nil }
        #expect(nothing == nil)
        #expect(value.change { $0 } == 1)
    }

    @Test("a cancelled task stops waiting")
    func cancellation() async {
        let value = ObservedState(1)
        let task = Task { await value.first(within: .seconds(3600)) { _ in nil as Int? } }
        task.cancel()
        #expect(await task.value == nil)
    }
}
