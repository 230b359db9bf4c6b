// SPDX-License-Identifier: Apache-2.0

import ProtocolClient
import StrataCommand
import Synchronization
import TestCluster

/// A client that wants to stay connected whatever happens, as stock clients do: when it loses its connection it tries another gateway, again and again, and has
/// replayed what came since its last packet.
final class FaultClient: Sendable {
    private struct State {
        var ledger = PacketLedger()
        /// Of the replay that has not been answered with success: it is asked for again from the same time.
        var owedFrom: String?
        var views: [String: History.View] = [:]
        var socket: ProtocolSocket?
        /// The packets of the present connection that have been taken note of.
        var noted = 0
        /// The packet that answered the replay of the present connection, counted from 0; nil: it has not been answered with success.
        var answer: Int?
        /// All that the replay brought has been taken note of.
        var isCaughtUp: Bool { answer.map { $0 < noted } ?? false }
        var texts: Set<String> = []
        /// Values of metadata that it was told.
        var values: Set<String> = []
        var openedAt = ContinuousClock.now
        /// What the gateway sent before it had read the request, which may take long, carries one and the same time: this.
        var unaskedStamp: String?
        /// Who seems to be typing, by conversation.
        var typists: [String: Set<String>] = [:]
        /// What it does to be connected, for who wonders why it is not.
        var standing = "has not begun"
    }

    let user: TestUser
    private let recorder: Recorder
    private let state = ObservedState(State())
    private let keeper = Mutex<Task<Void, Never>?>(nil)

    init(_ user: TestUser, _ recorder: Recorder) {
        self.user = user
        self.recorder = recorder
    }

    /// Connects, and stays so until ``stop()``.
    func start() {
        keeper.withLock { $0 = Task { await self.keepConnected() } }
    }

    func stop() async {
        let task = keeper.withLock { $0 }
        task?.cancel()
        await state.change { $0.socket }?.abort()
        await task?.value
        recorder.add(faults: state.change { $0.ledger.faults }.map { "\(user.user): \($0)" })
    }

    var socket: ProtocolSocket? { state.change { $0.isCaughtUp ? $0.socket : nil } }
    var views: [History.View] { state.change { Array($0.views.values) } }
    var standing: String { state.change { $0.standing } }

    /// Waits until it is connected and has been told all it missed.
    func caughtUp(within limit: Duration) async -> Bool { await state.first(within: limit) { $0.isCaughtUp ? true : nil } ?? false }

    /// Waits until a message with this text has come.
    func hasRead(_ text: String, within limit: Duration) async -> Bool {
        await state.first(within: limit) { $0.texts.contains(text) ? true : nil } ?? false
    }

    /// Waits until it has been told that metadata has this value.
    func hasSeen(_ value: String, within limit: Duration) async -> Bool {
        await state.first(within: limit) { $0.values.contains(value) ? true : nil } ?? false
    }

    /// Waits until it holds what the server shows its user. What it lacks at the end of that time, the checker finds.
    func agrees(with conversation: History.Conversation, within limit: Duration) async {
        _ = await state.first(within: limit) { state in
            state.views[conversation.id].map { $0.differences(in: conversation).isEmpty } ?? true ? true : nil
        }
    }

    // MARK: Connections

    private func keepConnected() async {
        var gateway = user.gateway
        while !Task.isCancelled {
            state.change { $0.standing = "opens a socket to gateway \(gateway)" }
            do {
                let socket = try await user.app.system.client(gateway, user.version)
                    .openSocket(sessionToken: user.token, deadline: .now + .seconds(5))
                await use(socket)
            } catch {
                if let answer = (error as? ProtocolClientError)?.answer, answer.status != 503 {
                    recorder.add(faults: ["\(user.user): a socket was refused with \(answer.status) \(answer.errorID ?? "")"])
                }
                try? await Task.sleep(for: .milliseconds(.random(in: 50...200)))
            }
            gateway += 1
        }
    }

