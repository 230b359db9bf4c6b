// SPDX-License-Identifier: Apache-2.0
import Contracts
import FanOut
import NIOCore
import StrataModel

/// What the sockets of one event loop have in common: their registry, the services, and what has to be done for each of them now and then, a slice of them
/// each second, without a timer per socket.
///
/// Everything here is touched on the registry's loop only, which is what makes `@unchecked Sendable` true.
final class SocketLoop: @unchecked Sendable {
    /// Seconds between pings to a socket; a dead peer is noticed by the silence after them.
    static let pingPeriod = 40
    /// A socket from which nothing came for so long is closed (docs/conformance.md §12.7).
    static let silence = TimeAmount.seconds(120)
    /// How often every socket is looked at.
    static let upkeepPeriod = TimeAmount.seconds(1)
    /// Seconds between looks at whether the sockets' sessions still exist (docs/architecture.md §6: at least every 30).
    static let sessionPeriod = 25

    let registry: LoopRegistry
    let services: GatewayServices
    var loop: any EventLoop { registry.loop }

    private var upkeepTask: RepeatedTask?
    private var turn = 0
    /// Sockets whose presence is renewed in this turn.
    private var leases: [Socket] = []
    /// Sessions that are looked at in this turn.
    private var digests: Set<[UInt8]> = []

    init(index: Int, loop: any EventLoop, fanOut: FanOut, services: GatewayServices) {
        self.services = services
        registry = LoopRegistry(index: index, loop: loop, fanOut: fanOut, renderer: services.renderer, answers: services.answers, services: services)
    }

    /// Runs `body` on the loop, after everything enqueued before. Callable from anywhere.
    func enqueue(_ body: @escaping @Sendable (SocketLoop) -> Void) {
        loop.execute { body(self) }
    }

    func startUpkeep() {
        // Loops and gateways must not all do it at the same moment.
        let initial = TimeAmount.milliseconds(.random(in: 0..<1000))
        upkeepTask = loop.scheduleRepeatedTask(initialDelay: initial, delay: Self.upkeepPeriod) { _ in self.upkeep() }
    }

    /// Callable from anywhere.
    func stopUpkeep() { enqueue { $0.upkeepTask?.cancel() } }

    private func upkeep() {
        turn += 1
        registry.upkeep(turn: turn)
        renew()
        check()
    }

    // MARK: What sockets ask for in their turn

    func renewPresence(of socket: Socket) { leases.append(socket) }
    func checkSession(of socket: Socket) { digests.insert(socket.session.tokenDigest) }

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

    /// The hint that a session has ended may have been lost.
    private func check() {
        guard !digests.isEmpty else { return }
        let asked = digests
        digests = []
        Task {
            let ended = await services.endedSessions(among: asked)
            guard !ended.isEmpty else { return }
            enqueue { home in
                for digest in ended { home.services.sessions.forget(tokenDigest: digest) }
                home.registry.sessionsEnded(ended)
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
        loop.makeFutureWithTask { [self] in try? await presences(of: [user], for: Call(key, budget: .seconds(2))).first?.presence }
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
