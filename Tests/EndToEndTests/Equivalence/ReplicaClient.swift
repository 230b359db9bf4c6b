// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import Synchronization
import TestCluster

@testable import StrataCommand

/// One device of a user: a socket that is lost and reopened, replay requests as stock clients send them, and a replica
/// updated from packets.
final class ReplicaClient: Sendable {
    struct State: Sendable {
        var replica: ClientReplica
        var ledger = PacketLedger()
        var socket: ProtocolSocket?
        /// The number of the current connection. Packets of any other connection are discarded.
        var connection = 0
        /// Replay requests without an answer.
        var pendingReplays = 0
        var firstTimestamp: String?
        var packets = 0
        var replays = 0
        var loads = 0
        var faults: [String] = []
    }

    let user: TestUser
    let state: ObservedState<State>
    /// Conversations in which the user was not a participant all the time. Packets cannot describe them completely.
    private let mayLoad: Set<String>
    /// True if the user receives every position, because no block hides messages.
    private let isToldAll: Bool
    private let trace: HistoryTrace?
    private let consumer = Mutex<Task<Void, Never>?>(nil)

    init(_ user: TestUser, mayLoad: Set<String> = [], isToldAll: Bool = true, trace: HistoryTrace? = nil) {
        self.user = user
        self.isToldAll = isToldAll
        self.trace = trace
        self.mayLoad = mayLoad
        state = ObservedState(State(replica: ClientReplica(identity: user.identity)))
    }

    var isOnline: Bool { state.change { $0.socket != nil } }
    var socket: ProtocolSocket? { state.change { $0.socket } }

    // MARK: Connections

    /// Loads all lists over REST, as a client does before it opens its first socket.
    func loadLists() async throws {
        let fresh = try await FreshState(of: user)
        state.change { state in
            for conversation in fresh.conversations { state.replica.take(conversation: conversation) }
            for message in fresh.messages.values.joined() { state.replica.take(message: message) }
        }
    }

    /// Opens a socket. If an earlier socket received packets, everything since the last packet is replayed;
    /// ``replaysAnswered()`` awaits the answer.
    /// - Parameter since: The start of the replay, instead of the last packet's time.
    func connect(via gateway: Int, since: String? = nil) async throws {
        let handshakeBegan = ContinuousClock.now
        let socket = try await user.openSilent(via: gateway)
        let packets = socket.packets()
        let (connection, last) = state.change { state in
            state.connection += 1
            state.socket = socket
            state.ledger.connectionOpened(handshakeBegan: handshakeBegan)
            return (state.connection, since ?? state.ledger.lastTimestamp)
        }
        consumer.withLock { $0 = Task { await self.consume(packets, connection, socket) } }
        guard let last else {
            _ = try await socket.ask("Counter.read")
            // After the first packet the client knows where a replay must start.
            _ = await state.first(within: Waiting.limit) {
                $0.ledger.lastTimestamp == nil && $0.connection == connection ? nil : true
            }
            return
        }
        state.change { state in
            state.replays += 1
            state.pendingReplays += 1
        }
        Task { await self.replay(over: socket, from: last) }
    }

    private func replay(over socket: ProtocolSocket, from time: String) async {
        var fault: String?
        do {
            let answer = try await socket.ask("Event.replay", nil, ["from_timestamp": .string(time)])
            if !answer.isSuccess { fault = "a replay was refused: \(answer.data)" }
        } catch let error as ProtocolClientError where error.code == .closed {
            // The connection was dropped during the replay.
        } catch {
            fault = "a replay was not answered: \(error)"
        }
        state.change { [fault] state in
            state.pendingReplays -= 1
            if let fault { state.faults.append(fault) }
        }
    }

    /// Drops the connection without closing it.
    /// - Parameter losing: If true, packets that were received but not yet processed are lost, too.
    func drop(losing: Bool) async {
        let socket = state.change { state in
            if losing { state.connection += 1 }
            defer { state.socket = nil }
            return state.socket
        }
        await socket?.abort(reset: losing)
        await consumer.withLock { $0 }?.value
    }

    /// Waits until no replay is pending.
    func replaysAnswered() async {
        _ = await state.first(within: Waiting.limit) { $0.pendingReplays == 0 ? true : nil }
    }

    // MARK: Packets

    private func consume(_ packets: AsyncStream<ReceivedPacket>, _ connection: Int, _ socket: ProtocolSocket) async {
        for await packet in packets {
            let needs = state.change { state -> [ClientReplica.Need] in
                guard state.connection == connection else { return [] }
                state.packets += 1
                self.trace?.note("\(self.user.user) #\(connection) \(packet)")
                state.firstTimestamp = state.firstTimestamp ?? packet.timestamp
                _ = state.ledger.note(packet)
                return state.replica.apply(packet)
            }
            // Packets that arrive meanwhile are queued. They are newer than the loaded objects, or contained in them.
            for need in needs { await load(need, connection) }
        }
        state.change { state in
            state.faults += socket.violations
            if state.socket === socket {
                state.socket = nil
                state.faults.append(
                    "the server closed the socket: \(socket.closure?.code.map(String.init) ?? "no code")")
            }
        }
    }

    private func load(_ need: ClientReplica.Need, _ connection: Int) async {
        do {
            switch need {
            case .messages(of: let id):
                guard mayLoad.contains(id) else { return }
                let list = try await FreshState.messages(of: id, for: user)
                state.change { state in
                    guard state.connection == connection else { return }
                    state.loads += 1
                    state.replica.replaceMessages(of: id, by: list)
                }
            case .conversation(let id):
                let answer = try await user.call("GET", layerPath(id))
                guard answer.isSuccess else { return }
                state.change { state in
                    guard state.connection == connection else { return }
                    state.loads += 1
                    state.replica.take(conversation: answer.json)
                }
            }
        } catch {
            state.change { $0.faults.append("\(need) could not be loaded: \(error)") }
        }
    }

    // MARK: Final comparison

    /// Waits until the client's state equals a fresh load, comparing after each packet. Returns the remaining
    /// differences when `limit` has passed.
    func differences(from fresh: FreshState, within limit: Duration) async -> [String] {
        let heads = fresh.conversations.filter { isToldAll && $0["participants"].array?.isEmpty == false }
            .compactMap { conversation in
                conversation["id"].string.map { ($0, conversation["position"].int ?? 0) }
            }
        let isSame: @Sendable (inout State) -> Bool? = { state in
            for (id, head) in heads where (state.replica.positions[id] ?? 0) < head { return nil }
            return state.replica.differences(from: fresh).isEmpty ? true : nil
        }
        if await state.first(within: limit, isSame) == true { return [] }
        return state.change { state in
            let late = heads.filter { (state.replica.positions[$0.0] ?? 0) < $0.1 }
                .map {
                    "\($0.0) was told up to \(state.replica.positions[$0.0] ?? 0) instead of \($0.1)"
                }
            return state.replica.differences(from: fresh) + late
        }
    }

    /// All protocol violations of this client's connections.
    var faults: [String] { state.change { $0.faults + $0.replica.faults + $0.ledger.faults } }
}
