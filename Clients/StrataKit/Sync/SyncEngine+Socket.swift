// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import StrataModel

extension SyncEngine {
    // MARK: Opening and closing

    /// Connects, and reconnects after each loss. Does nothing without a session token, and unless ``run()`` is running.
    func connect() {
        guard token != nil, jobs.isRunning else { return }
        performConnectionActions(connection.handle(.start, at: .now, random: random))
    }

    /// Disconnects. The store can still be read and changed.
    func disconnect() async {
        attemptEnded(.failed)
        performConnectionActions(connection.handle(.stop, at: .now, random: random))
        await typing.stop()
    }

    /// Prepares for a call that waits for the first attempt to connect.
    /// - Returns: the result of the first attempt; no result if the engine stops before.
    func expectAttempt() -> AsyncStream<FirstAttempt> {
        let attempt = connection.expectAttempt()
        if token == nil { attemptEnded(.signInNeeded) }
        return attempt
    }

    /// Reports the result of the first attempt.
    /// - Returns: true if a call was waiting for it.
    @discardableResult
    func attemptEnded(_ how: FirstAttempt) -> Bool { connection.attemptEnded(how) }

    /// Continues with the token of a new session.
    func resume(token: String) {
        connection.signedIn(token)
        connect()
        startJob { await $0.transfers?.signedIn() }
        proceed()
    }

    /// Ends a session that the server no longer accepts. Changes stay queued for the next session.
    /// - Parameter ended: the refused token. The call does nothing if it is not the current one, because the user has
    ///   signed in again.
    func sessionEnded(nonce: String?, of ended: String?) {
        guard let token, connection.sessionEnded(ended) else { return }
        _ = connection.handle(.stop, at: .now, random: random)
        dropSocket()
        dependencies.signInNeeded(token, attemptEnded(.signInNeeded) ? .thrown : .challenge(nonce: nonce))
    }

    func performConnectionActions(_ actions: [ConnectionMachine.Action]) {
        for action in actions {
            switch action {
            case .open(let number): openSocket(number)
            case .close(let number): if socket?.number == number { dropSocket() }
            case .sendHeartbeat(let number):
                if socket?.number == number { sendRequest("Counter.read", id: "heartbeat") }
            case .publish(let event): dependencies.publish(.connection(event))
            case .askForSignIn(let nonce): sessionEnded(nonce: nonce, of: connection.socketToken)
            }
        }
    }

    private func openSocket(_ number: Int) {
        let (server, token) = (dependencies.server, connection.willOpen())
        startJob { engine in
            var options = ProtocolSocket.Options()
            options.readAhead = 2_000
            do {
                let socket = try await server.openSocket(sessionToken: token, options: options)
                await engine.socketOpened(number: number, socket: socket)
            } catch {
                await engine.socketLost(number, failure: ConnectionFailure(opening: error))
            }
        }
    }

    func socketOpened(number: Int, socket: ProtocolSocket) {
        guard connection.opened(socket, number: number) else { return startJob { _ in await socket.abort() } }
        performConnectionActions(connection.handle(.opened(number), at: .now, random: random))
        attemptEnded(.connected)
        requests.connected()
        let answered = Set(core.queue.operations.values.lazy.filter(\.isAnswered).map(\.id))
        var goals: [ConversationID] = []
        guard writeOrReconnect({ goals = try $0.conversationsWithGoals() }) else { return }
        performSyncActions(machine.socketOpened(core.cursor, answered: answered, history: goals))
        startJob { await $0.readPackets(on: number, from: socket) }
        startJob { engine in
            await engine.typing.connectionRestored()
            await engine.transfers?.connectionChanged(isConnected: true)
        }
        proceed()
    }

    func socketLost(_ number: Int, failure: ConnectionFailure) {
        if socket?.number == number { dropSocket() }
        let cause = isRenewed(failure) ? failure.reconnectingImmediately : failure
        performConnectionActions(connection.handle(.failed(number, cause), at: .now, random: random))
        if !connection.isTrying { attemptEnded(.failed) }
        proceed()
    }

    /// Returns true if the server refused a session, and the user has signed in again since.
    private func isRenewed(_ failure: ConnectionFailure) -> Bool {
        if case .signIn = failure.remedy { connection.isRenewed } else { false }
    }

