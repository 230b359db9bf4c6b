// SPDX-License-Identifier: Apache-2.0
import StrataCommand
import StrataModel

@testable import ProtocolClient

/// The ``PacketLedger`` of a simulated client. The judge of the fault tests cannot see where a gateway starts a replay.
/// This shows whether it distinguishes a correct gateway from one that repeats changes.
struct SimulatedLedger {
    private var ledger = PacketLedger()
    private let start = ContinuousClock.now

    mutating func connectionOpened(handshakeBegan: Int64) {
        ledger.connectionOpened(handshakeBegan: instant(handshakeBegan))
    }

    /// Adds a packet.
    /// - Returns: the violated promise, if any.
    mutating func note(_ packet: SimulatedPipe.Packet, at time: Int64) -> String? {
        let count = ledger.faults.count
        var json = json(packet.content)
        json["counter"] = .integer(packet.counter)
        json["timestamp"] = .string("\(packet.stamp.microseconds)")
        _ = ledger.note(ReceivedPacket(index: Int(packet.counter), receivedAt: instant(time), json: json))
        return ledger.faults.count > count ? ledger.faults.last : nil
    }

    /// Converts a virtual time in microseconds.
    private func instant(_ time: Int64) -> ContinuousClock.Instant { start + .microseconds(time - Simulation.start) }

    private func json(_ content: SimulatedPipe.Content) -> JSONValue {
        switch content {
        case .change(let id, let position, _):
            change("update", id, position, [["operation": "set", "property": "change"]])
        case .numbers(let id, let position, _):
            change("update", id, position, [["operation": "set", "property": "unread_message_count"]])
        case .shown(let id, let view, let position, _):
            change("create", id, position, ["position": .integer(view.rawValue)])
        case .ownShown(_, let id, let view, _): change("create", id, nil, ["position": .integer(view.rawValue)])
        case .ownHidden(_, let id): change("delete", id, nil, .null)
        case .replayAnswered(let isSuccess):
            ["type": "response", "body": ["method": "Event.replay", "success": .bool(isSuccess)]]
        case .own, .signal, .other, .replayBegins, .close: ["type": "signal"]
        }
    }

    private func change(_ operation: String, _ id: Int, _ position: Position?, _ data: JSONValue) -> JSONValue {
        [
            "type": "change",
            "body": [
                "operation": .string(operation), "object": ["type": "Conversation", "id": .string("\(id)")],
                "position": position.map { .integer($0.rawValue) } ?? .null, "data": data,
            ],
        ]
    }
}
