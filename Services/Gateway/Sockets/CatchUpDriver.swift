// SPDX-License-Identifier: Apache-2.0
import FanOut
import Logging
import NIOCore
import StrataModel
import Sync

/// Performs the effects of one ``CatchUp``: calls the services, sends packets, and attaches the socket on its loop.
struct CatchUpDriver {
    private let socket: Socket
    private let registry: LoopRegistry
    private let services: GatewayServices
    private let key: UserKey
    /// The number of this attempt. Another catch-up can replace this one at any time, so only the current attempt may
    /// change the socket.
    private let attempt: Int
    /// The conversations that stay subscribed during the catch-up.
    private var joined: [ConversationID] = []

    private init(_ socket: Socket, attempt: Int) {
        self.socket = socket
        self.attempt = attempt
        registry = socket.registry
        services = socket.home.services
        key = socket.key
    }

    /// Runs a catch-up. It also returns when the socket closes or another catch-up replaces this one; the result is
    /// then ignored.
    static func run(_ catchUp: CatchUp, for socket: Socket, attempt: Int) async -> CatchUp.End {
        var driver = CatchUpDriver(socket, attempt: attempt)
        let end = await driver.run(catchUp)
        await driver.onLoop { [joined = driver.joined] in $0.registry.endJoining(joined) }
        return end
    }

    private mutating func run(_ catchUp: CatchUp) async -> CatchUp.End {
        var catchUp = catchUp
        var effects = catchUp.begin()
        while true {
            do {
                try Task.checkCancellation()
                var event: CatchUp.Event?
                for effect in effects {
                    if case .end(let end) = effect { return end }
                    event = try await perform(effect) ?? event
                }
                guard let event else { throw CancellationError() }
                effects = catchUp.handle(event)
            } catch let failure as Failure {
                effects = catchUp.handle(.failed(failure))
            } catch {
                return .failed(.unavailable)
            }
        }
    }

    /// Performs an effect.
    /// - Returns: the resulting event. nil if the catch-up does not wait for one.
    /// - Throws: `Failure` if a service call failed; `CancellationError` if this catch-up has been replaced,
    ///   if the socket is closing, or if the database epoch has changed.
    private mutating func perform(_ effect: CatchUp.Effect) async throws -> CatchUp.Event? {
        switch effect {
        case .listenToList:
            let call = GatewayServices.Call(key)
            let conversations = try await services.opening.inTurn { try await services.listedConversations(for: call) }
            await listen(to: conversations)
            return .listeningToList(conversations)
        case .listen(let conversations):
            await listen(to: conversations)
            return .listening
        case .askBaseline(let since, let margin): return try await askBaseline(since: since, margin: margin)
        case .learn(let time, let epoch):
            try await whileCurrent { $0.catchUps.schedule.learn(databaseTime: time, at: $0.registry.loop.now) }
            if !epoch.isEmpty { registry.fanOut.compareEpoch(epoch) }
            return nil
        case .read(let cursors, let userAfter, let limit):
            return .page(try await read(cursors, userAfter: userAfter, limit: limit))
        case .lookUp(let request): return .lookedUp(try await services.lookUp(request, for: key))
        case .send(let items, let stampLimit):
            try await send(items, stampLimit: stampLimit)
            return .sent
        case .reportPositions(let positions, let user): return try await reportPositions(positions, user: user)
        case .attach(let attachment): return .attached(try await whileCurrent { attachment.perform(on: $0) })
        case .scheduleEpochCheck:
            registry.fanOut.scheduleEpochCheck()
            return nil
        case .rest(.untilServiceReturns(let failure)):
            services.logger.debug("a catch-up waits for a service", metadata: ["error.code": "\(failure.code.id)"])
            try await Task.sleep(for: .milliseconds(Int64.random(in: CatchUpTiming.servicePause)))
            return .rested
        case .rest(.inDoubt):
            try await Task.sleep(for: .nanoseconds(CatchUpTiming.emptyReadPause.nanoseconds))
            return .rested
        case .end: return nil
        }
    }

    /// Subscribes to conversations until the catch-up ends. Returns when these subscriptions and that of the user's
    /// channel are confirmed, after 2 s, or at once while Redis is unavailable.
    private mutating func listen(to conversations: [ConversationID]) async {
        if !conversations.isEmpty {
            joined += conversations
            await onLoop { $0.registry.beginJoining(conversations, app: $0.key.app) }
        }
        await registry.fanOut.confirmation(of: conversations, user: key)
    }

