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

/// The socket of a stock client (docs/conformance.md §16.7): back-off, session check, open, replay, subscribe. A lost
/// socket is replaced in the same way.
extension DemoUser {
    /// Keeps a socket open until the task is cancelled.
    func run() async {
        var failures = 0
        while !Task.isCancelled {
            guard await state.first(within: .seconds(3600), { $0.isOnline ? true : nil }) == true else { continue }
            if state.change({ $0.connection }) > 0, await !isSessionGood() {
                failures += 1
                await pause(failures)
                continue
            }
            do {
                let token = state.change { $0.token }
                let handshakeBegan = ContinuousClock.now
                let socket = try await client.openSocket(sessionToken: token, deadline: .now + .seconds(5))
                failures = 0
                await serve(socket, handshakeBegan: handshakeBegan)
            } catch {
                failures += 1
                takeNextGateway()
            }
            if !Task.isCancelled { await pause(failures) }
        }
    }

    /// Resets the connection without a close frame, as a network failure does, and stays offline until ``comeBack()``.
    func loseNetwork() async {
        let socket = state.change { state in
            state.isOnline = false
            return state.opened
        }
        await socket?.abort(reset: true)
        _ = await state.first(within: .seconds(10)) { $0.opened == nil ? true : nil }
    }

    /// Restores the network. The next connection goes through another gateway, if there is one.
    func comeBack() {
        takeNextGateway()
        state.change { $0.isOnline = true }
    }

    /// Returns the open socket that has caught up, waiting for it up to `limit`.
    func readySocket(within limit: Duration = DemoUser.patience) async -> ProtocolSocket? {
        await state.first(within: limit) { state in state.socket.flatMap { $0.closure == nil ? $0 : nil } }
    }

    /// Waits for 2^n tenths of a second plus jitter, at most 2 s. A demonstration needs shorter delays than stock
    /// clients.
    func pause(_ failures: Int) async {
        let milliseconds = min(100 << min(failures, 5), 2000)
        try? await Task.sleep(for: .milliseconds(milliseconds + .random(in: 0...50)))
    }

    private func serve(_ socket: ProtocolSocket, handshakeBegan: ContinuousClock.Instant) async {
        let packets = socket.packets()
        let (number, since) = state.change { state in
            state.connection += 1
            state.opened = socket
            state.ledger.connectionOpened(handshakeBegan: handshakeBegan)
            return (state.connection, state.ledger.lastTimestamp)
        }
        if !state.change({ $0.isOnline }) { await socket.abort() }
        if number > 1 { transcript.say("\(name) is connected again, through \(gatewayName)") }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.greet(socket, since: since) }
            for await packet in packets { note(packet) }
            group.cancelAll()
        }
        let isWanted = state.change { state in
            state.opened = nil
            state.socket = nil
            state.ledger.addFaults(socket.violations)
            return state.isOnline
        }
        if isWanted, !Task.isCancelled { transcript.transientFailure("\(name)'s connection was lost") }
        await socket.abort()
    }

    /// Sends the first requests of a connection.
    private func greet(_ socket: ProtocolSocket, since: String?) async {
        if let since, await !replay(socket, since: since) { return await socket.abort() }
        _ = try? await socket.request("Presence.subscribe")
        let status: JSONValue = [["operation": "set", "property": "status", "value": "auto"]]
        _ = try? await socket.request("Presence.update", data: status)
        guard socket.closure == nil else { return }
        state.change { $0.socket = socket }
    }

    /// Requests a replay until it succeeds.
    /// - Returns: True if everything since that time was received.
    private func replay(_ socket: ProtocolSocket, since: String) async -> Bool {
        let before = state.change { ($0.ledger.received, $0.ledger.repeated) }
        for attempt in 1...8 {
            guard socket.closure == nil, !Task.isCancelled else { return false }
            let answer = try? await socket.request(
                "Event.replay", data: ["from_timestamp": .string(since)], deadline: .now + .seconds(30))
            if answer?.isSuccess == true {
                let after = state.change { ($0.ledger.received, $0.ledger.repeated) }
                transcript.say(
                    "\(name) has replayed from \(since): "
                        + "\(after.0 - before.0 - 1) packets, \(after.1 - before.1) of them known"
                )
                return true
            }
            await pause(attempt + 1)
        }
        return false
    }
}
