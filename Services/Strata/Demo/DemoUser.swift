// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// One user of the demo, with a client that behaves as stock clients do: it keeps a socket open, comes back when it is lost, replays what it
/// missed, and tries again what failed in transit.
final class DemoUser: Sendable {
    struct State: Sendable {
        var token = ""
        var gateway: Int
        /// Open and caught up.
        var socket: ProtocolSocket?
        /// Open, perhaps not caught up.
        var opened: ProtocolSocket?
        var connection = 0
        /// Whether the network is there.
        var isOnline = true
        var ledger = PacketLedger()
        /// New packets that no wait has asked for yet.
        var unclaimed: [ReceivedPacket] = []
        var replicas: [String: ConversationReplica] = [:]
    }

    /// As people call the user.
    let name: String
    /// The user's id in the app.
    let id: String
    let system: DemoSystem
    let transcript: DemoTranscript
    let state: ObservedState<State>

    /// How long something that has to happen may take: a lost notice is made good within 15 s and a bit, a killed process is back after a few.
    static let patience = Duration.seconds(45)

    init(name: String, id: String, gateway: Int, system: DemoSystem, transcript: DemoTranscript) {
        self.name = name
        self.id = id
        self.system = system
        self.transcript = transcript
        state = ObservedState(State(gateway: gateway % system.gateways.count))
    }

    /// `layer:///identities/…`
    var identity: String { "layer:///identities/\(id)" }

    var client: ProtocolClient { system.gateways[state.change { $0.gateway }] }

    /// `gateway 2 (https://…)`
    var gatewayName: String {
        let index = state.change { $0.gateway }
        return "gateway \(index + 1) (\(system.gateways[index].baseURL))"
    }

    /// Takes the next gateway when one does not answer, as a load balancer in front of them would.
    func takeNextGateway() {
        state.change { $0.gateway = ($0.gateway + 1) % system.gateways.count }
    }

    /// Waits for a packet that has to come, and takes it. If it does not come, that is written down.
    /// - Parameter what: what the user sees when it comes.
    @discardableResult
    func sees(_ what: String, within limit: Duration? = nil, where matches: @escaping @Sendable (ReceivedPacket) -> Bool) async -> ReceivedPacket? {
        // Once something is missing the rest is likely to be, and a reader should not have to wait for all of it.
        let patience = limit ?? (transcript.missing.isEmpty ? Self.patience : .seconds(8))
        guard let packet = await takePacket(within: patience, where: matches) else {
            transcript.miss("\(name) did not see: \(what)")
            return nil
        }
        transcript.say("\(name) sees \(what)")
        return packet
    }

    /// Waits for a change of an object.
    @discardableResult
    func sees(
        _ what: String, operation: String, of type: String, id: String, where matches: @escaping @Sendable (JSONValue) -> Bool = { _ in true }
    ) async -> ReceivedPacket? {
        await sees(what) { $0.isChange(operation, of: type, id: id) && matches($0.data) }
    }

    /// Takes the oldest packet that matches, waiting for it.
    func takePacket(within limit: Duration, where matches: @escaping @Sendable (ReceivedPacket) -> Bool) async -> ReceivedPacket? {
        await state.first(within: limit) { state in
            state.unclaimed.firstIndex(where: matches).map { state.unclaimed.remove(at: $0) }
        }
    }

    func forget(where matches: (ReceivedPacket) -> Bool) {
        state.change { $0.unclaimed.removeAll(where: matches) }
    }

    /// Takes in a packet of the open connection.
    func note(_ packet: ReceivedPacket) {
        state.change { state in
            let verdict = state.ledger.note(packet)
            guard verdict != .fault else { return }
            if let id = packet.conversationID { Self.applyPacket(packet, to: &state.replicas[id]) }
            if verdict == .new { state.unclaimed.append(packet) }
        }
    }

    private static func applyPacket(_ packet: ReceivedPacket, to replica: inout ConversationReplica?) {
        guard packet.objectType == "Conversation" else { return }
        switch packet.operation {
        case "create": replica = ConversationReplica(packet.data)
        case "update": replica?.applyOperations(packet.data)
        case "delete": replica = nil
        default: break
        }
    }
}

extension JSONValue {
    func has(_ operation: String, property: String, value: JSONValue? = nil) -> Bool {
        (array ?? [])
            .contains { $0["operation"].string == operation && $0["property"].string == property && (value == nil || $0["value"] == value) }
    }
}
