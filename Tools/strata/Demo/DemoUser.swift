// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient

/// A user of the demo, with a client that behaves like stock clients. It keeps a socket open, reconnects, replays
/// missed changes, and retries failed requests.
final class DemoUser: Sendable {
    struct State: Sendable {
        var token = ""
        var gateway: Int
        /// The open socket that has caught up.
        var socket: ProtocolSocket?
        /// The open socket, which may not have caught up yet.
        var opened: ProtocolSocket?
        var connection = 0
        /// False while the network is simulated to be down.
        var isOnline = true
        var ledger = PacketLedger()
        /// New packets that no expectation has consumed yet.
        var unclaimed: [ReceivedPacket] = []
        var replicas: [String: ConversationReplica] = [:]
    }

    /// The user's display name.
    let name: String
    let id: String
    let system: DemoSystem
    let transcript: DemoTranscript
    let state: ObservedState<State>

    /// The default timeout of an expectation. A lost notice is repaired within about 15 s, and a killed process
    /// restarts within a few seconds.
    static let patience = Duration.seconds(45)

    init(name: String, id: String, gateway: Int, system: DemoSystem, transcript: DemoTranscript) {
        self.name = name
        self.id = id
        self.system = system
        self.transcript = transcript
        state = ObservedState(State(gateway: gateway % system.gateways.count))
    }

    /// The user's identity URL, `layer:///identities/…`.
    var identity: String { "layer:///identities/\(id)" }

    var client: ProtocolClient { system.gateways[state.change { $0.gateway }] }

    /// The gateway's name and URL, `gateway 2 (https://…)`.
    var gatewayName: String {
        let index = state.change { $0.gateway }
        return "gateway \(index + 1) (\(system.gateways[index].baseURL))"
    }

    /// Switches to the next gateway after a failure, as a load balancer would.
    func takeNextGateway() {
        state.change { $0.gateway = ($0.gateway + 1) % system.gateways.count }
    }

    /// Waits for an expected packet and removes it from the unclaimed ones. A missing packet is recorded in the
    /// transcript.
    /// - Parameter what: The description of the packet.
    @discardableResult
    func sees(
        _ what: String, within limit: Duration? = nil, where matches: @escaping @Sendable (ReceivedPacket) -> Bool
    ) async -> ReceivedPacket? {
        // After the first failure, later ones are likely. A shorter timeout avoids a long wait for all of them.
        let patience = limit ?? (transcript.missing.isEmpty ? Self.patience : .seconds(8))
        guard let packet = await takePacket(within: patience, where: matches) else {
            transcript.failedExpectation("\(name) did not see: \(what)")
            return nil
        }
        transcript.say("\(name) sees \(what)")
        return packet
    }

    /// Waits for a change of an object.
    @discardableResult
    func sees(
        _ what: String, operation: String, of type: String, id: String,
        where matches: @escaping @Sendable (JSONValue) -> Bool = { _ in true }
    ) async -> ReceivedPacket? {
        await sees(what) { $0.isChange(operation, of: type, id: id) && matches($0.data) }
    }

    /// Waits for a matching packet, and removes and returns the oldest one.
    func takePacket(
        within limit: Duration, where matches: @escaping @Sendable (ReceivedPacket) -> Bool
    ) async -> ReceivedPacket? {
        await state.first(within: limit) { state in
            state.unclaimed.firstIndex(where: matches).map { state.unclaimed.remove(at: $0) }
        }
    }

    func forget(where matches: (ReceivedPacket) -> Bool) {
        state.change { $0.unclaimed.removeAll(where: matches) }
    }

    func note(_ packet: ReceivedPacket) {
        state.change { state in
            let verdict = state.ledger.note(packet)
            guard verdict != .fault else { return }
            if let id = packet.conversationID { ConversationReplica.apply(packet, to: &state.replicas[id]) }
            if verdict == .new { state.unclaimed.append(packet) }
        }
    }
}

extension JSONValue {
    func has(_ operation: String, property: String, value: JSONValue? = nil) -> Bool {
        (array ?? [])
            .contains {
                $0["operation"].string == operation && $0["property"].string == property
                    && (value == nil || $0["value"] == value)
            }
    }
}