    /// Abandons the socket without a closing handshake. Its requests count as unanswered.
    func dropSocket() {
        guard let socket = connection.takeSocket() else { return }
        machine.lost()
        requests.socketLost()
        startJob { engine in
            await engine.typing.connectionLost()
            await engine.transfers?.connectionChanged(isConnected: false)
            await socket.abort()
        }
        _ = try? write { try $0.presenceEnded() }
    }

    /// Closes the socket with a closing handshake of at most 1 s.
    func closeSocket() async {
        guard let socket = connection.takeSocket() else { return }
        await socket.close(deadline: .now + .seconds(1))
    }

    // MARK: Packets

    private nonisolated func readPackets(on number: Int, from socket: ProtocolSocket) async {
        do {
            while true { await packetsReceived(try await socket.takePackets(atMost: 512), on: number) }
        } catch {
            let closure = socket.closure ?? SocketClosure(code: nil, reason: nil)
            await socketLost(number, failure: ConnectionFailure(closure))
        }
    }

    /// Handles packets. One transaction stores all of them and the time to replay from.
    func packetsReceived(_ packets: [ReceivedPacket], on number: Int) {
        guard socket?.number == number else { return }
        performConnectionActions(connection.handle(.received(number), at: .now, random: random))
        var later: [SyncMachine.Action] = []
        let isWritten = writeOrReconnect { store in
            for packet in packets { later += try self.applyPacket(packet, in: store) }
            try self.finishOperations(after: packets.last, in: store)
        }
        // If the transaction failed, the connection was closed, and its actions are void.
        guard isWritten else { return }
        performSyncActions(later)
        proceed()
    }

    /// Applies one packet.
    /// - Returns: the actions to perform after the transaction.
    private func applyPacket(_ packet: ReceivedPacket, in store: StoreTransaction) throws -> [SyncMachine.Action] {
        var actions: [SyncMachine.Action] = []
        switch packet.type {
        case "response": actions = try applyResponse(packet, in: store)
        case "signal": typingReceived(packet, in: store)
        default:
            machine.remember([packet.json])
            try store.applyPacket(packet.json)
        }
        if machine.keepsTime, let time = packet.timestamp { store.cursor.timestamp = time }
        return actions
    }

    private func applyResponse(_ packet: ReceivedPacket, in store: StoreTransaction) throws -> [SyncMachine.Action] {
        let answer = SocketResponse(packet: packet)
        switch packet.requestID ?? "" {
        case "baseline":
            return try performSyncActions(
                machine.baselineAnswered(
                    isSuccess: answer.isSuccess, timestamp: packet.timestamp, cursor: store.cursor, at: .now), in: store
            )
        case "replay":
            let actions = machine.replayAnswered(
                isSuccess: answer.isSuccess, isComplete: answer.data["complete"].bool ?? true,
                epoch: answer.data["epoch"].string,
                timestamp: packet.timestamp, cursor: store.cursor, at: .now, random: random)
            return try performSyncActions(actions, in: store)
        case "presence":
            for change in answer.data["changes"].array ?? [] {
                try store.applyPacket(["type": "change", "body": change])
            }
            return []
        case let id:
            if let operation = Self.operation(id) { try applyAnswer(ServerAnswer(answer), to: operation, in: store) }
            return []
        }
    }

    /// Performs the actions that belong to the transaction.
    /// - Returns: the remaining actions.
    private func performSyncActions(
        _ actions: [SyncMachine.Action], in store: StoreTransaction
    ) throws -> [SyncMachine.Action] {
        var rest: [SyncMachine.Action] = []
        let since = store.cursor.timestamp
        for action in actions {
            switch action {
            case .beginListing(let epoch, let timestamp): try store.beginListing(epoch: epoch, timestamp: timestamp)
            case .keepTime(let time): store.cursor.timestamp = time
            case .finish(let ids): try store.finishOperations(ids)
            case .askToGoLive, .askForReplay, .load, .restartList, .forget, .abandonHistory, .publish, .reconnect:
                rest.append(action)
            }
        }
        if machine.isLive { announcePresence(since: since) }
        return rest
    }

