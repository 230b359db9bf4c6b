// SPDX-License-Identifier: Apache-2.0
import Contracts
import FanOut
import NIOCore
import NetKit
import StrataModel

/// The shared state of the sockets of one event loop and one database: their registry, the services, and periodic work.
/// Each second, the work is done for a part of the sockets, without a timer for each.
///
/// All state is accessed on the registry's loop only; `@unchecked Sendable` relies on this.
final class SocketLoop: @unchecked Sendable {
    /// The seconds between pings to a socket. A dead peer is detected by the silence that follows.
    static let pingPeriod = 40
    /// The time without input after which a socket is closed (docs/conformance.md §12.7).
    static let silence = TimeAmount.seconds(120)
    static let upkeepPeriod = TimeAmount.seconds(1)
    /// The seconds between checks that a socket's session still exists (docs/architecture.md §6: at least every 30).
    static let sessionPeriod = 25

    let registry: LoopRegistry
    let services: GatewayServices
    var loop: any EventLoop { registry.loop }
    /// The executor for short tasks of the loop's sockets.
    let executor: EventLoopExecutor

    private var upkeepTask: RepeatedTask?
    private var turn = 0
    /// The running traces by user.
    var traces: [UserKey: [PacketTrace]] = [:]
    /// The sockets whose presence leases are renewed in this turn.
    private var leases: [Socket] = []
    /// The sessions checked in this turn: their apps by the digests of their tokens.
    private var sessions: [[UInt8]: AppID] = [:]

    init(index: Int, loop: any EventLoop, fanOut: FanOut, services: GatewayServices) {
        self.services = services
        executor = EventLoopExecutor(loop)
        registry = LoopRegistry(
            index: index, loop: loop, fanOut: fanOut, renderer: services.renderer, answers: services.answers,
            services: services)
    }

    /// Runs `body` on the loop, after everything enqueued before. Callable from any thread.
    func enqueue(_ body: @escaping @Sendable (SocketLoop) -> Void) {
        loop.execute { body(self) }
    }

    func startUpkeep() {
        // The random delay spreads the work of loops and gateways over time.
        let initial = TimeAmount.milliseconds(.random(in: 0..<1000))
        upkeepTask = loop.scheduleRepeatedTask(initialDelay: initial, delay: Self.upkeepPeriod) { _ in self.upkeep() }
    }

    /// Stops the periodic work. Callable from any thread.
    func stopUpkeep() { enqueue { $0.upkeepTask?.cancel() } }

    private func upkeep() {
        turn += 1
        registry.upkeep(turn: turn)
        renew()
        check()
    }

    // MARK: Batches of periodic work

    func renewPresence(of socket: Socket) { leases.append(socket) }
    func checkSession(of socket: Socket) { sessions[socket.session.tokenDigest] = socket.key.app }

    private func renew() {
        guard !leases.isEmpty else { return }
        let sockets = leases
        leases = []
        Task {
            let forgotten = await services.renewPresence(sockets.map { ($0.key, $0.id) })
            guard !forgotten.isEmpty else { return }
            loop.execute { for socket in sockets where forgotten.contains(socket.id) { socket.presenceForgotten() } }
        }
    }

    /// Checks sessions, because the publication of a session's end may have been lost.
    private func check() {
        guard !sessions.isEmpty else { return }
        let asked = sessions
        sessions = [:]
        Task {
            let ended = await services.endedSessions(among: asked)
            guard !ended.isEmpty else { return }
            enqueue { home in
                for digest in ended { home.services.sessions.forget(tokenDigest: digest) }
                home.registry.closeSockets(ofEndedSessions: ended)
            }
        }
    }
}

extension GatewayServices: RegistryServices {
    func knownIdentity(of key: UserKey) -> BasicIdentity? { identities.known(key) }
    func remember(_ identity: BasicIdentity, in app: AppID) { identities.remember(identity, in: app) }
    func identity(of key: UserKey, on loop: any EventLoop) -> EventLoopFuture<BasicIdentity?> {
        loop.makeFutureWithTask { [self] in await identities.load(key, through: self) }
    }
    func presence(of user: UserID, for key: UserKey, on loop: any EventLoop) -> EventLoopFuture<Presence?> {
        loop.makeFutureWithTask { [self] in
            try? await presences(of: [user], for: Call(key, budget: .seconds(2))).first?.presence
        }
    }
    func sessionEnded(_ key: UserKey, tokenDigest: [UInt8]?) {
        if let tokenDigest { sessions.forget(tokenDigest: tokenDigest) } else { sessions.forget(key) }
    }
}

extension FanOutTiming {
    init(_ settings: GatewaySettings) {
        self.init()
        gapPatience = TimeAmount(settings.changes.gapPatience)
        headsInterval = TimeAmount(settings.changes.headsInterval)
    }
}
