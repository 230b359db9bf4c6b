// SPDX-License-Identifier: Apache-2.0
import Model
import NIOCore

/// What has to be done for every socket now and then, a slice of them each second, without a timer per socket.
extension Hub {
    /// Seconds between pings to a socket; a dead peer is noticed by the silence after them.
    private static let pingPeriod = 40
    /// A socket from which nothing came for so long is closed (spec 12.7).
    static let silence = TimeAmount.seconds(120)
    /// How often every socket is looked at.
    static let upkeepPeriod = TimeAmount.seconds(1)
    /// Seconds between looks at whether the sockets' sessions still exist (ARCHITECTURE §6: at least every 30).
    private static let sessionPeriod = 25

    func startUpkeep() {
        // Loops and gateways must not all do it at the same moment.
        let initial = TimeAmount.milliseconds(.random(in: 0..<1000))
        upkeepTask = loop.scheduleRepeatedTask(initialDelay: initial, delay: Self.upkeepPeriod) { _ in self.upkeep() }
    }

    /// New sockets are refused, and those that are open told to go elsewhere. Callable from anywhere.
    func drain() {
        enqueue { hub in
            hub.isDraining = true
            hub.sendAway()
        }
    }

    /// Sockets are told to come back, here or elsewhere, and to replay; with a time only those that are older.
    func sendAway(openedBefore time: NIODeadline = .distantFuture) {
        for socket in residents.values.flatMap(\.sockets) where socket.since < time { socket.close(.goingAway) }
    }

    func stopUpkeep() {
        enqueue { $0.upkeepTask?.cancel() }
    }

    private func upkeep() {
        upkeepTurn += 1
        freeIdleBuffers()
        tellHeld()
        let now = loop.now
        let renewalPeriod = services.renewalPeriod.seconds
        var leases: [(key: UserKey, connection: UInt64)] = []
        var digests: Set<[UInt8]> = []
        for resident in residents.values {
            for socket in resident.sockets {
                let slot = Int(truncatingIfNeeded: socket.id & 0xffff)
                if socket.lastHeard + Self.silence < now {
                    socket.givePresenceUp()
                    socket.close(.idle)
                    continue
                }
                if (slot + upkeepTurn) % Self.pingPeriod == 0 { socket.ping() }
                if socket.hasPresence, (slot + upkeepTurn) % renewalPeriod == 0 { leases.append((socket.key, socket.id)) }
                if (slot + upkeepTurn) % Self.sessionPeriod == 0 { digests.insert(socket.session.tokenDigest) }
            }
        }
        if !leases.isEmpty { renew(leases) }
        if !digests.isEmpty { check(digests) }
    }

    private func renew(_ leases: [(key: UserKey, connection: UInt64)]) {
        Task {
            let forgotten = await services.renewPresence(leases)
            guard !forgotten.isEmpty else { return }
            enqueue { hub in
                for (key, connection) in leases where forgotten.contains(connection) {
                    guard let socket = hub.residents[key]?.sockets.first(where: { $0.id == connection }), socket.hasPresence else { continue }
                    let (services, status) = (hub.services, socket.presenceStatus)
                    Task { try? await services.setPresence(status, connection: connection, GatewayServices.Call(key)) }
                }
            }
        }
    }

    /// The hint that a session has ended may have been lost.
    private func check(_ digests: Set<[UInt8]>) {
        Task {
            let ended = await services.endedSessions(among: digests)
            guard !ended.isEmpty else { return }
            enqueue { hub in
                for digest in ended { hub.services.sessions.forget(tokenDigest: digest) }
                for socket in hub.residents.values.flatMap(\.sockets) where ended.contains(socket.session.tokenDigest) {
                    socket.close(.sessionEnded)
                }
            }
        }
    }
}