    private func use(_ socket: ProtocolSocket) async {
        let packets = socket.packets()
        let last = state.change { state in
            state.standing = "waits to be told what it missed"
            state.ledger.connectionOpened()
            state.socket = socket
            state.openedAt = .now
            state.unaskedStamp = nil
            state.noted = 0
            for id in state.views.keys { state.views[id]?.events.append(.beginAnew) }
            state.owedFrom = state.owedFrom ?? state.ledger.lastTimestamp
            return state.owedFrom
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.consume(packets) }
            group.addTask { await self.catchUp(socket, from: last) }
            await group.waitForAll()
        }
        state.change { state in
            state.answer = nil
            state.socket = nil
            // Indicators are not replayed: a client forgets them with the connection.
            for id in state.typists.keys { forgetTypists(in: id, &state) }
        }
        recorder.add(faults: socket.violations.map { "\(user.user): \($0)" })
    }

    /// Asks until it is answered: a service may be away.
    private func catchUp(_ socket: ProtocolSocket, from time: String?) async {
        while socket.closure == nil, !Task.isCancelled {
            do {
                let answer =
                    if let time {
                        try await socket.request("Event.replay", data: ["from_timestamp": .string(time)], deadline: .now + .seconds(30))
                    } else {
                        try await socket.request("Counter.read", deadline: .now + .seconds(30))
                    }
                if answer.isSuccess {
                    state.change { state in
                        state.answer = answer.packet.index
                        state.owedFrom = nil
                    }
                    return
                }
                state.change { state in
                    state.standing = "was refused what it missed: \(answer.errorID ?? "without a reason")"
                    for id in state.views.keys { state.views[id]?.events.append(.beginAnew) }
                }
            } catch {
                // A gateway that does not answer is left for another.
                state.change { $0.standing = "was not told what it missed: \(error)" }
                if (error as? ProtocolClientError)?.code != .closed { await socket.abort() }
                return
            }
            try? await Task.sleep(for: .milliseconds(.random(in: 200...500)))
        }
    }

    // MARK: Packets

    private func consume(_ packets: AsyncStream<ReceivedPacket>) async {
        for await packet in packets {
            let isNew = state.change { state -> String? in
                _ = state.ledger.note(packet)
                return note(packet, &state)
            }
            // What comes meanwhile waits.
            if let isNew { await list(isNew) }
            state.change { $0.noted = packet.index + 1 }
        }
    }

    /// A socket goes live by itself when it has been asked for nothing for two seconds. What it says then, the replay says again.
    private func noteUnasked(_ packet: ReceivedPacket, _ state: inout State) {
        guard !state.isCaughtUp, let stamp = packet.timestamp else { return }
        if packet.index == 0, packet.receivedAt - state.openedAt >= .seconds(2) {
            state.unaskedStamp = stamp
        } else if let unasked = state.unaskedStamp, stamp > unasked {
            state.unaskedStamp = nil
            for id in state.views.keys { state.views[id]?.events.append(.beginAnew) }
        }
    }

    /// - Returns: the conversation whose messages have to be loaded.
    private func note(_ packet: ReceivedPacket, _ state: inout State) -> String? {
        noteUnasked(packet, &state)
        if packet.isTyping() {
            typing(packet, &state)
            return nil
        }
        guard packet.type == "change" || packet.type == "operation", let id = packet.conversationID, let position = packet.body["position"].int else {
            if packet.isChange("delete", of: "Conversation"), let id = packet.objectID { append([.gone], to: id, &state) }
            return nil
        }
        if packet.isChange("delete", of: "Conversation") || removes(packet) { forgetTypists(in: id, &state) }
        if packet.isChange("create", of: "Message"), let text = packet.data["parts"][0]["body"].string { state.texts.insert(text) }
        for operation in packet.data.array ?? [] where operation["property"].string?.hasPrefix("metadata") == true {
            if let value = operation["value"].string { state.values.insert(value) }
        }
        let properties = (packet.data.array ?? []).map { "\($0["operation"].string ?? "") \($0["property"].string ?? "")" }.joined(separator: " ")
        let what = "\(packet.operation ?? packet.type) \(packet.objectType ?? "") \(packet.objectID ?? "") \(properties)"
        append([.told(position: position, what: what)], to: id, &state)
        state.views[id]?.mirror.apply(packet.json)
        if packet.isChange("create", of: "Conversation") {
            // A user who is added a moment after a change is told of it by this alone.
            state.values.formUnion(strings(in: packet.data["metadata"]))
            append([.shown(position: packet.data["position"].int ?? 0)], to: id, &state)
            return id
        }
        return nil
    }

    private func strings(in tree: JSONValue) -> [String] {
        if let string = tree.string { return [string] }
        return (tree.object ?? [:]).values.flatMap { strings(in: $0) }
    }

    private func append(_ events: [History.View.Event], to id: String, _ state: inout State) {
        state.views[id, default: History.View(user: user.user, conversation: id)].events += events
    }

    /// Whether it says that the user is not in the conversation any more.
    private func removes(_ packet: ReceivedPacket) -> Bool {
        (packet.data.array ?? []).contains { $0["operation"].string == "remove" && $0["id"].string == user.identity }
    }

    private func typing(_ packet: ReceivedPacket, _ state: inout State) {
        guard let typist = packet.data["sender"]["user_id"].string, let id = packet.objectID, let action = packet.data["action"].string else {
            return
        }
        note(action, typist, id, &state)
    }

    private func note(_ action: String, _ typist: String, _ id: String, _ state: inout State) {
        if action == "finished" { state.typists[id]?.remove(typist) } else { state.typists[id, default: []].insert(typist) }
        recorder.add(
            History.Typing(reader: user.user, typist: typist, conversation: id, action: action, seconds: recorder.seconds))
    }

    private func forgetTypists(in id: String, _ state: inout State) {
        for typist in state.typists[id] ?? [] { note("finished", typist, id, &state) }
    }

    /// Earlier messages are not sent as packets to who comes later; a client loads them.
    private func list(_ id: String) async {
        for _ in 0..<100 where !Task.isCancelled {
            if let answer = try? await user.call("GET", layerPath(id) + "/messages?page_size=100", nil), answer.isSuccess || answer.status == 404 {
                let positions = (answer.json.array ?? []).compactMap { $0["position"].int }
                state.change { append([.listed(position: (positions.max() ?? 0) / Mirror.positionStep)], to: id, &$0) }
                return
            }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }
}
