// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import StrataCommand
import Synchronization
import TestCluster

/// A client that behaves like a stock client under faults: after each lost connection it connects to another gateway,
/// and replays the changes since its last packet.
final class FaultClient: Sendable {
    private struct State {
        var record: ClientRecord
        /// The time to replay from, until a replay has succeeded.
        var replayFrom: String?
        var socket: ProtocolSocket?
        /// The number of packets of the current connection that are in the record.
        var noted = 0
        /// The index of the packet with the successful answer to the replay of the current connection; nil before it.
        var answer: Int?
        /// True if all packets of the replay are in the record.
        var isCaughtUp: Bool { answer.map { $0 < noted } ?? false }
        /// The state of the connection, for failure messages.
        var status = "has not begun"
        /// The gateway of the present connection, or of the next one.
        var gateway: Int
        /// The moment of the last change.
        var lastChange: ContinuousClock.Instant?
        /// The times without a change that were longer than ``FaultClient/longPause``.
        var pauses: [Range<ContinuousClock.Instant>] = []

        /// Notes the moment of a change.
        mutating func changed(at now: ContinuousClock.Instant) {
            if let last = lastChange, now - last > FaultClient.longPause { pauses.append(last..<now) }
            lastChange = now
        }
    }

    /// The time without a change that is noted.
    static let longPause = Duration.milliseconds(500)
    /// The time within which a silent gateway must answer.
    private static let patience = Duration.seconds(3)

    let user: TestUser
    private let recorder: Recorder
    private let state: ObservedState<State>
    private let keeper = Mutex<Task<Void, Never>?>(nil)
    private let silence: Duration?

    /// - Parameter silence: The time without a packet after which the gateway is tested. nil: never.
    init(_ user: TestUser, _ recorder: Recorder, silence: Duration? = nil) {
        self.user = user
        self.recorder = recorder
        self.silence = silence
        state = ObservedState(State(record: ClientRecord(of: user.user, recorder), gateway: user.gateway))
    }

    /// Connects, and stays connected until ``stop()``.
    func start() {
        keeper.withLock { $0 = Task { await self.keepConnected() } }
    }

    func stop() async {
        let task = keeper.withLock { $0 }
        task?.cancel()
        await state.change { $0.socket }?.abort()
        await task?.value
        recorder.add(faults: state.change { $0.record.ledger.faults }.map { "\(user.user): \($0)" })
    }

    var socket: ProtocolSocket? { state.change { $0.isCaughtUp ? $0.socket : nil } }
    var views: [History.View] { state.change { Array($0.record.views.values) } }
    var status: String { state.change { $0.status } }
    /// The REST client of the gateway that the socket uses.
    var rest: ProtocolClient { user.app.system.client(state.change { $0.gateway }, user.version) }

    /// The times without a change that were longer than ``longPause``, including the present one.
    var pauses: [Range<ContinuousClock.Instant>] {
        state.change { state in
            var copy = state
            copy.changed(at: .now)
            return copy.pauses
        }
    }

    /// Waits until the client has received a change after a moment.
    func isServed(after moment: ContinuousClock.Instant, within limit: Duration) async -> Bool {
        await state.first(within: limit) { ($0.lastChange ?? moment) > moment ? true : nil } ?? false
    }

    /// Waits until the client is connected and has caught up.
    func caughtUp(within limit: Duration) async -> Bool {
        await state.first(within: limit) { $0.isCaughtUp ? true : nil } ?? false
    }

    /// Waits until the client has received a message with this text.
    func hasRead(_ text: String, within limit: Duration) async -> Bool {
        await state.first(within: limit) { $0.record.texts.contains(text) ? true : nil } ?? false
    }

    /// Waits until the client has received this metadata value.
    func hasSeen(_ value: String, within limit: Duration) async -> Bool {
        await state.first(within: limit) { $0.record.values.contains(value) ? true : nil } ?? false
    }

    /// Waits until the client's state equals the server's view. The checker reports differences that remain.
    func agrees(with conversation: History.Conversation, within limit: Duration) async {
        _ = await state.first(within: limit) { state in
            state.record.views[conversation.id].map { $0.differences(in: conversation).isEmpty } ?? true ? true : nil
        }
    }

    // MARK: Connections

