// SPDX-License-Identifier: Apache-2.0
import Contracts
import FanOut
import NIOCore
import StrataModel
import StrataWire

/// Presence requests of the client, and presence packets for it (docs/conformance.md §12.3).
extension Socket {
    /// Runs a presence request after all earlier ones have been answered.
    ///
    /// Clients send `subscribe`, `update` and `sync` at once. If they ran out of order, a client would never learn its
    /// own status.
    func runInOrder(presence request: SocketRequest, method: SocketMethod) {
        requests.began(inOrder: request)
        reportRequests()
        let before = presence.turn
        presence.turn = Task {
            await before?.value
            let answer = await rendered(request, isRefusable: true) { (socket, request, lease) async throws(Failure) in
                switch method {
                case .subscribeToPresence: try await socket.subscribeToPresence(lease)
                case .unsubscribeFromPresence: await socket.unsubscribeFromPresence()
                case .updatePresence: try await socket.updatePresence(request, lease)
                default: try await socket.syncPresence(request, lease)
                }
            }
            registry.loop.execute {
                self.requests.ended(inOrder: request)
                self.reportRequests()
                self.sendRendering(answer.rendering)
                self.sendHeldPresence()
            }
        }
    }

    private func subscribeToPresence(_ lease: AnswerBudget.Lease) async throws(Failure) -> AnswerData {
        _ = try await blockedUsers(lease)
        let followed = try await home.services.followed(GatewayServices.Call(key, answers: lease))
        let app = key.app
        let watched = (followed + [key.user]).map { UserKey(app: app, user: $0) }
        try? await registry.loop
            .submit {
                guard self.isOpen else { return }
                self.registry.watch(watched, by: self)
            }
            .get()
        // Once the client has the answer, it receives every later change of presence.
        await registry.fanOut.confirmation(ofPresenceOf: watched)
        return .nothing
    }

    private func unsubscribeFromPresence() async -> AnswerData {
        try? await registry.loop
            .submit {
                self.registry.unwatchAll(self)
            }
            .get()
        return .nothing
    }

    private func updatePresence(
        _ request: SocketRequest, _ lease: AnswerBudget.Lease
    ) async throws(Failure) -> AnswerData {
        try reserveParsed(request)
        defer { releaseParsed(request) }
        guard let status = try PresenceUpdateBody(try request.data()).status else { return .nothing }
        let word =
            switch status {
            case .auto: "auto"
            case .chosen(let chosen): chosen.rawValue
            }
        try await home.services.setPresence(word, connection: id, for: GatewayServices.Call(key, answers: lease))
        try? await registry.loop
            .submit {
                self.presence.chosen(word, isOpen: self.isOpen)
                if !self.isOpen { self.releasePresence() }
            }
            .get()
        return .nothing
    }

    private func syncPresence(_ request: SocketRequest, _ lease: AnswerBudget.Lease) async throws(Failure) -> AnswerData
    {
        let (services, call) = (home.services, GatewayServices.Call(key, answers: lease))
        try reserveParsed(request)
        defer { releaseParsed(request) }
        let body = try PresenceSyncBody(try request.data())
        let blocks = try await blockedUsers(lease)
        // Later changes may be missing from the answer, and must follow it.
        try? await registry.loop.submit { if self.isOpen { self.outbox.holdPresence() } }.get()
        let presences: [PresencePublication]
        switch body {
        case .users(let users): presences = try await services.presences(of: Array(users.prefix(1000)), for: call)
        case .since(let time):
            let followed = try await services.followed(call).filter { !blocks.contains($0) }
            presences = try await services.presences(of: followed, since: time, for: call)
        }
        let own = key.user
        return .presences(
            presences.map {
                if blocks.contains($0.user) { return ($0.user, Presence(status: .offline, lastSeenAt: nil)) }
                return ($0.user, $0.user == own ? $0.presence : $0.presence.forOthers)
            })
    }

    /// Returns the user's blocks, and makes them known to the loop if they are not.
    private func blockedUsers(_ lease: AnswerBudget.Lease) async throws(Failure) -> BlockedUsers {
        let known = try? await registry.loop
            .submit { self.registry.knowsBlocks(of: self.key) ? self.registration.blocks : nil }.get()
        if let known { return known }
        let read = try await home.services.blockedUsers(since: .zero, for: GatewayServices.Call(key, answers: lease))
        try? await registry.loop
            .submit {
                // The blocks of a catch-up are more complete, because they name the position in the log that they
                // include.
                if !self.registry.knowsBlocks(of: self.key) { self.registry.blocksRead(read, of: self.key) }
            }
            .get()
        return read
    }

    // MARK: Changes

    func sendEphemeral(_ tail: PacketTail, presenceOf user: UserID?, stamp: Stamp) {
        if let user, outbox.hold(tail, of: user) { return }
        sendDroppable(tail, stamp: stamp)
    }

    private func sendHeldPresence() {
        let held = outbox.takeHeldPresence()
        guard !held.isEmpty else { return }
        let stamp = registry.stamp()
        for tail in held { sendDroppable(tail, stamp: stamp) }
    }

    // MARK: This connection's status

    /// Releases the status of this connection. For a silent peer this happens at once, although the connection ends
    /// only two seconds later.
    func releaseStatus() {
        if presence.giveUp() { releasePresence() }
    }

    /// Sets the status again, because the presence service has lost this connection's lease.
    func presenceForgotten() {
        guard isOpen, presence.isHeld else { return }
        let (services, status, key, id) = (home.services, presence.status, key, id)
        Task { try? await services.setPresence(status, connection: id, for: GatewayServices.Call(key)) }
    }

    /// Releases the connection's status in the presence service, which ends it after a grace period.
    func releasePresence() {
        let (services, key, id) = (home.services, key, id)
        Task { try? await services.releasePresence(key, connection: id) }
    }
}

/// The presence status of one connection, and its sequence of presence requests.
struct SocketPresence {
    /// True if the connection's status counts for its user.
    private(set) var isHeld = false
    private(set) var status = "auto"
    /// The task of the last presence request. The next request waits for it.
    var turn: Task<Void, Never>?

    /// Records the status chosen by the client.
    /// - Parameter isOpen: false if the connection has ended meanwhile. Its status then does not count.
    mutating func chosen(_ status: String, isOpen: Bool) {
        self.status = status
        if isOpen { isHeld = true }
    }

    /// Ends the effect of the status.
    /// - Returns: true if it had an effect before.
    mutating func giveUp() -> Bool {
        defer { isHeld = false }
        return isHeld
    }
}
