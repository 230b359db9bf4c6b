// SPDX-License-Identifier: Apache-2.0

import StrataCommand
import Testing

@testable import ProtocolClient
@testable import Soak

/// The record of a client's packets in situations in which changes are repeated.
@Suite("client record")
struct ClientRecordTests {
    private static let conversation = "layer:///conversations/c"
    private static let start = ContinuousClock.now

    /// Records packets that a client received at these times after it had requested the connection.
    private func record(_ packets: [(seconds: Double, json: JSONValue)]) -> ClientRecord {
        var record = ClientRecord(of: "ana", Recorder())
        record.connectionOpened(handshakeBegan: Self.start)
        for (index, packet) in packets.enumerated() {
            var json = packet.json
            json["counter"] = .integer(Int64(index))
            json["timestamp"] = "2030-01-01T00:00:00.000Z"
            _ = record.note(ReceivedPacket(index: index, receivedAt: Self.start + .seconds(packet.seconds), json: json))
        }
        return record
    }

    private func change(_ position: Int) -> JSONValue {
        [
            "type": "change",
            "body": [
                "operation": "update", "position": .integer(Int64(position)),
                "object": ["type": "Conversation", "id": .string(Self.conversation)],
                "data": [["operation": "set", "property": "metadata.a", "value": "x"]],
            ],
        ]
    }

    private func answer(_ isSuccess: Bool, to method: String = "Event.replay") -> JSONValue {
        ["type": "response", "body": ["method": .string(method), "success": .bool(isSuccess)]]
    }

    /// Returns the violations of order that the checker finds, without those of the final state.
    private func violations(_ record: ClientRecord) -> [Violation] {
        let history = History(
            views: Array(record.views.values),
            conversations: [
                History.Conversation(
                    id: Self.conversation, log: [], participants: ["ana"], metadata: [:], messages: [], unread: [:])
            ],
            faults: record.ledger.faults)
        return Checker.violations(of: history).filter { [.reordered, .duplicated, .protocolBroken].contains($0.kind) }
    }

    /// Regression test: the composed test once reported 177 reordered changes of one user. The client had received the
    /// refusal of its replay while earlier packets of that replay were still waiting to be recorded.
    @Test("a replay that fails half-way and is repeated may repeat the changes before its refusal")
    func failedReplay() {
        let packets =
            [1111, 1112, 1113, 1114].map { (0.1, change($0)) } + [(0.2, answer(false))]
            + (1097...1120).map { (0.7, change($0)) }
        let record = record(packets + [(0.8, answer(true)), (0.9, change(1121))])
        #expect(violations(record) == [])
        #expect(record.views[Self.conversation]?.events.filter { $0 == .restart }.count == 1)
    }

    @Test("a replay may repeat changes that a socket without requests received after two seconds")
    func lateRequest() {
        let packets = [1111, 1112, 1113, 1114].map { (2.1, change($0)) } + (1097...1120).map { (4.0, change($0)) }
        #expect(violations(record(packets + [(4.1, answer(true)), (4.2, change(1121))])) == [])
    }

    @Test(
        "a change sent between a failed replay and the next one must not be repeated, since nothing live is sent then")
    func liveAfterFailure() {
        let packets = [(0.1, answer(false)), (0.2, change(1115))] + [(0.7, change(1115))]
        #expect(violations(record(packets + [(0.8, answer(true))])).map(\.kind) == [.duplicated, .protocolBroken])
    }

    @Test("a repetition is a violation if the socket received a packet within two seconds")
    func repetition() {
        let packets = [1111, 1112].map { (1.9, change($0)) } + [(4.0, change(1111))]
        #expect(violations(record(packets)).count == 3)
    }

    @Test("a second repetition before the answer is a violation")
    func secondRepetition() {
        let packets = [1111, 1112, 1111, 1112, 1111].map { (2.5, change($0)) }
        #expect(violations(record(packets)).count == 3)
    }

    @Test("a repetition after the answer is a violation", arguments: ["Event.replay", "Counter.read"])
    func repetitionAfterAnswer(to method: String) {
        let packets = [(2.5, change(1111)), (2.6, answer(true, to: method)), (2.7, change(1110))]
        #expect(violations(record(packets)).map(\.kind) == [.reordered, .protocolBroken])
    }
}