    private func keepConnected() async {
        while !Task.isCancelled {
            let gateway = state.change { state in
                state.status = "opens a socket to gateway \(state.gateway)"
                return state.gateway
            }
            let handshakeBegan = ContinuousClock.now
            do {
                let socket = try await user.app.system.client(gateway, user.version)
                    .openSocket(sessionToken: user.token, deadline: .now + .seconds(5))
                await use(socket, handshakeBegan: handshakeBegan)
            } catch {
                if let answer = (error as? ProtocolClientError)?.answer, answer.status != 503 {
                    recorder.add(faults: [
                        "\(user.user): a socket was refused with \(answer.status) \(answer.errorID ?? "")"
                    ])
                }
                try? await Task.sleep(for: .milliseconds(.random(in: 50...200)))
            }
            state.change { $0.gateway += 1 }
        }
    }

    private func use(_ socket: ProtocolSocket, handshakeBegan: ContinuousClock.Instant) async {
        let packets = socket.packets()
        note("has a socket, asked for \(ContinuousClock.now - handshakeBegan) ago")
        defer {
            note(
                "has lost its socket, with code \(socket.closure?.code.map { "\($0)" } ?? "none") after \(socket.receivedCount) packets"
            )
        }
        let last = state.change { state in
            state.status = "waits to be told what it missed"
            state.replayFrom = state.replayFrom ?? state.record.ledger.lastTimestamp
            state.record.connectionOpened(handshakeBegan: handshakeBegan)
            state.socket = socket
            state.noted = 0
            return state.replayFrom
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.consume(packets) }
            group.addTask { await self.catchUp(socket, from: last) }
            if let silence { group.addTask { await self.watch(socket, silence) } }
            await group.waitForAll()
        }
        state.change { state in
            state.answer = nil
            state.socket = nil
            state.record.connectionClosed()
        }
        recorder.add(faults: socket.violations.map { "\(user.user): \($0)" })
    }

    /// Requests a replay or the counter until an answer succeeds, because a service may be unavailable.
    private func catchUp(_ socket: ProtocolSocket, from time: String?) async {
        while socket.closure == nil, !Task.isCancelled {
            note("asks for \(time.map { "a replay from \($0)" } ?? "its counter")")
            do {
                let answer =
                    if let time {
                        try await socket.request(
                            "Event.replay", data: ["from_timestamp": .string(time)], deadline: .now + .seconds(30))
                    } else {
                        try await socket.request("Counter.read", deadline: .now + .seconds(30))
                    }
                if answer.isSuccess {
                    state.change { state in
                        state.answer = answer.packet.index
                        state.replayFrom = nil
                    }
                    return
                }
                state.change { $0.status = "was refused what it missed: \(answer.errorID ?? "without a reason")" }
            } catch {
                // Leave a gateway that does not answer.
                state.change { $0.status = "was not told what it missed: \(error)" }
                if (error as? ProtocolClientError)?.code != .closed { await socket.abort() }
                return
            }
            try? await Task.sleep(for: .milliseconds(.random(in: 200...500)))
        }
    }

    /// Leaves a gateway that is silent and does not answer, as docs/protocol.md demands.
    private func watch(_ socket: ProtocolSocket, _ silence: Duration) async {
        while !Task.isCancelled {
            let before = socket.receivedCount
            if (try? await socket.waitForClose(deadline: .now + silence)) != nil { return }
            guard socket.receivedCount == before,
                (try? await socket.request("Counter.read", deadline: .now + Self.patience)) == nil
            else { continue }
            note("leaves a silent gateway")
            return await socket.abort()
        }
    }

    private func note(_ line: String) { recorder.journal?.write("\(user.user) \(line)") }

    // MARK: Packets

    private func consume(_ packets: AsyncStream<ReceivedPacket>) async {
        for await packet in packets {
            if recorder.journal != nil { note(packet.journalLine(at: .now)) }
            // Later packets are queued during the load.
            let new = state.change { state in
                if packet.type == "change" || packet.type == "operation" { state.changed(at: .now) }
                return state.record.note(packet)
            }
            if let new { await list(new) }
            state.change { $0.noted = packet.index + 1 }
        }
    }

    /// Loads a conversation's messages. Messages from before the user was added are not sent as packets.
    private func list(_ id: String) async {
        for _ in 0..<100 where !Task.isCancelled {
            if let answer = try? await rest.call(
                "GET", layerPath(id) + "/messages?page_size=100", token: user.token, deadline: .now + .seconds(5)),
                answer.isSuccess || answer.status == 404
            {
                let positions = (answer.json.array ?? []).compactMap { $0["position"].int }
                state.change { $0.record.listed(id, upTo: (positions.max() ?? 0) / Mirror.positionStep) }
                return
            }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }
}