    /// Reads the baseline, then the user's blocks, and stores the blocks in the registry.
    /// - Parameters:
    ///   - since: the start of a replay. nil: ``CatchUpTiming/openingMargin`` before the socket opened.
    ///   - margin: additional time before the opening of the socket. Unused for a replay.
    private func askBaseline(since: Timestamp?, margin: Duration) async throws -> CatchUp.Event {
        try await services.opening.inTurn {
            let asked = NIODeadline.now()
            let origin = try await whileCurrent {
                $0.catchUps.schedule.origin(since: since, margin: margin, at: $0.moment)
            }
            let baseline = try await services.baseline(origin, for: GatewayServices.Call(key))
            let took = asked.elapsed(until: .now())
            // Blocks are read after the baseline, so that no entry is missed between this reading and the log.
            let blocks = try await services.blockedUsers(since: baseline.userPosition, for: GatewayServices.Call(key))
            try await whileCurrent { $0.registry.blocksRead(blocks, of: $0.key) }
            return .baseline(baseline, took: took)
        }
    }

    /// Reads a page of the logs in the user's turn, and applies its entries about blocks to the registry.
    private func read(
        _ cursors: [ConversationID: Position], userAfter: Position?, limit: Int
    ) async throws(Failure) -> LogPage {
        let page = try await services.inTurn(of: key) { [services, key] answers throws(Failure) in
            try await services.readLogs(
                cursors, userAfter: userAfter, limit: limit, for: GatewayServices.Call(key, answers: answers))
        }
        let changes = page.entries.compactMap {
            if case .userChange(let change) = $0, change.isAboutBlocks { change } else { nil }
        }
        if !changes.isEmpty {
            await onLoop { socket in changes.forEach { socket.registry.blocksChanged($0, of: socket.key) } }
        }
        return page
    }

    /// Reports the positions up to which this catch-up has read to the fan-out.
    /// - Parameter user: the position in the user's own log. nil: that log is not read.
    /// - Returns: the fan-out's last positions, up to which the catch-up must read.
    /// - Throws: `CancellationError` if the database epoch has changed.
    private func reportPositions(
        _ positions: [(id: ConversationID, position: Position)], user: Position?
    ) async throws -> CatchUp.Event {
        let lasts = try await registry.fanOut.startSequences(at: positions, era: socket.era).get()
        guard let user else { return .fanOutPositions(lasts, user: nil) }
        let userLast = try await registry.fanOut.startSequence(of: key, at: user, era: socket.era).get()
        return .fanOutPositions(lasts, user: userLast)
    }

    /// Sends items as the channel accepts them.
    /// - Parameter stampLimit: the latest time that the packets may carry. nil: no limit.
    private func send(_ items: [ReplayItem], stampLimit: Timestamp?) async throws {
        var next = 0
        while next < items.count {
            try Task.checkCancellation()
            let start = next
            next = try await whileCurrent { $0.sendReplay(items, from: start, stampLimit: stampLimit) }
            if next < items.count { try await socket.drained() }
        }
    }

    /// Runs `body` on the loop.
    /// - Throws: `CancellationError` if another catch-up has replaced this one, or if the socket is closing.
    private func whileCurrent<T: Sendable>(_ body: @escaping @Sendable (Socket) -> T) async throws -> T {
        let result = try await registry.loop
            .submit { [socket, attempt] in socket.isCurrent(attempt) ? body(socket) : nil }.get()
        guard let result else { throw CancellationError() }
        return result
    }

    /// Runs `body` on the loop, even if another catch-up has replaced this one.
    private func onLoop(_ body: @escaping @Sendable (Socket) -> Void) async {
        try? await registry.loop.submit { [socket] in body(socket) }.get()
    }
}

extension UserChange {
    fileprivate var isAboutBlocks: Bool {
        switch content {
        case .blocksChanged, .blockedBy: true
        default: false
        }
    }
}

extension GatewayServices {
    /// Looks up conversations: several in the user's turn, as many as fit into one answer, or a single one.
    fileprivate func lookUp(
        _ request: ViewLookups.Request, for key: UserKey
    ) async throws(Failure) -> ViewLookups.Answer {
        let call = Call(key)
        switch request {
        case .several(let ids):
            return try await inTurn(of: key) { answers throws(Failure) in
                var call = call
                call.answers = answers
                let (views, covered) = try await conversations(ids, for: call)
                return .several(views, covered: covered)
            }
        case .alone(let id): return .alone(try await conversation(id, for: call))
        }
    }
}