    /// Ends the answered operations whose changes the store contains. Further packets of the last packet's change may
    /// follow, so operations with that change wait.
    private func finishOperations(after last: ReceivedPacket?, in store: StoreTransaction) throws {
        guard !store.queue.isEmpty else { return }
        let open = last.flatMap { packet -> (ConversationID, Int64)? in
            let body = packet.body
            let id =
                body["conversation"]["id"].string ?? body["data"]["conversation"]["id"].string ?? body["object"]["id"]
                .string ?? ""
            guard let conversation = ConversationID(parsing: id), let position = WireObjects.position(body["position"])
            else { return nil }
            return (conversation, position)
        }
        try store.finishOperations(
            in: Set(store.queue.operations.values.lazy.filter(\.isAnswered).compactMap(\.conversation)), open: open)
        if open != nil, store.queue.operations.values.contains(where: \.isAnswered) {
            requests.finishOperations(at: .now + .milliseconds(100))
        }
    }

    // MARK: Typing

    private func typingReceived(_ packet: ReceivedPacket, in store: StoreTransaction) {
        guard var indicator = TypingIndicator(packet: packet.json), let user = indicator.sender.userID else { return }
        let isKnown = ((try? store.conversation(indicator.conversationID)) ?? nil) != nil
        if let known = (try? store.identity(user)) ?? nil { indicator.sender = StoreReader.identity(known) }
        startJob { [indicator] in await $0.typing.indicatorReceived(indicator, isKnown: isKnown) }
    }

    func sendSignal(_ action: TypingAction, in conversation: ConversationID) {
        guard machine.isLive, let socket else { return }
        socket.socket.enqueuePacket(TypingIndicator.packet(action, in: conversation))
    }

    // MARK: Requests

    /// Sends a request. Its answer arrives among the other packets.
    func sendRequest(_ method: String, id: String, data: JSONValue? = nil) {
        var body: JSONValue = ["request_id": .string(id), "method": .string(method)]
        if let data { body["data"] = data }
        socket?.socket.enqueuePacket(["type": "request", "body": body])
    }
}

extension SyncEngine {
    /// Sets the user's presence status.
    /// - Returns: false if there is no connection.
    func setPresence(_ choice: PresenceChoice) -> Bool {
        guard machine.isLive, socket != nil else { return false }
        connection.choose(choice)
        sendPresence()
        return true
    }

    /// Sends the user's presence, and requests the presence of users that changed since the last connection.
    /// - Parameter since: the server's time at which the store was up to date; nil: presence is requested for all users
    ///   after the lists are loaded.
    func announcePresence(since: String?) {
        sendRequest("Presence.subscribe", id: "subscription")
        sendPresence()
        sendRequest("Presence.sync", id: "presence", data: ["ids": [.string(me.layerID)]])
        if let since { sendRequest("Presence.sync", id: "presence", data: ["since": .string(since)]) }
    }

    private func sendPresence() {
        let status = JSONValue.string(connection.presence.rawValue)
        sendRequest(
            "Presence.update", id: "status", data: [["operation": "set", "property": "status", "value": status]])
    }

    /// Requests the presence of users who are newly known or followed. The server sends only later changes without a
    /// request.
    func requestPresence(of changes: [ObjectChange]) {
        guard machine.isLive else { return }
        var users =
            changes.compactMap { change -> JSONValue? in
                guard case .identity(let identity) = change.object, let user = identity.userID else { return nil }
                switch change.kind {
                case .create: return .string(user.layerID)
                case .update(let property):
                    return property.name == "followed" && identity.isFollowed ? .string(user.layerID) : nil
                case .delete: return nil
                }
            }[...]
        while !users.isEmpty {
            sendRequest("Presence.sync", id: "presence", data: ["ids": .array(Array(users.prefix(1000)))])
            users = users.dropFirst(1000)
        }
    }
}

extension StoreTransaction {
    /// Sets the user's own presence to offline, because the connection was lost.
    func presenceEnded() throws {
        guard var own = try identity(me), let status = own.presenceStatus, status != PresenceStatus.offline.rawValue
        else { return }
        own.presenceStatus = PresenceStatus.offline.rawValue
        try setIdentity(me, to: own)
    }
}
