// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

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
                    "\(name) has replayed from \(since): \(after.0 - before.0 - 1) packets, \(after.1 - before.1) of them known"
                )
                return true
            }
            await pause(attempt + 1)
        }
        return false
    }
}
